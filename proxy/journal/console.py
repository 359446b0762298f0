"""The line that the proxy prints as each exchange ends, and the same as fields for machines.

One rule: a missing figure is shown as missing (`TTFT -`, `? out`), never as zero and never left away,
and a count that is not the server's own carries a `~`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .timing import client_speed, ttft_ns, turn_speed, whole_turn_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from .record import ErrorKind, Part, Record

    Field = str | int | float | None

_NS_PER_S: Final = 1_000_000_000
_LONGEST_NAME: Final = 60
_PART_NAMES: Final = {"tool_results": "results"}
_ESTIMATES: Final = ("tiktoken", "assumed")
"""How the source of a count begins that is not the server's own."""

_OURS: Final[dict[str, str]] = {
    "shutdown": "stopped here",
    "proxy_killed": "proxy died",
    "proxy_error": "fault of this proxy",
}

_ERRORS: Final[dict[ErrorKind, Callable[[Record], str]]] = {
    "http_error": lambda r: _words(f"http {r.status}", r.error_type),
    "error_event": lambda r: _words("error in the stream", r.error_type),
    "incomplete_stream": lambda _: "cut: no terminal event",
    "upstream_reset": lambda r: _because("upstream broke off", r),
    "upstream_unreachable": lambda r: _because("upstream unreachable", r),
    "upstream_timeout": lambda r: _because("upstream timed out", r),
    "client_disconnect": lambda _: "caller left",
    "proxy": lambda r: _because(_OURS.get(r.outcome, r.outcome), r),
}


def line(record: Record, at: datetime) -> str:
    """The exchange in one line; `at` is its end on the reader's clock."""
    what = _turn(record) if record.kind != "not_generation" else _short(record)
    return "  ".join([_start(record, at), *what, verdict(record)])


def verdict(record: Record) -> str:
    """How it ended: `ok`, or in a few words what went wrong."""
    if record.error_kind is not None:
        return _clean(_ERRORS[record.error_kind](record), 160)
    return "not read to the end" if record.generation == "unknown" else "ok"


def fields(record: Record) -> dict[str, Field]:
    """The same for a structured log: flat, names as in the journal, durations in ns, null if missing."""
    speed = client_speed(record.timings, record.output).value
    return {
        "id": record.id,
        "label": record.label,
        "route": record.route,
        "kind": record.kind,
        "dialect": record.dialect,
        "method": record.request.method,
        "path": record.request.path,
        "model": record.request.model,
        "status": record.status,
        "outcome": record.outcome,
        "generation": record.generation,
        "error_kind": record.error_kind,
        "error_type": record.error_type,
        "error_detail": record.error_detail,
        "input_tokens": record.usage.input,
        "input_tokens_counted": record.counting.counted,
        "cached_tokens": record.usage.cached,
        **{f"{name}_tokens": tokens for name, tokens, _ in _by_name(record.parts)},
        "output_tokens": record.output.tokens,
        "output_tokens_source": record.output.source,
        "ttft_ns": ttft_ns(record.timings),
        "end_ns": record.timings.end_ns,
        "client_tokens_per_s": None if speed is None else round(speed, 1),
    }


def _start(record: Record, at: datetime) -> str:
    where = _clean(record.label or record.route)
    return f"{at:%H:%M:%S} {where}"


def _short(record: Record) -> list[str]:
    """A request that asked no model for output: what it was, and how long it took."""
    asked = _words(record.request.method or "?", record.request.path)
    status = "-" if record.status is None else str(record.status)
    return [_clean(f"{asked} {status}"), _seconds(record.timings.end_ns)]


def _turn(record: Record) -> list[str]:
    ttft = ttft_ns(record.timings)
    return [
        _clean(record.request.model or record.model_served or "?"),
        _prompt(record),
        f"TTFT {'-' if ttft is None else _seconds(ttft)}",
        _answer(record),
    ]


def _prompt(record: Record) -> str:
    parts = _by_name(record.parts)
    said = "  ".join(f"{_PART_NAMES.get(name, name)} {_count(n, est)}" for name, n, est in parts)
    return f"{_total(record)} in ({said})" if said else f"{_total(record)} in"


def _total(record: Record) -> str:
    if record.usage.input is not None:
        return _count(record.usage.input, estimated=False)
    counts = [p.tokens for p in record.parts if p.tokens is not None]
    return _count(sum(counts) if counts else None, estimated=True)


def _answer(record: Record) -> str:
    """Tokens, the time they took, the speed as chat clients show it; of the whole turn if not streamed."""
    timings, output = record.timings, record.output
    out = f"{_count(output.tokens, output.source.startswith(_ESTIMATES))} out"
    if timings.first_token_ns is not None:
        took = _seconds(timings.end_ns - timings.first_token_ns)
        return f"{out} in {took}{_speed(client_speed(timings, output).value)}"
    whole = whole_turn_ns(timings)
    if whole is None or output.tokens is None:
        return out
    return f"{out}, whole turn {_seconds(whole)}{_speed(turn_speed(timings, output).value)}"


def _speed(tokens_per_s: float | None) -> str:
    return "" if tokens_per_s is None else f", {tokens_per_s:.1f} tok/s"


def _by_name(parts: Iterable[Part]) -> list[tuple[str, int | None, bool]]:
    """Name, tokens over all roles, whether they are estimated; null only if no role was counted."""
    sums: dict[str, tuple[int | None, bool]] = {}
    for part in parts:
        tokens, estimated = sums.get(part.part, (None, False))
        if part.tokens is not None:
            tokens = (tokens or 0) + part.tokens
        sums[part.part] = (tokens, estimated or part.source.startswith(_ESTIMATES))
    return [(name, tokens, estimated) for name, (tokens, estimated) in sums.items()]


def _count(tokens: int | None, estimated: bool) -> str:  # noqa: FBT001 - the mark is the point
    if tokens is None:
        return "?"
    return f"~{tokens:,}" if estimated else f"{tokens:,}"


def _seconds(ns: int) -> str:
    """Three digits that matter: 0.02 s, 6.08 s, 10.0 s, 128 s."""
    seconds = ns / _NS_PER_S
    digits = 2 if seconds < 9.995 else 1 if seconds < 99.95 else 0
    return f"{seconds:.{digits}f} s"


def _because(what: str, record: Record) -> str:
    return f"{what}: {record.error_detail}" if record.error_detail else what


def _words(*words: str | None) -> str:
    return " ".join(word for word in words if word)


def _clean(text: str, longest: int = _LONGEST_NAME) -> str:
    """Others' text on an operator's terminal: no control characters, no endless names."""
    shown = "".join(c if c.isprintable() else "?" for c in text)
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."
