"""Journals of a size: real shapes of records, repeated over a month with ids and times of their own.

One rule: the same size gives the same journal, to the byte.
"""

from __future__ import annotations

import hashlib
import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from proxy.journal.lines import encode
from proxy.journal.names import DAY_NS, tool_set_name
from proxy.journal.record import (
    Counting,
    Load,
    Output,
    Prefix,
    Record,
    Request,
    Self,
    Timings,
    ToolEntry,
    Tools,
    ToolSet,
    UsageReport,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAYS: Final = 30
BEGIN_UNIX_NS: Final = 20_600 * DAY_NS
"""00:00 UTC of a day."""
SEGMENT_BYTES: Final = 64 * 2**20
MS: Final = 1_000_000
SOURCE: Final = "tiktoken o200k_base, scaled to usage"
MODELS: Final = ("qwen3-32b", "qwen3-coder-30b", "llama-3.3-70b", "gpt-oss-120b", "glm-4.5-air")
CLIENTS: Final = ("claude-cli/2.0.14", "open-webui/0.6", "cline/3.30", "OpenAI/Python/2.1")
CAUSES: Final = (None, None, None, None, "history rewritten", "tools", "time-out", "server")


def tool_sets() -> list[ToolSet]:
    """Eight sets of 8 to 43 tools."""
    return [
        ToolSet(
            set_hash=hashlib.blake2b(bytes([n]), digest_size=8).hexdigest(),
            source="tiktoken o200k_base",
            tools=[ToolEntry(name=f"tool_{i}", tokens=80 + 7 * i % 400) for i in range(8 + 5 * n)],
        )
        for n in range(8)
    ]


def records(n: int, seed: int = 5) -> Iterator[Record]:
    """So many in order of their beginnings: turns of 1 to 6 exchanges, hidden requests, failures."""
    draw = random.Random(seed)  # noqa: S311 -- the same each time
    sets = tool_sets()
    step_ns = DAYS * DAY_NS // n
    turn, left, turns = "", 0, 0
    for number in range(1, n + 1):
        name = f"20260526T000000-{1000 + number * 20 // (n + 1)}-{number}"
        at_unix_ns = BEGIN_UNIX_NS + number * step_ns + draw.randrange(step_ns)
        kind = draw.choices(("turn", "hidden", "not_generation"), (88, 9, 3))[0]
        if kind == "turn" and not left:
            turn, left, turns = name, draw.randint(1, 6), turns + 1
        left -= kind == "turn"
        made = _record(draw, sets[turns % len(sets)], kind)
        yield msgspec.structs.replace(
            made,
            id=name,
            at_unix_ns=at_unix_ns,
            thread=hashlib.blake2b(str(turns // 12).encode(), digest_size=6).hexdigest(),
            turn=turn if kind == "turn" else None,
        )


def _record(draw: random.Random, offered: ToolSet, kind: str) -> Record:
    asked = draw.choice(MODELS)
    tokens = {"tools": 6_000, "system": 1_500, "history": draw.randint(50, 30_000), "question": 40}
    whole = sum(tokens.values())
    cached = draw.choice((0, whole * 9 // 10, whole // 2))
    first = 20 * MS + (whole - cached) * draw.randint(250_000, 350_000)
    out = draw.randint(20, 900)
    end = first + out * draw.randint(20 * MS, 30 * MS)
    failed = draw.random() < 0.01
    called = [t.name for t in offered.tools[: draw.randint(0, 2)]]
    return msgspec.convert(
        {
            "id": "",
            "at_unix_ns": 0,
            "route": "127.0.0.1:8484",
            "label": "home",
            "upstream": f"http://127.0.0.1:800{MODELS.index(asked) % 2}",
            "backend": "127.0.0.1:8000",
            "peer": f"10.0.0.{draw.randint(1, 9)}:{draw.randint(40_000, 60_000)}",
            "client": draw.choice(CLIENTS),
            "kind": kind,
            "dialect": "openai_chat",
            "request": Request(
                method="POST", path="/v1/chat/completions", model=asked, stream=True, bytes=90_000
            ),
            "parts": [
                {"part": name, "role": "user", "tokens": count, "source": SOURCE}
                for name, count in tokens.items()
            ],
            "tools": Tools(
                set_hash=offered.set_hash, count=len(offered.tools), tokens=6_000, called=called
            ),
            "timings": _timings(first, end, failed=failed),
            "output": _output(out),
            "usage": UsageReport(input=whole, output=out, cached=cached),
            "counting": Counting(tokenizer="o200k_base", counted=whole, billed=whole, residual=0),
            "prefix": Prefix(expected=whole, reported=cached, cause=draw.choice(CAUSES), lost=900),
            "load": Load(in_flight_at_arrival=1, in_flight_mean=1.0, in_flight_peak=2),
            "self": Self(first_ns=90_000, worst_ns=400_000, lateness_ns=300_000),
            "outcome": "complete",
            "generation": "none" if failed else "complete",
            "error_kind": "http_error" if failed else None,
            "status": draw.choice((429, 500, 503)) if failed else 200,
            "reply_bytes": 60_000,
            "model_served": None if failed else asked,
        },
        Record,
        from_attributes=True,
    )


def _output(tokens: int) -> Output:
    return Output(
        tokens=tokens,
        source="usage",
        events=tokens,
        tokens_per_event=1.0,
        gap_p50_ns=24 * MS,
        gap_p95_ns=29 * MS,
        gap_max_ns=80 * MS,
        finish_reason="stop",
    )


def _timings(first_ns: int, end_ns: int, *, failed: bool) -> Timings:
    if failed:
        return Timings(
            request_head_ns=MS, request_end_ns=2 * MS, first_byte_ns=9 * MS, end_ns=9 * MS
        )
    return Timings(
        request_head_ns=MS,
        request_end_ns=2 * MS,
        upstream_connected_ns=-900 * MS,
        upstream_sent_ns=2 * MS + 100_000,
        response_head_ns=8 * MS,
        first_byte_ns=8 * MS,
        first_event_ns=9 * MS,
        first_token_ns=2 * MS + first_ns,
        first_visible_text_ns=2 * MS + first_ns,
        last_token_ns=2 * MS + end_ns,
        terminal_event_ns=2 * MS + end_ns,
        end_ns=3 * MS + end_ns,
    )


def write(folder: Path, n: int) -> int:
    """A journal of so many records, in segments as the proxy closes them. Returns their bytes."""
    folder.mkdir(parents=True)
    for each in tool_sets():
        (folder / tool_set_name(each.set_hash)).write_bytes(encode(each))
    whole = 0
    for name, lines in _segments(n):
        (folder / name).write_bytes(lines)
        whole += len(lines)
    return whole


def _segments(n: int) -> Iterator[tuple[str, bytes]]:
    held, day, number = bytearray(), "", 0
    for record in records(n):
        date = f"{datetime.fromtimestamp(record.at_unix_ns // 10**9, UTC):%Y-%m-%d}"
        if held and (date != day or len(held) >= SEGMENT_BYTES):
            number += 1
            yield f"{day}-77-{number}.jsonl", bytes(held)
            held.clear()
        day = date
        held += encode(record)
    yield f"{day}-77-{number + 1}.jsonl", bytes(held)
