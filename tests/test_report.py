"""The whole report, as text and as JSON, against files that one can read."""

from __future__ import annotations

import re

import msgspec
import orjson
import pytest

from analysis.explain.overview import overview
from analysis.render.data import UNREADABLE_SHOWN, report_json
from analysis.store.base import Journal, Unreadable
from proxy.journal.record import UsageReport
from tests.support import journals
from tests.support.builders import MS, S, parts, record, timings
from tests.support.golden import assert_golden
from tests.support.reports import spoken, text, words

JOURNALS = ("field_report", "demo", "without_usage", "only_errors", "damaged")

every_journal = pytest.mark.parametrize("name", JOURNALS)


def data(journal):
    """The report of a journal as a program reads it."""
    return orjson.loads(report_json(overview(journal)))


@every_journal
def test_the_text_is_the_golden_one(name):
    """What a person sees."""
    assert_golden(f"report_{name}.txt", text(getattr(journals, name)()))


@every_journal
def test_the_json_is_the_golden_one(name):
    """What a program reads: shape, order and figures are a promise."""
    assert_golden(f"report_{name}.json", report_json(overview(getattr(journals, name)())).decode())


@every_journal
@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_screen(name, width):
    """It fits, and no line ends in blanks."""
    lines = text(getattr(journals, name)(), width=width).split("\n")

    assert max(map(len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []


@every_journal
def test_colour_adds_nothing_to_the_words(name):
    """Without colour there is no escape code; with it, the words are the same."""
    plain, coloured = (text(getattr(journals, name)(), colour=c) for c in (False, True))

    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    words = re.sub(r"\x1b\[[0-9;]*m", "", coloured).split()
    assert words == plain.split()


@every_journal
def test_every_number_of_the_json_names_its_unit(name):
    """A key of a number ends in its unit, is a count of what it names, or is a share or a factor."""
    unit = re.compile(
        r"_ns$|_ns_per_token$|^ns_per_token$|tokens$|_per_s$|_factor$|share$|^cached_of_tokens$"
        r"|exchanges$|turns$|answers$|generations$|_tools$|_pieces$|without_record$"
        r"|prompts$|calls$|_characters$|^(first|last)_message$"
        r"|^(turn|hidden|not_generation|cut|error|line|first|last)$"
    )

    def bare(value, key=""):
        if isinstance(value, dict):
            return [k for inner, v in value.items() for k in bare(v, inner)]
        if isinstance(value, list):
            return [k for v in value for k in bare(v, key)]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return [key] if number and not unit.search(key) else []

    assert bare(data(getattr(journals, name)())) == []


@every_journal
def test_each_token_count_of_the_json_has_its_source(name):
    """Beside `x_tokens` stands `x_tokens_source`, but for what only a server can say."""
    reported = {
        "cached_tokens",
        "cached_of_tokens",
        "least_uncached_tokens",
        "most_uncached_tokens",
        "least_context_tokens",
        "most_context_tokens",
    }

    def lacking(value):
        if isinstance(value, list):
            return [k for v in value for k in lacking(v)]
        if not isinstance(value, dict):
            return []
        counts = {k for k in value if k == "tokens" or k.endswith("_tokens")} - reported
        alone = [k for k in counts if f"{k}_source" not in value]
        return alone + [k for v in value.values() for k in lacking(v)]

    assert lacking(data(getattr(journals, name)())) == []


def test_the_field_reports_figures_from_its_journal():
    """37.7 and 23.4 tok/s, 38 % of the turn, 8,112 tokens in front, and what 2 x would bring."""
    said = spoken(journals.field_report()) + words(journals.field_report())

    for figure in (
        "16.1 s: 6.1 s (38 %) until the first token, 10.0 s decoding",
        "8,112 tokens: 6,603 tokens in 31 tool definitions (24 never called)",
        "1,509 tokens of system prompt",
        "37.7 tok/s",
        "23.4 tok/s",
        "1.45 x as fast",
    ):
        assert figure in said


def test_the_demos_tools_are_plain_in_seconds():
    """The median turn had its tools cached, and the report still says that they are 9.3 s cold."""
    said = spoken(journals.demo())

    assert "The longest wait for a first token was 9.4 s" in said
    assert "the shortest 0.18 s" in said
    assert "Reading them takes 9.3 s when none are cached; as lived, 4.6 s a request" in said


def test_the_demos_tools_stand_in_the_sum_of_all_turns():
    """Whatever the median turn had cached: the 9 s that one turn waited for tools are in a table."""
    report = overview(journals.demo())
    tools = next(s for s in report.spent.segments if s.name == "prefill: tools")

    assert tools.ns > 9 * S
    assert sum(s.ns for s in report.spent.segments) == report.spent.whole_ns
    assert "WHERE ALL TURNS WENT 14.59 s" in words(journals.demo())
    assert "prefill: tools 9.14 s 63 %" in words(journals.demo())
    assert "WHERE ALL TURNS WENT" not in words(journals.field_report())


def test_a_doubt_is_said_once_in_a_sum():
    """Of two turns one had half of the front cached: the words without the doubt are not repeated."""
    figures = {"prompt_ms": 1000.0, "prompt_n": 9}
    turns = tuple(
        record(id=f"r1-{n}", usage=UsageReport(input=9459, cached=n), reported=figures)
        for n in (0, 8000)
    )
    segments = {
        s["name"]: s["source"] for s in data(Journal(records=turns))["all_turns"]["segments"]
    }

    by_tokens = "estimated from reported prefill by tokens"
    assert segments["prefill: system"] == f"{by_tokens}; order unknown"
    assert segments["prefill: history"] == by_tokens


def in_one_piece(number, ms):
    """A turn whose reply was not streamed."""
    marks = timings(
        first_token_ns=None, first_visible_text_ns=None, last_token_ns=None, end_ns=ms * MS
    )
    return record(id=f"r1-{number}", timings=marks)


@pytest.mark.parametrize("others", [1, 5])
def test_a_client_that_does_not_stream_spoils_no_split(others):
    """The median is of the turns that have a split, and the others are counted beside it."""
    plain = [in_one_piece(n, 100 * n) for n in range(2, 2 + others)]
    journal = Journal(records=(record(), *plain))
    said = spoken(journal)

    assert data(journal)["median_turn"]["exchange"]["id"] == "r1-1"
    assert data(journal)["median_turn"]["among_turns"] == 1
    assert "The only turn with a split took 16.1 s: 6.1 s (38 %) until" in said
    more = "1 more turn came" if others == 1 else "5 more turns came"
    assert f"{more} in one piece" in said
    assert "1.45 x as fast" in said
    assert "not known" not in said


def test_a_split_that_only_the_server_knows_is_told():
    """A reply in one piece with llama.cpp's own figures has a decode time and says whose it is."""
    turn = in_one_piece(1, 3000)
    turn.reported.update({"prompt_ms": 1000.0, "prompt_n": 9459, "predicted_ms": 1500.0})
    said = spoken(Journal(records=(turn,)))

    assert "was not streamed, but the server says 1.5 s decoding." in said
    assert "2 times as fast makes this turn" in said


def test_an_even_number_of_turns_says_which_middle_is_shown():
    """Four turns of 1.01, 1.01, 2.01 and 2.02 s: the shorter of the two in the middle, and so named."""
    u0 = timings().request_end_ns
    turns = tuple(
        record(
            id=f"r1-{n}",
            timings=timings(
                first_token_ns=u0 + 500 * MS, last_token_ns=(ms - 1) * MS, end_ns=ms * MS
            ),
        )
        for n, ms in enumerate((1010, 1010, 2010, 2020))
    )

    said = spoken(Journal(records=turns))

    assert "The median of 4 turns (of the two in the middle, the shorter) took 1.0 s" in said
    assert "The median of 3 turns took" in spoken(Journal(records=turns[1:]))


def test_each_part_in_front_says_which_turns_carried_it():
    """Tools in two of three turns, a system prompt in all: the sentence does not say two for both."""
    tools = [record(id=f"r1-{n}", parts=parts(tools=61, system=20, question=5)) for n in (1, 2)]
    journal = Journal(records=(*tools, record(id="r1-3", parts=parts(system=20, question=5))))

    assert (
        "Before your words the client puts 81 tokens: 61 tokens in tool definitions (in 2 of 3 requests)"
        " and 20 tokens of system prompt." in spoken(journal)
    )


def test_remarks_on_a_part_share_a_bracket():
    """Tools that nobody called, in one turn of two beside a system prompt in both."""
    held = journals.field_report()
    with_tools = record(parts=parts(tools=6603, system=1509, question=5))
    without = record(id="r1-2", parts=parts(system=1509, question=5), tools=None)
    said = spoken(Journal(records=(with_tools, without), tool_sets=held.tool_sets))

    assert "in 31 tool definitions (none ever called; in 1 of 2 requests) and 1,509 tokens" in said


def test_a_bill_far_from_the_parts_is_a_row():
    """300 billed, 16 counted: the row says how many tokens nobody can name, and their share."""
    said = words(Journal(records=(record(parts=parts(question=16), usage=UsageReport(input=300)),)))

    assert "not explained by the parts 284 95 %" in said
    assert "question 16 5 %" in said


def test_answers_say_what_is_counted():
    """A hidden request and a cut answer are answers and no turns."""
    held = journals.field_report()
    first = held.records[0]
    more = [
        msgspec.structs.replace(first, id="r1-2", kind="hidden"),
        msgspec.structs.replace(first, id="r1-3", error_kind="incomplete_stream"),
    ]
    said = words(Journal(records=(first, *more), tool_sets=held.tool_sets))

    assert "turns 1;" in said
    assert "Answers: 3 in all, hidden and cut ones included." in said


def test_a_model_without_a_name_is_called_that():
    """Neither asked for nor served by name: a dash is no name."""
    asked = msgspec.structs.replace(record().request, model=None)
    said = words(Journal(records=(record(request=asked, model_served=None),)))

    assert "Seconds for an unnamed model at http://127.0.0.1:8000:" in said


def test_the_json_names_no_more_damage_than_it_must():
    """A folder of strangers' lines is counted whole and shown in part."""
    many = tuple(Unreadable("a.jsonl", n, "no JSON") for n in range(1, 1001))
    census = data(Journal(unreadable=many))["census"]

    assert census["unreadable_pieces"] == 1000
    assert len(census["unreadable"]) == UNREADABLE_SHOWN


def test_only_the_last_ten_are_shown_one_by_one():
    """Eleven exchanges: the first is counted and not listed."""
    turns = tuple(record(id=f"r1-{n}", at_unix_ns=n * 10**9) for n in range(1, 12))

    assert [line["id"] for line in data(Journal(records=turns))["last_exchanges"]] == [
        f"r1-{n}" for n in range(2, 12)
    ]
