"""The words of the report: what is said of each kind of journal, and how."""

from __future__ import annotations

import msgspec
import pytest

from analysis.render.nothing import nothing_recorded
from analysis.store.base import Gap, Journal, Unreadable
from proxy.journal.record import Self, ToolEntry, Tools, ToolSet, UsageReport
from tests.support import journals
from tests.support.builders import AT_UNIX_NS, MS, S, parts, record, timings
from tests.support.reports import spoken, text, words


def test_losses_and_damage_are_always_said():
    """Three faults of a journal are three numbers in its first lines; without any, that is said."""
    damaged, sound = words(journals.damaged()), words(journals.demo())

    assert "2 pieces could not be read (2026-09-21-1-1.jsonl line 2:" in damaged
    assert "2 exchanges lost (recorder died)" in damaged
    assert "3 exchanges without a record (run r1: 4 to 6)" in damaged
    assert "all lines readable; no exchange lost; none without a record" in sound


def test_names_of_others_cannot_change_the_screen():
    """A model of 10 kB with escapes and markup in it is text, on one line, cut."""
    name = "[bold]\x1b[31m<script>\u202e\n" + "x" * 10_000
    said = text(Journal(records=(record(model_served=name, client=name, label=name),)))

    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "[bold]\\u001b[31m<script>" in said
    assert max(map(len, said.split("\n"))) <= 100


def test_a_prompt_that_nobody_counted():
    """No parts, no usage: what can be said is said, the rest is called unknown."""
    said = " ".join(
        text(Journal(records=(record(parts=[], tools=None, usage=UsageReport()),))).split()
    )

    assert "What its prompt was made of is not known" in said
    assert "PROMPT" not in said
    assert "wait, not split" in said


def test_a_reply_in_one_piece():
    """Not streamed: the whole is measured and no speedup is promised."""
    marks = timings(first_token_ns=None, first_visible_text_ns=None, last_token_ns=None)
    journal = Journal(records=(record(timings=marks),))
    said = spoken(journal) + words(journal)

    assert "took 16.1 s; its reply was not streamed" in said
    assert "What a faster engine would bring is not known" in said


def test_a_client_that_puts_nothing_in_front():
    """Neither tools nor a system prompt: the report does not look for savings there."""
    said = text(Journal(records=(record(parts=parts(question=300), tools=None),)))

    assert "The client puts neither tools nor a system prompt before your words." in said


def test_a_template_that_drops_the_tools():
    """Tools that the model never reads are called that, and cost no seconds."""
    drops = "tiktoken o200k_base, not in the bill"
    prompt = [msgspec.structs.replace(p, source=drops) for p in parts(tools=900)]
    turn = record(parts=[*prompt, *parts(question=400)], usage=UsageReport(input=400, output=377))
    journal = Journal(records=(turn,))
    said = spoken(journal) + words(journal)

    assert "900 tokens in tool definitions, which the server's template drops" in said
    assert "dropped: the client sends it" in said


def test_more_tools_than_fit_are_summed():
    """Ten rows, then how many more and what they cost."""
    said = words(journals.field_report())

    assert "and 21 more, " in said
    assert "24 never called: 4,612 tokens" in said


def test_a_journal_of_hidden_requests_alone():
    """No turn: that is said in a sentence, and the requests are listed."""
    held = Journal(records=tuple(record(id=f"r1-{n}", kind="hidden") for n in (1, 2)))
    said = words(held)

    assert "No turn came to its end" in said
    assert "2 hidden requests" in said
    assert "LAST 2" in said
    assert "WHAT TO DO" not in said


def test_a_turn_of_several_requests_is_one_turn():
    """The first lines count turns, and beside them the requests that they took."""
    held = Journal(
        records=tuple(
            record(id=f"r1-{n}", turn="r1-1", at_unix_ns=AT_UNIX_NS + n * 20 * S) for n in (1, 2)
        )
    )

    assert "turns 1, of 2 answered requests; not counted" in words(held)


def test_several_names_are_counted():
    """Four models: three are named with their numbers, one is counted."""
    turns = tuple(
        record(
            id=f"r1-{n}",
            model_served=f"model-{n % 4}",
            tools=Tools(set_hash="x", count=1, tokens=1),
        )
        for n in range(9)
    )
    said = text(Journal(records=turns))

    assert "model-0 (3), model-1 (2), model-2 (2) and 1 more" in said
    assert "9 answers had tools whose list is not in the journal" in said


def test_what_is_no_turn_is_counted_apart():
    """Hidden requests, errors, and requests that asked for no answer: each has its number."""
    others = [
        record(id="r1-2", kind="hidden"),
        record(id="r1-3", kind="not_generation", generation="none"),
        record(id="r1-4", error_kind="upstream_reset"),
    ]
    said = words(Journal(records=(record(), *others)))

    assert (
        "1; not counted as turns: no error, 1 cut answer, 1 hidden request, 1 request for no"
        in said
    )
    assert "hidden" in said.rpartition("LAST")[2]


