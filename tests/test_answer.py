"""What was generated: whose count, how many events, what kind; rather no number than a wrong one."""

from __future__ import annotations

import pytest

from proxy.dialects.base import Usage
from proxy.journal.answer import content_kind, output
from proxy.wire.exchange import Note
from tests.support.builders import MS, counter, said

TOKENIZER = counter().tokenizer("qwen")
UNSAID = {"usage": Usage(), "output_source": None}


def of(reading, tokenizer=TOKENIZER, *, unread=False):
    """The output of a reading."""
    return output(reading, tokenizer, unread=unread)


def test_the_servers_number_comes_first():
    """Usage, else the server's timings, else continuous usage: as the dialect found it."""
    assert (of(said()).tokens, of(said()).source) == (377, "usage")
    found = of(said(output_source="timings"))
    assert (found.tokens, found.source) == (377, "timings")


def test_reasoning_and_the_reason_of_the_end_are_kept():
    """Reasoning is part of the output; the reason is the server's word."""
    found = of(said(usage=Usage(output=8, reasoning=3)))
    assert (found.tokens, found.reasoning_tokens) == (8, 3)
    assert found.finish_reason == "stop"


def test_without_a_bill_the_answer_is_counted_here():
    """The count names its tokenizer; it is never the number of events."""
    found = of(said(**UNSAID, text="five words in this answer"))
    assert (found.tokens, found.source) == (5, "tiktoken o200k_base")
    assert found.events == 199


@pytest.mark.parametrize(
    ("reading", "tokenizer", "unread"),
    [
        (said(**UNSAID), None, False),
        (said(**UNSAID, text=""), TOKENIZER, False),
        (said(**UNSAID, notes=(Note("text_bounded", "reply"),)), TOKENIZER, False),
        (said(**UNSAID, notes=(Note("event_too_long", "reply events"),)), TOKENIZER, False),
        (said(**UNSAID), TOKENIZER, True),
        (said(**UNSAID, terminal_event_ns=None), TOKENIZER, True),
        (said(terminal_event_ns=None, output_source="continuous usage"), TOKENIZER, True),
    ],
    ids=[
        "no tokenizer",
        "no text",
        "bounded",
        "event dropped",
        "text unread",
        "end unread",
        "running count",
    ],
)
def test_tokens_that_cannot_be_known_are_unknown(reading, tokenizer, unread):
    """Null and `unknown`: a text or a running count that was cut is no answer's."""
    found = of(reading, tokenizer, unread=unread)
    assert (found.tokens, found.source) == (None, "unknown")


def test_a_bill_stands_though_bytes_after_it_were_left_out():
    """Once the answer was over, what is missing later changes nothing about its tokens."""
    found = of(said(), unread=True)
    assert (found.tokens, found.source) == (377, "usage")
    assert found.events is None


def test_events_and_their_gaps():
    """Several tokens an event, k1 of them in the first; gaps from the times of events."""
    at = tuple(n * 100 * MS for n in (10, 11, 13, 16, 20))
    found = of(said(token_event_ns=at, k1=4, usage=Usage(output=24)))
    assert found.events == 5
    assert found.k1 == 4
    assert found.tokens_per_event == 5.0
    assert (found.gap_p50_ns, found.gap_p95_ns, found.gap_max_ns) == (250 * MS, 385 * MS, 400 * MS)


def test_an_answer_that_was_not_streamed_has_no_events():
    """Null, not zero; its tokens are billed all the same."""
    found = of(said(streamed=False, token_event_ns=(), first_token_ns=None))
    assert found.events is None
    assert found.tokens_per_event is None
    assert found.gap_max_ns is None
    assert found.tokens == 377


def test_a_stream_without_output_has_no_gaps():
    """No event is zero events: that was observed."""
    found = of(said(token_event_ns=(), **UNSAID, text=""))
    assert found.events == 0
    assert found.gap_p50_ns is None


FENCE = "```python\nprint('a')\n```\n"


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (said(text="Just an answer. " * 9), "prose"),
        (said(text=FENCE), "code"),
        (said(text="See:\n```\n" + "x = 1\n" * 20), "code"),
        (said(text=FENCE + "It prints a letter."), "mixed"),
        (said(text=FENCE + "It prints a letter. " * 30), "prose"),
        (said(text="{}", called=("f",), first_visible_text_ns=None), "tool_call"),
        (said(text="I call. {}", called=("f",)), "mixed"),
        (said(text=""), None),
    ],
)
def test_content_kind_tells_prose_from_code(reading, expected):
    """Code stands in fences, also in one that was cut; a tool call beside text is mixed."""
    assert content_kind(reading) == expected
    assert of(reading).content_kind == expected
