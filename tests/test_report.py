"""The whole report, as text and as JSON, against files that one can read."""

from __future__ import annotations

import re

import orjson
import pytest

from analysis.explain.overview import overview
from analysis.render.data import UNREADABLE_SHOWN, report_json
from analysis.store.base import Journal, Unreadable
from tests.support import journals
from tests.support.builders import record
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
        r"_ns$|_ns_per_token$|^ns_per_token$|tokens$|_per_s$|_factor$|^share$|^cached_of_tokens$"
        r"|exchanges$|turns$|answers$|generations$|_tools$|_pieces$|without_record$"
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
    assert "Reading them takes 9.3 s when none are cached; as lived, 4.6 s a turn" in said


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
