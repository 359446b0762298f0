"""Tokens of a prompt by part, and which of them were read anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.explain.prompt import cached_tokens, input_tokens, prompt, uncached_tokens
from proxy.journal.record import UsageReport
from tests.support.builders import COUNTED, part, parts, record


def uncached(**changes):
    """Uncached tokens by part of a record with these changes."""
    return {p.part: p.uncached for p in prompt(record(**changes)).parts}


def test_without_a_cache_all_of_it_is_read():
    """A server that says nothing of a cache is taken to have read every token."""
    read = prompt(record())

    assert read.cached is None
    assert read.tokens == read.uncached == 9459


@pytest.mark.parametrize(
    ("cached", "expected"),
    [
        (0, {"tools": 6603, "system": 1509, "history": 1310, "question": 37}),
        (6600, {"tools": 1230, "system": 282, "history": 1310, "question": 37}),
        (8000, {"tools": 91, "system": 21, "history": 1310, "question": 37}),
        (8112, {"tools": 0, "system": 0, "history": 1310, "question": 37}),
        (8149, {"tools": 0, "system": 0, "history": 1273, "question": 37}),
        (9459, {"tools": 0, "system": 0, "history": 0, "question": 0}),
        (99999, {"tools": 0, "system": 0, "history": 0, "question": 0}),
    ],
)
def test_cached_tokens_are_the_front_of_the_prompt(cached, expected):
    """A cache covers the conversation last; what it lacks of the front, tools and system share."""
    assert uncached(usage=UsageReport(input=9459, cached=cached)) == expected


@pytest.mark.parametrize(("cached", "shared"), [(0, False), (8000, True), (8112, False)])
def test_a_share_of_the_front_is_known_as_one(cached, shared):
    """Only where the front is read in part does it matter which of its parts stands first."""
    read = prompt(record(usage=UsageReport(input=9459, cached=cached)))

    assert [p.part for p in read.parts if p.shared] == (["tools", "system"] if shared else [])


def test_a_front_of_one_part_has_no_order():
    """A system prompt alone stands first: what is uncached of it is no share."""
    read = prompt(
        record(parts=parts(system=100, question=5), usage=UsageReport(input=105, cached=50))
    )

    assert [(p.part, p.uncached, p.shared) for p in read.parts] == [
        ("system", 50, False),
        ("question", 5, False),
    ]


def test_the_opener_of_the_answer_is_behind_the_front():
    """The demo's third turn: its 16 uncached tokens are question and template, not the system prompt."""
    sent = [*parts(tools=1278, system=11, question=13), part("template", 7)]

    read = uncached(parts=sent, usage=UsageReport(input=1309, cached=1293))

    assert read == {"tools": 0, "system": 0, "question": 11, "template": 5}


def test_what_the_bill_has_beyond_the_parts_is_a_part_of_its_own():
    """300 tokens billed, 16 counted: 284 are unexplained, and none of them is in a part."""
    read = prompt(record(parts=parts(question=16), usage=UsageReport(input=300)))

    assert (read.unexplained.tokens, read.unexplained.uncached) == (284, 284)
    assert str(read.unexplained.source) == "estimated as usage minus parts"
    assert (read.tokens, read.uncached) == (16, 16)


@pytest.mark.parametrize(
    "usage", [UsageReport(), UsageReport(input=16), UsageReport(input=9)], ids=repr
)
def test_without_a_larger_bill_nothing_is_unexplained(usage):
    """No bill, one that fits, one that is smaller: there is no such part."""
    assert prompt(record(parts=parts(question=16), usage=usage)).unexplained is None


def test_the_templates_tokens_stand_everywhere():
    """The chat template's own tokens are uncached in proportion to those behind the front."""
    prompt_parts = [
        *parts(tools=1225, question=19),
        part("template", 7, source="assumed: 4 a message"),
    ]

    read = uncached(parts=prompt_parts, usage=UsageReport(input=1251, cached=1239))

    assert read == {"tools": 0, "question": 9, "template": 3}


def test_roles_of_a_part_are_summed():
    """History by user and by assistant is one part."""
    read = prompt(record(parts=[part("history", 10, "user"), part("history", 5, "assistant")]))

    assert [(p.part, p.tokens) for p in read.parts] == [("history", 15)]


def test_what_the_template_dropped_is_not_read():
    """Tools that are not in the bill were sent, are shown, and cost nothing."""
    dropped = part("tools", 900, source=f"{COUNTED}, not in the bill")

    read = prompt(record(parts=[dropped, part("question", 23)], usage=UsageReport(input=23)))

    assert read.part("tools").billed == read.part("tools").uncached == 0
    assert (read.tokens, read.uncached) == (23, 23)
    assert (
        input_tokens(record(parts=[dropped, part("question", 23)], usage=UsageReport())).tokens
        == 23
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (COUNTED, "counted by tiktoken o200k_base"),
        ("assumed: 4 a message", "assumed 4 a message"),
        ("usage minus parts", "estimated as usage minus parts"),
    ],
)
def test_each_count_keeps_its_source(source, expected):
    """The record's word for a count becomes one of the five kinds of source."""
    assert (
        str(prompt(record(parts=[part("question", 5, source=source)])).parts[0].source) == expected
    )


def test_a_prompt_that_nobody_counted_has_no_parts():
    """Null tokens are not zero tokens."""
    assert prompt(record(parts=parts(system=None, question=None))) is None
    assert prompt(record(parts=[])) is None
    assert prompt(record()).part("media") is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (9459, "reported by the server")),
        (
            {"usage": UsageReport(), "reported": {"prompt_n": 12, "cache_n": 1239}},
            (1251, "reported by the server"),
        ),
        ({"usage": UsageReport()}, (9459, "counted by tiktoken o200k_base")),
        (
            {"usage": UsageReport(), "parts": parts(media=None, system=3)},
            (3, "counted by tiktoken o200k_base"),
        ),
    ],
)
def test_the_whole_prompt_is_billed_before_it_is_counted(changes, expected):
    """The bill wins over the server's timings, those over a local count."""
    count = input_tokens(record(**changes))

    assert (count.tokens, str(count.source)) == expected


def test_an_unknown_prompt_is_unknown():
    """Neither billed nor counted: there is no number, of uncached tokens neither."""
    unknown = record(usage=UsageReport(), parts=[])

    assert input_tokens(unknown) is None
    assert uncached_tokens(unknown) is None


def test_llama_cpps_cache_count_stands_in_for_the_bills():
    """`cache_n` counts where `usage` does not speak of a cache; anything else is not a count."""
    assert cached_tokens(record(reported={"cache_n": 7})) == 7
    assert cached_tokens(record(reported={"cache_n": "7"})) is None
    assert cached_tokens(record(usage=UsageReport(cached=0), reported={"cache_n": 7})) == 0


@given(
    st.lists(st.integers(0, 3000), min_size=5, max_size=5),
    st.none() | st.integers(-10, 20000),
    st.none() | st.integers(-10, 20000),
)
def test_no_part_reads_more_than_it_has(counts, billed, cached):
    """Uncached tokens of a part lie between 0 and its tokens, whatever a server bills."""
    names = ("tools", "system", "history", "question", "template")
    read = prompt(
        record(
            parts=parts(**dict(zip(names, counts, strict=True))),
            usage=UsageReport(input=billed, cached=cached),
        )
    )

    assert all(0 <= p.uncached <= p.tokens for p in read.parts)
    if billed is not None:
        assert read.uncached == min(max(0, billed - (cached or 0)), read.tokens)
