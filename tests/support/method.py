"""A journal that holds the field report's turns: the median one is exactly the one that was written down.

One rule: the turn in the middle has the report's figures and no other. What the report does not say is
invented, and marked as invented where it stands: the turns around it, how the tools share their tokens,
and the client's small requests for itself.
"""

from __future__ import annotations

import msgspec

from analysis.store.base import Journal
from proxy.journal.lines import encode
from proxy.journal.record import Record, Request, ToolEntry, Tools, ToolSet, UsageReport
from tests.support.builders import (
    AT_UNIX_NS,
    COUNTED,
    MS,
    S,
    output,
    part,
    parts,
    record,
    timings,
)

RUN = "20260921T120000-7"

SYSTEM, TOOLS, QUESTION_AND_HISTORY = 1_509, 6_603, 1_347
IN_FRONT = 8_112
PROMPT = 9_459
TTFT_NS, DECODE_NS, WHOLE_NS = 6_084 * MS, 10_003 * MS, 16_087 * MS
ANSWER = 377

QUESTION = 37
"""Invented: of the 1,347 tokens of question and history, those of the question."""

AROUND = 15
"""Turns on each side of the one in the middle: those before are shorter in every respect, those behind
longer, so that it is the median of every figure. Invented, all of them."""

USED = [
    ToolEntry(name="search_notes", tokens=285),
    *(ToolEntry(name=f"notes_{n}", tokens=200) for n in range(6)),
]
"""The 7 of 31 that are called. Invented: names and tokens."""

UNUSED = [
    ToolEntry(name="browser_snapshot", tokens=911, server="playwright"),
    ToolEntry(name="browser_fill_form", tokens=642, server="playwright"),
    *(ToolEntry(name=f"browser_{n:02}", tokens=162, server="playwright") for n in range(21)),
    ToolEntry(name="browser_close", tokens=163, server="playwright"),
]
"""The 24 of 31 that never are. Invented: names, and that they have 5,118 tokens."""

TOOL_SET = ToolSet(set_hash="3131313131313131", source=COUNTED, tools=[*UNUSED, *USED])


def method() -> Journal:
    """31 turns of one chat, the report's own in the middle, and small requests that stood in no one's way."""
    turns = [turn(k) for k in range(-AROUND, AROUND + 1)]
    # What a title or tags request costs is invented: it gives the fit prompts of another length.
    small = [_small(n, 180 + 14 * n) for n in range(12)]
    in_order = sorted([*turns, *small], key=lambda r: r.at_unix_ns)
    numbered = (msgspec.structs.replace(r, id=f"{RUN}-{n}") for n, r in enumerate(in_order, 1))
    return Journal(records=tuple(numbered), tool_sets={TOOL_SET.set_hash: TOOL_SET})


def turn(k: int) -> Record:
    """The k-th turn from the middle; 0 is the report's own."""
    history = round((QUESTION_AND_HISTORY - QUESTION) * 1.15**k)
    prompt = IN_FRONT + history + QUESTION
    # A token costs what it cost in the report's turn; the noise, up to 4 %, is invented. It grows with
    # the distance from the middle, so that it changes no turn's side.
    noise = 0.04 * abs(k) / AROUND * ((k * 7919) % 41 - 20) / 20
    ttft_ns = round(prompt * TTFT_NS / PROMPT * (1 + noise))
    decode_ns = round(DECODE_NS * (1 + (0.012 if k > 0 else 0.002) * k))
    tokens = ANSWER + (2 * k if k > 0 else -k)
    called = USED[k % len(USED)].name
    u0 = 2 * MS
    end = u0 + ttft_ns + decode_ns
    return record(
        id=f"{RUN}-{AROUND + 1 + k}",
        at_unix_ns=AT_UNIX_NS + k * 120 * S,
        client="Open WebUI",
        parts=parts(tools=TOOLS, system=SYSTEM, history=history, question=QUESTION),
        tools=Tools(set_hash=TOOL_SET.set_hash, count=31, tokens=TOOLS, called=[called]),
        timings=timings(
            first_event_ns=u0 + ttft_ns - MS,
            first_token_ns=u0 + ttft_ns,
            first_visible_text_ns=u0 + ttft_ns,
            last_token_ns=end - MS,
            terminal_event_ns=end - MS,
            end_ns=end,
        ),
        output=output(tokens=tokens, tokens_per_event=(tokens - 1) / 198, content_kind="prose"),
        usage=UsageReport(input=prompt, output=tokens, cached=0),
        counting=msgspec.structs.replace(record().counting, counted=prompt, billed=prompt),
    )


def _small(number: int, tokens: int) -> Record:
    """A request of the client for itself, long after a turn."""
    u0 = 2 * MS
    first = u0 + tokens * TTFT_NS // PROMPT + (20 + number * 7 % 12) * MS
    return record(
        id=f"{RUN}-{2 * AROUND + 2 + number}",
        at_unix_ns=AT_UNIX_NS + (number * 120 + 60) * S,
        kind="hidden",
        client="Open WebUI",
        request=Request(
            method="POST", path="/v1/chat/completions", model="qwen-27b-int8", stream=True
        ),
        parts=[part("question", tokens)],
        tools=None,
        timings=timings(
            response_head_ns=u0 + MS,
            first_byte_ns=u0 + MS,
            first_event_ns=first,
            first_token_ns=first,
            first_visible_text_ns=first,
            last_token_ns=first + 400 * MS,
            terminal_event_ns=first + 400 * MS,
            end_ns=first + 401 * MS,
        ),
        output=output(tokens=15, events=15, tokens_per_event=1.0),
        usage=UsageReport(input=tokens, output=15, cached=0),
        counting=msgspec.structs.replace(record().counting, counted=tokens, billed=tokens),
    )


def write(folder, journal):
    """The journal as the files of a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "2026-09-21-7-1.jsonl").write_bytes(b"".join(map(encode, journal.records)))
    for tools in journal.tool_sets.values():
        (folder / f"tools-{tools.set_hash}.json").write_bytes(encode(tools))
    for n, sample in enumerate(journal.gauges):
        with (folder / "gauge-2026-09-21-7-1.jsonl").open("ab" if n else "wb") as file:
            file.write(encode(sample))
    return folder