def test_a_journal_that_cannot_be_read_at_all():
    """No exchange: what was found is said, and no table stands empty."""
    said = words(Journal(unreadable=(Unreadable("a.jsonl", 1, "no JSON"),)))

    assert "turnscope 0 exchanges" in said
    assert "No exchange could be read." in said
    assert "LAST" not in said


def test_days_are_named_when_there_are_several():
    """A journal over midnight says both dates."""
    turns = [record(), record(id="r1-2", at_unix_ns=AT_UNIX_NS + 3 * 86_400 * S)]

    assert "in 3 days, 2026-09-21 14:13:20 to 2026-09-24 14:13:20" in words(
        Journal(records=tuple(turns))
    )


def test_several_gaps_are_hinted_at():
    """The first gap is named in full; a gap of one has one number."""
    gaps = (Gap("r1", 4, 4), Gap("r1", 7, 9))

    assert "4 exchanges without a record (run r1: 4, ...)" in words(Journal(gaps=gaps))


def test_waits_without_counts_are_still_told():
    """No token count, no cache: the wait alone is worth saying."""
    bare = {"parts": [], "usage": UsageReport(), "tools": None}
    turns = [
        record(
            id=f"r1-{n}",
            timings=timings(first_token_ns=n * S + 2 * MS, last_token_ns=9 * S),
            **bare,
        )
        for n in (2, 4)
    ]

    assert "was 4.0 s; the shortest 2.0 s." in spoken(Journal(records=tuple(turns)))


def test_a_turn_of_nothing_but_decode_has_no_ceiling():
    """Where no fixed part was seen, no limit is claimed."""
    marks = timings(request_end_ns=0, upstream_connected_ns=0, upstream_sent_ns=0)
    marks = msgspec.structs.replace(marks, first_token_ns=0, last_token_ns=S, end_ns=S)
    said = spoken(Journal(records=(record(timings=marks, self=Self()),)))

    assert "2.00 x as fast" in said
    assert "No decode speed" not in said


def test_tools_that_were_all_called_and_have_no_price():
    """Nothing is called unused, and tokens without seconds are still summed."""
    names = [f"tool_{n}" for n in range(17)]
    listed = ToolSet(set_hash="x", source="t", tools=[ToolEntry(name=n, tokens=1) for n in names])
    offered = Tools(set_hash="x", count=17, tokens=17, called=names)
    turns = [
        record(id="r1-1", tools=offered, parts=parts(tools=17), usage=UsageReport()),
        record(
            id="r1-2",
            tools=Tools(set_hash="y", count=1, tokens=None),
            parts=[],
            usage=UsageReport(),
        ),
    ]
    said = words(Journal(records=tuple(turns), tool_sets={"x": listed}))

    assert "<- cut" not in said
    assert "Without the" not in said
    assert "and 7 more, 0 of them never called: 7 tokens." in said
    assert "1 answer had tools whose list is not in the journal" in said


@pytest.mark.parametrize(("usual", "flag"), [(True, ""), (False, " --journal '/a b'")])
def test_the_hint_for_an_empty_journal_can_be_copied(usual, flag):
    """It names the folder only where the commands would not find it by themselves."""
    said = nothing_recorded("/a b", usual=usual)

    assert f"         turnscope report{flag}\n" in said
    assert f"         turnscope-proxy{flag} --upstream" in said


def test_the_hint_names_commands_as_they_can_be_typed():
    """With a path where the shell finds no name; the make targets then stand beside it."""
    bare = nothing_recorded("/j", usual=True)
    there = nothing_recorded("/j", usual=True, proxy="b/turnscope-proxy", report="b/turnscope")

    assert "         b/turnscope-proxy --upstream" in there
    assert "         b/turnscope report\n" in there
    assert "make run and make analyze" in there
    assert "make" not in bare


def test_ids_of_one_run_are_short():
    """Ten lines of one run share its name; of two runs each has its own."""
    turns = [
        record(error_kind="upstream_reset", id=f"20261130T202439-25955-{n}", at_unix_ns=n * S)
        for n in (1, 2)
    ]
    other = record(error_kind="upstream_reset", id="20261201T080000-77-1", at_unix_ns=3 * S)

    one, two = (words(Journal(records=held)) for held in (tuple(turns), (*turns, other)))

    assert "Each id begins with 20261130T202439-25955-." in one
    assert "Each id begins with" not in two
    assert "20261201T08" in two.rpartition("LAST")[2]
