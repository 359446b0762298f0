"""The line that says how far long work has come: on a terminal, late, and gone at the end."""

from __future__ import annotations

import io

from analysis import progress
from analysis.progress import ProgressLine


class Terminal(io.StringIO):
    """What is written to it can be read."""

    def isatty(self):
        """It is one."""
        return True


def test_it_shows_on_a_terminal_and_is_taken_away(monkeypatch):
    """A share of the whole, in a line that is cleared."""
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    out = Terminal()
    line = ProgressLine(out)

    line("reading the journal", 30_000_000, 40_000_000)
    line.done()

    assert out.getvalue() == "\r\x1b[Kreading the journal: 75 % of 40 MB\r\x1b[K"


def test_what_is_over_at_once_is_not_spoken_of():
    """Nor is anything written where nobody looks."""
    patient, piped = Terminal(), io.StringIO()
    for out in (patient, piped):
        line = ProgressLine(out)
        line("reading the journal", 1, 2)
        line.done()

    assert ("", "") == (patient.getvalue(), piped.getvalue())
