"""How far long work has come: one line on a terminal, written anew, and taken away at the end.

One rule: it shows on a terminal only, and not before a person would wonder.
"""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

PATIENCE_S: Final = 0.5
"""Work that is over by then is never spoken of."""
EVERY_S: Final = 0.1

_CLEAR: Final = "\r\x1b[K"


class ProgressLine:
    """Call it with what is done, how much, and of how much; `done` takes the line away."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._shows = out.isatty()
        self._next_s = time.perf_counter() + PATIENCE_S
        self._said = False

    def __call__(self, what: str, done: int, of: int) -> None:
        """Show it, if it is time."""
        now = time.perf_counter()
        if not self._shows or now < self._next_s or not of:
            return
        self._next_s = now + EVERY_S
        self._said = True
        self._out.write(f"{_CLEAR}{what}: {done * 100 // of} % of {of / 1e6:,.0f} MB")
        self._out.flush()

    def done(self) -> None:
        """Leave the terminal as it was."""
        if self._said:
            self._out.write(_CLEAR)
            self._out.flush()
