"""Builders of values that tests start from: one good default each, changed by keyword.

One rule: a builder makes a plain value and nothing else. The default exchange is the turn of the
field report: 9,459 tokens in, first token after 6.084 s, 377 tokens out, over after 16.087 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from proxy.dialects.base import ReplyReading, RequestReading, Usage
from proxy.journal.record import (
    Counting,
    Load,
    Output,
    Part,
    Record,
    Request,
    Self,
    Timings,
    Tools,
    UsageReport,
)
from proxy.journal.tokens import Counter
from proxy.wire.exchange import Ending, Exchange, Opening, Outcome
from proxy.wire.head import ReplyHead, RequestHead

if TYPE_CHECKING:
    from proxy.dialects.base import PromptPart, ReplyReader

MS = 1_000_000
S = 1_000 * MS

AT_UNIX_NS = 1_790_000_000 * S
"""Wall time of the default exchange's first byte."""

COUNTED = "tiktoken o200k_base"


def part(name: str, tokens: int | None, role: str = "", source: str = COUNTED) -> Part:
    """One part of a prompt; the role is the usual one for the part unless given."""
    usual = {"system": "system", "tools": "tool", "tool_results": "tool"}
    usual |= {"media": "image", "template": "template"}
    return msgspec.convert(
        {"part": name, "role": role or usual.get(name, "user"), "tokens": tokens, "source": source},
        Part,
    )


def parts(**tokens: int | None) -> list[Part]:
    """Parts by name, in the order given: `parts(tools=6603, system=1509)`."""
    return [part(name, count) for name, count in tokens.items()]


def timings(**changes: int | None) -> Timings:
    """Marks of a streamed turn whose u0 is 2 ms after its first byte."""
    u0 = 2 * MS
    end = u0 + 16_087 * MS
    marks: dict[str, int | None] = {
        "request_head_ns": 1 * MS,
        "request_end_ns": u0,
        "upstream_dial_ns": 1 * MS,
        "upstream_connected_ns": 1 * MS + 500_000,
        "upstream_sent_ns": u0 + 100_000,
        "response_head_ns": u0 + 80 * MS,
        "first_byte_ns": u0 + 80 * MS,
        "first_event_ns": u0 + 6_083 * MS,
        "first_token_ns": u0 + 6_084 * MS,
        "first_visible_text_ns": u0 + 6_084 * MS,
        "last_token_ns": end - 1 * MS,
        "terminal_event_ns": end - 1 * MS,
        "end_ns": end,
    }
    return msgspec.convert(marks | changes, Timings)


def output(**changes: object) -> Output:
    """377 tokens in 199 events, as the server billed them."""
    fields = {
        "tokens": 377,
        "source": "usage",
        "events": 199,
        "tokens_per_event": 376 / 198,
        "gap_p50_ns": 50 * MS,
        "gap_p95_ns": 58 * MS,
        "gap_max_ns": 92 * MS,
        "finish_reason": "stop",
    }
    return msgspec.convert(fields | changes, Output)


def record(**changes: object) -> Record:
    """The field report's turn as a record; keywords replace top-level fields.

    Nested fields have builders of their own: `record(timings=timings(first_token_ns=None))`.
    """
    fields: dict[str, object] = {
        "id": "r1-1",
        "at_unix_ns": AT_UNIX_NS,
        "route": "127.0.0.1:8080",
        "label": "home",
        "upstream": "http://127.0.0.1:8000",
        "backend": "127.0.0.1:8000",
        "peer": "127.0.0.1:50000",
        "client": "chat-client/1.0",
        "kind": "turn",
        "dialect": "openai_chat",
        "request": Request(
            method="POST",
            path="/v1/chat/completions",
            model="qwen-27b-int8",
            stream=True,
            bytes=48_000,
        ),
        "parts": parts(tools=6603, system=1509, history=1310, question=37),
        "tools": Tools(set_hash="0123456789abcdef", count=31, tokens=6603),
        "timings": timings(),
        "output": output(),
        "usage": UsageReport(input=9459, output=377),
        "counting": Counting(tokenizer=COUNTED, counted=9459, billed=9459, residual=0),
        "load": Load(in_flight_at_arrival=1, in_flight_mean=1.0, in_flight_peak=1),
        "self": Self(first_ns=90_000, worst_ns=400_000, lateness_ns=300_000),
        "outcome": "complete",
        "generation": "complete",
        "status": 200,
        "reply_bytes": 60_000,
        "model_served": "qwen-27b-int8",
    }
    return Record(**{**fields, **changes})  # type: ignore[arg-type] # tests name the fields they change


