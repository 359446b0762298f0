"""Journals that the report is tested on, as values: each has a truth that is known beforehand.

One rule: figures are the field report's, or what the demo's real server gave; the others say so.
"""

from __future__ import annotations

import msgspec

from analysis.store.base import Gap, Journal, Unreadable
from proxy.journal.record import (
    Counting,
    Loss,
    Output,
    Record,
    Request,
    Timings,
    ToolEntry,
    Tools,
    ToolSet,
    UsageReport,
)
from tests.support.builders import AT_UNIX_NS, COUNTED, MS, S, output, part, parts, record, timings

SCALED = f"{COUNTED}, scaled to usage"
ASSUMED = "assumed: 4 a message"

FIELD_TOOLS = ToolSet(
    set_hash="0123456789abcdef",
    source=COUNTED,
    tools=[
        ToolEntry(name="browser_snapshot", tokens=911, server="playwright"),
        ToolEntry(name="browser_fill_form", tokens=642, server="playwright"),
        *(ToolEntry(name=f"browser_{n:02}", tokens=180, server="playwright") for n in range(20)),
        *(ToolEntry(name=f"notes_{n}", tokens=161) for n in range(8)),
        ToolEntry(name="clock", tokens=162),
    ],
)
"""31 tools of 6,603 tokens, as in the field report; how they share them is invented."""

DEMO_TOOLS = ToolSet(
    set_hash="fedcba9876543210",
    source=COUNTED,
    tools=[ToolEntry(name=f"tool_{n}", tokens=134 - n) for n in range(9)],
)


def field_report() -> Journal:
    """METHOD's turn: 8,112 tokens in front, 24 of 31 tools never called, no server figures."""
    called = ["browser_snapshot", *(f"browser_{n:02}" for n in range(6)), "browser_00"]
    tools = Tools(set_hash=FIELD_TOOLS.set_hash, count=31, tokens=6603, called=called)
    return Journal(records=(record(tools=tools),), tool_sets={FIELD_TOOLS.set_hash: FIELD_TOOLS})


def demo() -> Journal:
    """A question bare, with 9 tools, and the next with the tools cached: llama.cpp's own figures."""
    bare = _demo(1, prompt=(31, 0), ttft_ms=220, answer=(64, 960))
    cold = _demo(2, prompt=(1256, 9), ttft_ms=9390, answer=(60, 2400))
    warm = _demo(3, prompt=(1251, 1239), ttft_ms=180, answer=(42, 1430))
    return Journal(records=(bare, cold, warm), tool_sets={DEMO_TOOLS.set_hash: DEMO_TOOLS})


def _demo(number: int, prompt: tuple[int, int], ttft_ms: int, answer: tuple[int, int]) -> Record:
    tokens, cached = prompt
    generated, decode_ms = answer
    tools = 1225 if tokens > 1000 else 0
    u0 = MS
    end = u0 + (ttft_ms + decode_ms + 1) * MS
    question = part("question", tokens - tools - 7, source=SCALED)
    return record(
        id=f"demo-{number}",
        at_unix_ns=AT_UNIX_NS + number * 15 * S,
        label="",
        client="OpenAI/Python 3.57.0",
        request=Request(method="POST", path="/v1/chat/completions", model="smollm2", stream=True),
        model_served="SmolLM2-135M-Instruct",
        parts=[
            *([part("tools", tools, source=SCALED)] if tools else []),
            question,
            part("template", 7, source=ASSUMED),
        ],
        tools=Tools(set_hash=DEMO_TOOLS.set_hash, count=9, tokens=tools) if tools else None,
        timings=timings(
            request_end_ns=u0,
            upstream_sent_ns=u0 + 100_000,
            first_event_ns=u0 + ttft_ms * MS - 200_000,
            first_token_ns=u0 + ttft_ms * MS,
            first_visible_text_ns=u0 + ttft_ms * MS,
            last_token_ns=u0 + (ttft_ms + decode_ms) * MS,
            terminal_event_ns=end,
            end_ns=end,
        ),
        output=output(tokens=generated, events=generated, tokens_per_event=1.0),
        usage=UsageReport(input=tokens, output=generated, cached=cached),
        counting=Counting(tokenizer=COUNTED, counted=tokens - 20, billed=tokens, residual=20),
        reported={
            "cache_n": cached,
            "prompt_n": tokens - cached,
            "prompt_ms": ttft_ms - 12.5,
            "predicted_n": generated,
            "predicted_ms": float(decode_ms),
        },
    )


def without_usage() -> Journal:
    """One short exchange whose server billed nothing: every count is a local tokenizer's."""
    turn = record(
        id="r1-1",
        parts=[*parts(system=30, question=25), part("template", 11, source=ASSUMED)],
        tools=None,
        output=output(source=COUNTED),
        usage=UsageReport(),
        counting=Counting(tokenizer=COUNTED, counted=55),
    )
    return Journal(records=(turn,))


def only_errors() -> Journal:
    """A refused request, an upstream that is not there, a caller that left while it waited."""
    gone = {"first_token_ns": None, "first_visible_text_ns": None, "last_token_ns": None}
    failed = record(
        timings=timings(**gone, end_ns=40 * MS),
        output=Output(),
        usage=UsageReport(),
        generation="none",
    )
    refused = msgspec.structs.replace(
        failed, id="r1-1", status=400, error_kind="http_error", error_type="invalid_request_error"
    )
    unreachable = msgspec.structs.replace(
        failed,
        id="r1-2",
        at_unix_ns=AT_UNIX_NS + 2 * S,
        timings=Timings(request_head_ns=MS, request_end_ns=MS, end_ns=3 * MS),
        status=None,
        model_served=None,
        outcome="upstream_unreachable",
        error_kind="upstream_unreachable",
        error_detail="Connection refused",
    )
    left = msgspec.structs.replace(
        failed,
        id="r1-3",
        at_unix_ns=AT_UNIX_NS + 4 * S,
        timings=timings(**gone, end_ns=30 * S),
        generation="incomplete",
        outcome="client_gone",
        error_kind="client_disconnect",
    )
    return Journal(records=(refused, unreachable, left))


def damaged() -> Journal:
    """METHOD's turn beside lines that cannot be read, losses and numbers without a record."""
    return Journal(
        records=field_report().records,
        losses=(Loss(at_unix_ns=AT_UNIX_NS, ids=["r1-2", "r1-3"], why="recorder died"),),
        gaps=(Gap("r1", 4, 6),),
        unreadable=(
            Unreadable("2026-09-21-1-1.jsonl", 2, "Input data was truncated"),
            Unreadable("tools-0123456789abcdef.json", None, "Permission denied"),
        ),
    )
