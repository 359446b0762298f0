"""The short way of reading a token event: it says the same as the long one, or nothing at all."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.dialects.openai_chat_reply import ChatReply
from proxy.dialects.openai_chat_token import take_token
from proxy.dialects.reply import JsonReply
from proxy.wire.head import ReplyHead

HEAD = ReplyHead(200, (1, 1), (("Content-Type", "text/event-stream"),))


def read(*events: bytes, short: bool):
    """What a reader with or without the short way understands."""
    reply = JsonReply(HEAD, ChatReply(), shortcut=take_token if short else None)
    for n, event in enumerate(events):
        reply.feed(b"data: " + event + b"\n\n", n)
    reply.close()
    return reply.reading()


def event(delta: dict[str, Any] | None = None, choice: dict[str, Any] | None = None, **more: Any):
    """One chunk as JSON."""
    choices = [{"index": 0, "delta": delta or {}, "finish_reason": None} | (choice or {})]
    return orjson.dumps({"object": "chat.completion.chunk", "choices": choices} | more)


class Taken:
    """A tally that only remembers whether it was spoken to."""

    model = fingerprint = None

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def add(self, channel: str, text: str) -> None:
        """As the tally's."""
        self.said.append((channel, text))


COMMON = [
    (event({"content": "a"}), [("text", "a")]),
    (event({"content": "a", "role": "assistant"}, model="m", usage=None), [("text", "a")]),
    (event({"content": None, "reasoning_content": "b", "tool_calls": None}), [("reasoning", "b")]),
    (event({"content": "a", "reasoning": "b"}, {"logprobs": {"content": []}}),
     [("reasoning", "b"), ("text", "a")]),
    (event({"role": "assistant", "content": ""}), []),
]  # fmt: skip


@pytest.mark.parametrize(("data", "said"), COMMON)
def test_a_token_is_read_the_short_way(data: bytes, said: list[tuple[str, str]]):
    """Text, reasoning, or nothing yet: what servers send most."""
    taken = Taken()
    assert take_token(data, taken)  # type: ignore[arg-type] # it needs no more of a tally
    assert said == taken.said


OTHERS = [
    event({"content": "a"}, {"finish_reason": "stop"}),
    event({"content": "a"}, usage={"completion_tokens": 1}),
    event({"content": "a"}, timings={"predicted_n": 1}),
    event({"content": "a"}, {"index": 1}),
    event({"content": "a"}, {"token_ids": [1, 2]}),
    event({"content": ["a"]}),
    event({"content": [{"type": "text", "text": "a"}]}),
    event({"tool_calls": [{"index": 0, "function": {"name": "f"}}]}),
    event({"refusal": "no"}),
    event({"content": "a"}, error={"type": "overloaded"}),
    event({"content": "a"}, type="error"),
    event({"content": "a"}, object="error"),
    event({"content": "a"}, model=7),
    b'{"choices":[]}',
    b"[1]",
    b"{}",
    b"no JSON",
    b'{"choices":[{"delta":{"content":"a"}}]} behind it',
    b'{"choices":[{"delta":{"content":"\\ud800"}}]}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("data", OTHERS)
def test_whatever_says_more_is_left_to_the_long_way(data: bytes):
    """And nothing of it is taken before."""
    taken = Taken()
    assert not take_token(data, taken)  # type: ignore[arg-type] # it needs no more of a tally
    assert not taken.said
    assert (taken.model, taken.fingerprint) == (None, None)


TEXTS = (
    st.none()
    | st.text(max_size=5)
    | st.integers(-9, 9)
    | st.just(["a"])
    | st.just({"type": "text"})
)
DELTAS = st.dictionaries(
    st.sampled_from(
        ["content", "reasoning", "reasoning_content", "refusal", "role", "tool_calls", "audio"]
    ),
    TEXTS,
)
CHOICES = st.dictionaries(
    st.sampled_from(["finish_reason", "index", "token_ids", "meta_info", "message", "logprobs"]),
    TEXTS | st.just(0),
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["model", "system_fingerprint", "object", "type", "error", "usage", "timings", "stats"]
    ),
    TEXTS | st.just("error") | st.just({"completion_tokens": 3}),
)
EVENTS = st.builds(lambda d, c, f: event(d, c, **f), DELTAS, CHOICES, FIELDS)


@given(st.lists(EVENTS, max_size=4))
def test_both_ways_say_the_same(events: list[bytes]):
    """Whatever fields an event has, of whatever type."""
    assert read(*events, short=False) == read(*events, short=True)


@given(st.lists(EVENTS, min_size=1, max_size=2), st.data())
def test_both_ways_say_the_same_of_damage(events: list[bytes], data: st.DataObject):
    """Also when bytes are missing or wrong."""
    damaged = bytearray(events[0])
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(
        st.integers(0, 255).filter(lambda b: b not in b"\r\n")
    )
    assert read(bytes(damaged), *events[1:], short=False) == read(
        bytes(damaged), *events[1:], short=True
    )
