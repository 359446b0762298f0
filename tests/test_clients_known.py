"""What is known of a client's turn, what was seen of it, and the table that shows both."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from rich.console import Console

from clients.known import Known, Request, differences
from clients.listing import Row, table
from clients.seen import Asked, Seen, seen
from clients.turn import COUNTED, EXACT
from proxy.journal.lines import encode
from tests.support.builders import output, parts, record

TURN = Asked("turn", "openai_chat", system=552, tools=4, tools_tokens=738, user=1, billed=1452)
TITLE = Asked("hidden", "openai_chat", system=503, tools=0, tools_tokens=0, user=8, billed=583)
SEEN = Seen(asked=(TITLE, TURN), others=("GET /v1/models",), faults=(), notes=())
KNOWN = Known(
    version="1.0",
    request=[
        Request(
            kind="turn",
            dialect="openai_chat",
            system=552,
            tools=4,
            tools_tokens=738,
            user=1,
            billed=1452,
        ),
        Request(kind="hidden", dialect="openai_chat", system=503, user=8, billed=583),
    ],
    others=["GET /v1/models"],
)


def found(version="1.0", expected=KNOWN, **changes):
    """The differences of a turn that is as known but for these changes to its longest request."""
    turn = replace(TURN, **changes)
    return differences(expected, version, replace(SEEN, asked=(TITLE, turn)))


def test_a_turn_as_known_has_no_difference():
    """Whatever the order in which its requests began."""
    assert found() == []
    assert differences(KNOWN, "1.0", replace(SEEN, asked=(TURN, TITLE))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dialect": "opaque"}, "turn: read as opaque, not openai_chat"),
        ({"tools": 5}, "turn: 5 tools, not 4"),
        ({"tools_tokens": 813}, "turn: tools tokens 813, not 738"),
        ({"system": 490}, "turn: system 490, not 552"),
        ({"user": 6}, "turn: user 6, not 1"),
        ({"billed": None}, "turn: billed None, not 1452"),
        ({"version": "1.1"}, "version 1.1, the figures are those of 1.0"),
    ],
)
def test_each_figure_that_is_off_is_a_sentence(changes, said):
    """With what was seen and what is known."""
    assert found(**changes) == [said]


@pytest.mark.parametrize(
    "changes", [{"tools_tokens": 811}, {"system": 498}, {"user": 5}, {"billed": 1590}]
)
def test_a_tenth_or_a_few_tokens_are_no_difference(changes):
    """Counts differ a little by where a text is cut."""
    assert found(**changes) == []


def test_what_tells_of_the_place_may_be_otherwise():
    """A working directory and a date are a few tokens more or less."""
    request = msgspec.structs.replace(KNOWN.request[0], user=155, place_tokens=40, billed=None)
    expected = msgspec.structs.replace(KNOWN, request=[request, KNOWN.request[1]])

    assert found(expected=expected, user=115) == []
    assert found(expected=expected, user=114) == ["turn: user 114, not 155"]


def test_requests_too_many_or_of_another_kind_are_said():
    """A hidden request that was taken for a turn shows as both."""
    asked = (replace(TITLE, kind="turn"), TURN)

    assert differences(KNOWN, "1.0", replace(SEEN, asked=asked)) == [
        "2 requests of kind turn, not 1",
        "0 requests of kind hidden, not 1",
    ]


def test_other_requests_and_faults_are_said():
    """What asks for no output is compared by name; a fault is one whatever is known."""
    turn = replace(SEEN, others=("HEAD /",), faults=("parts of 3 tokens, billed 4",))

    assert differences(KNOWN, "1.0", turn) == [
        "parts of 3 tokens, billed 4",
        "other requests: HEAD /, not GET /v1/models",
    ]


def journals(folder, exact, counted):
    """Two journals of one turn."""
    for name, records in ((EXACT, exact), (COUNTED, counted)):
        (folder / name).mkdir()
        (folder / name / "2026-09-21-9-1.jsonl").write_bytes(b"".join(map(encode, records)))
    return seen(folder)


def test_a_turn_is_read_from_its_two_journals(tmp_path):
    """Tokens before any scaling; the bill as the server gave it."""
    one = record()

    turn = journals(tmp_path, [one], [one])

    assert turn.asked == (Asked("turn", "openai_chat", 1509, 31, 6603, 1347, 9459),)
    assert (turn.others, turn.faults) == ((), ())


def test_a_prompt_that_does_not_add_up_is_a_fault(tmp_path):
    """By the server's own tokenizer there is nothing that could be left over."""
    one = record(parts=parts(system=1509, question=37))

    assert journals(tmp_path, [one], [one]).faults == (
        "POST /v1/chat/completions: parts of 1546 tokens, billed 9459",
    )


def test_recorders_that_disagree_are_a_fault(tmp_path):
    """Two of them saw the same bytes."""
    one, other = record(), record(output=output(events=198))

    assert journals(tmp_path, [one], [other]).faults == (
        "/v1/chat/completions: events is 199 and 198 to the two recorders",
    )


def printed(*rows):
    """The table as text."""
    console = Console(width=132, highlight=False)
    with console.capture() as capture:
        console.print(table(rows))
    return [line.split() for line in capture.get().splitlines()]


def test_the_table_has_a_line_for_each_request():
    """The client's own columns stand in the first; a figure that nobody gave is a dash."""
    row = Row("pi", "1.0", replace(SEEN, asked=(TITLE, replace(TURN, billed=None))), ["x"], 4.2)

    assert printed(row)[1:] == [
        [
            "pi",
            "1.0",
            "4",
            "2,",
            "1",
            "hidden",
            "+",
            "1",
            "other",
            "hidden",
            "openai_chat",
            "503",
            "0",
            "8",
            "583",
            "1",
            "differ",
        ],
        ["turn", "openai_chat", "552", "4:", "738", "1", "-"],
    ]


def test_a_client_that_did_not_run_has_a_line():
    """With what is known of it: nothing."""
    assert printed(Row("pi", "-", None, ["npm is missing"]))[1:] == [
        ["pi", "-", "0", "none", "1", "differ"]
    ]
