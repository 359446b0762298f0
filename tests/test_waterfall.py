"""A turn on one time line: rows, phases and marks, and how they are drawn."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given

from analysis.explain.turns import threaded
from analysis.explain.waterfall import Phase, Row, waterfall
from analysis.render.waterfall import MOST_ROWS, draw, waterfall_table
from tests.support.absurd import absurd_loops
from tests.support.builders import MS, S, timings
from tests.support.loops import agent, asked, titled


def fall(records=None):
    """The waterfall of the last turn."""
    return waterfall(threaded(records or agent().records)[-1])


def test_each_exchange_gap_and_hidden_request_has_a_row():
    """In the order in which they begin, on the scale of the turn."""
    rows = fall().rows

    assert [(row.kind, row.id, row.begin_ns // S, row.end_ns // S) for row in rows] == [
        ("exchange", "r1-1", 0, 4),
        ("hidden", "r1-2", 3, 5),
        ("gap", "r1-1", 4, 6),
        ("exchange", "r1-3", 6, 7),
        ("gap", "r1-3", 7, 8),
        ("exchange", "r1-4", 8, 12),
    ]
    assert [row.in_the_way for row in rows] == [False, True, False, False, False, False]
    assert [row.called for row in rows if row.kind == "gap"] == [
        ("browser_snapshot", "browser_00", "browser_00"),
        (),
    ]
    assert rows[1].purpose == "title"
    assert rows[3].ending == "http 503 overloaded"


def test_phases_lie_between_the_marks():
    """Sent, waited, answered; a refusal only waits."""
    rows = fall().rows

    assert [(p.name, p.begin_ns, p.end_ns) for p in rows[0].phases] == [
        ("upload", 0, 2 * MS),
        ("wait", 2 * MS, 2 * S),
        ("answer", 2 * S, 4 * S - MS),
        ("tail", 4 * S - MS, 4 * S),
    ]
    assert [p.name for p in rows[3].phases] == ["upload", "wait"]
    assert [p.name for p in rows[2].phases] == ["client"]


def test_thinking_is_a_phase():
    """From the first token to the first that is not reasoning."""
    marks = timings(first_reasoning_ns=6086 * MS, first_visible_text_ns=9000 * MS)
    phases = {
        p.name: p.end_ns - p.begin_ns for p in fall([asked(1, 0, 4, timings=marks)]).rows[0].phases
    }

    assert phases["reasoning"] == (9000 - 6086) * MS


def test_marks_are_those_that_were_seen():
    """On the turn's time line; what did not happen is not there."""
    rows = fall().rows
    marks = {mark.name: mark.at_ns for mark in rows[5].marks}

    assert marks["first_token_ns"] == 10 * S
    assert marks["end_ns"] == 12 * S
    assert "first_token_ns" not in [mark.name for mark in rows[3].marks]


@pytest.mark.parametrize(
    ("notes", "expected"),
    [([], None), (["hidden"], None), (["hidden: purpose not known, declared"], None), (["hidden: tags, declared"], "tags")],
)  # fmt: skip
def test_what_a_hidden_request_was_for(notes, expected):
    """As its note says, if that says it."""
    rows = fall([asked(1, 0, 4), titled(2, 1, 1, notes=notes)]).rows

    assert rows[1].purpose == expected


@given(absurd_loops)
def test_rows_stay_in_the_turn_whatever_the_clocks(records):
    """Phases follow one another inside of their row, rows inside of the turn, and all can be drawn."""
    for turn in threaded(records):
        found = waterfall(turn)
        for row in found.rows:
            assert 0 <= row.begin_ns <= row.end_ns <= found.whole_ns
            assert all(a.end_ns == b.begin_ns for a, b in pairwise(row.phases))
            assert sum(p.end_ns - p.begin_ns for p in row.phases) in (0, row.end_ns - row.begin_ns)
            assert all(row.begin_ns <= mark.at_ns <= row.end_ns for mark in row.marks)
            assert 0 < len(draw(row, found.whole_ns, 30).strip())
            assert len(draw(row, found.whole_ns, 30)) <= 30


def row(*phases):
    """A row of these phases."""
    stretches = tuple(Phase(*phase) for phase in phases)
    return Row("exchange", "r1-1", stretches[0].begin_ns, stretches[-1].end_ns, stretches)


def test_a_bar_lies_where_its_time_is():
    """Ten letters for 100 ns: 20 sent, 40 waited, 30 answered, behind 10 of nothing."""
    bar = row(("upload", 10, 30), ("wait", 30, 70), ("answer", 70, 100))

    assert draw(bar, 100, 10) == " --....###"


def test_a_moment_still_has_a_letter():
    """What is too short for the scale is drawn, at the very end too; a row of no time is a stroke."""
    nothing = replace(row(("wait", 50, 50)), phases=())

    assert draw(row(("wait", 0, 1)), 1000, 10) == "."
    assert draw(row(("wait", 999, 1000)), 1000, 10) == "         ."
    assert draw(nothing, 100, 10) == "     |"
    assert draw(nothing, 0, 10) == "|"


def test_the_table_marks_its_subject():
    """One star, at the exchange that is shown below; the notes say what the letters are."""
    table = waterfall_table(fall(), "r1-4", 100)

    assert [cells[4] for cells in table.rows] == [
        "ok",
        "ok",
        "-",
        "http 503 overloaded",
        "-",
        "* ok",
    ]
    assert [cells[0] for cells in table.rows] == [
        "request 1",
        "hidden: title, in its way",
        "client: browser_snapshot +2",
        "request 2",
        "client",
        "request 3",
    ]
    assert table.notes[0].startswith("Bars: . waits for its first token; # answers; : the client's")
    assert (
        "1 hidden request in its way, 1.00 s of it while the client sent nothing" in table.notes[-1]
    )


def test_a_long_loop_is_shown_by_its_ends():
    """Two hundred requests: forty rows, and how many are left out."""
    loop = [asked(n, 5 * n, 4, turn="r1-1") for n in range(1, 201)]
    table = waterfall_table(fall(loop), "r1-1", 100)

    assert len(table.rows) == MOST_ROWS
    assert "359 rows in the middle are left out: --json has all." in table.notes