OPENED_NS = 7_000 * S
"""Monotonic time of the default exchange's first byte: not 0, so that a forgotten offset shows."""


def opening(**changes: object) -> Opening:
    """An exchange over the route `home`."""
    fields: dict[str, object] = {
        "at_unix_ns": AT_UNIX_NS,
        "connection": 1,
        "route": "127.0.0.1:8080",
        "label": "home",
        "upstream": "http://127.0.0.1:8000",
        "peer": "127.0.0.1:50000",
    }
    return Opening(**{**fields, **changes})  # type: ignore[arg-type] # tests name the fields they change


def ending(outcome: Outcome = Outcome.complete, **changes: object) -> Ending:
    """An end with the proxy's own delays measured."""
    fields: dict[str, object] = {
        "request_bytes": 48_000,
        "reply_bytes": 60_000,
        "self_first_ns": 90_000,
        "self_worst_ns": 400_000,
        "lateness_ns": 300_000,
    }
    return Ending(outcome, **{**fields, **changes})  # type: ignore[arg-type] # as above


def request_head(target: str = "/v1/chat/completions", **headers: str) -> RequestHead:
    """A POST; header names in snake case."""
    fields = {"user-agent": "chat-client/1.0 (linux)"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return RequestHead("POST", target, (1, 1), tuple(fields.items()))


def exchange(**changes: object) -> Exchange[ReplyReader]:
    """The default turn as a sealed tape, nobody having listened; times as in `timings()`."""
    marks = timings()
    at = {
        name: OPENED_NS + ns for name, ns in msgspec.structs.asdict(marks).items() if ns is not None
    }
    fields: dict[str, object] = {
        "number": 1,
        "opening": opening(),
        "ending": ending(),
        "opened_ns": OPENED_NS,
        "ended_ns": at["end_ns"],
        "request": request_head(),
        "request_head_ns": at["request_head_ns"],
        "request_end_ns": at["request_end_ns"],
        "request_body": b"{}",
        "reply": ReplyHead(200, (1, 1), (("Content-Type", "text/event-stream"),)),
        "reply_head_ns": at["response_head_ns"],
        "first_byte_ns": at["first_byte_ns"],
        "dial_ns": at["upstream_dial_ns"],
        "connected_ns": at["upstream_connected_ns"],
        "sent_ns": at["upstream_sent_ns"],
        "backend": "127.0.0.1:8000",
        "heard": None,
    }
    return Exchange(**{**fields, **changes})  # type: ignore[arg-type] # as above


def asked(*parts: PromptPart, **changes: object) -> RequestReading:
    """A streamed chat request with these parts."""
    fields: dict[str, object] = {"model": "qwen-27b-int8", "stream": True, "parts": parts}
    return RequestReading(**{**fields, **changes})  # type: ignore[arg-type] # as above


def said(**changes: object) -> ReplyReading:
    """A streamed answer of 377 tokens in 199 events that ended well; times as in `timings()`."""
    marks = timings()
    first, last = (OPENED_NS + (ns or 0) for ns in (marks.first_token_ns, marks.last_token_ns))
    step = (last - first) // 198
    fields: dict[str, object] = {
        "streamed": True,
        "model": "qwen-27b-int8",
        "first_event_ns": first - 1 * MS,
        "first_token_ns": first,
        "first_visible_text_ns": first,
        "last_token_ns": last,
        "terminal_event_ns": last,
        "token_event_ns": (*range(first, first + 198 * step, step), last),
        "usage": Usage(input=9459, output=377),
        "output_source": "usage",
        "finish_reason": "stop",
        "text": "An answer of some words. " * 40,
    }
    return ReplyReading(**{**fields, **changes})  # type: ignore[arg-type] # as above


class Words:
    """An encoder that anyone can check by eye: a token is a word. It keeps what it was asked."""

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode_ordinary(self, text: str) -> list[str]:
        """The words of a text."""
        self.encoded.append(text)
        return text.split()


def words(count: int) -> str:
    """A text of so many words."""
    return "word " * count


def counter() -> Counter:
    """A counter whose every token is a word."""
    return Counter(lambda _encoding: Words())
