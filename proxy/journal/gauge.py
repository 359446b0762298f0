"""The line of a gauge file: what a server said of itself at one moment, one `GaugeSample` a line.

One rule: the server's words, not ours. Counters are its own running totals, so that a line that is lost
costs nothing but its moment; a reader takes differences and starts anew where `reset` says so.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from .record import Int  # noqa: TC001  msgspec reads annotations of this file

VERSION: Final = 1

Engine = Literal["vllm", "sglang", "llamacpp", "tensorrt_llm", "tgi"]


class GaugeSample(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a server about itself, or the line that says why there is none."""

    v: Int = VERSION
    at_unix_ns: Int
    """Wall time at which the question was sent."""
    took_ns: Int
    """Question sent to the last byte of the answer: the figures are of some moment in between."""
    upstream: str
    """Scheme and authority, as in a record."""
    engine: Engine | None = None
    """Whose names were found; null: there is no answer."""
    problem: str | None = None
    """Null: the figures below were read."""
    dropped: Int = 0
    """Questions since the line before that gave nothing, this one not counted."""
    in_flight: Int
    """Exchanges with that upstream through this proxy when the question was sent: a gauge that stands
    still at something else is stale, or has other callers."""
    reset: bool | None = None
    """True: some counter fell, vanished or its server was started anew since the sample before. Null: no
    sample came before in this recorder's life."""
    running: Int | None = None
    waiting: Int | None = None
    kv_usage: float | None = None
    prompt_tokens: Int | None = None
    generation_tokens: Int | None = None
    cache_queries: Int | None = None
    cache_hits: Int | None = None
    drafts: Int | None = None
    drafted: Int | None = None
    accepted: Int | None = None
    preemptions: Int | None = None
