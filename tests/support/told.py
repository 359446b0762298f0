"""What a record says, in the neutral words of `tests/cases/README.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from proxy.journal.record import ToolSet
from proxy.journal.timing import ttfa_ns, ttft_ns
from tests.support.cases import holds

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.journal.record import Record

_KINDS = {"client_disconnect", "http_error", "error_event", "incomplete_stream"}
_PARTS = {
    "system": ("system",),
    "tools": ("tools",),
    "tool_results": ("tool_results",),
    "user": ("question",),
}


def told(record: Record, folder: Path) -> dict[str, Any]:
    """All keys of the record table that ours can answer."""
    timings, output = record.timings, record.output
    first, last = timings.first_token_ns, timings.last_token_ns
    window_ns = last - first if first is not None and last is not None else None
    speed = output.tokens / (window_ns / 1e9) if output.tokens and window_ns else None
    return {
        "status": record.status,
        "stream": record.request.stream,
        "complete": record.outcome == "complete" and record.generation == "complete",
        "error_kind": record.error_kind,
        "error_type_if_stored": record.error_type,
        "ttft_ms": _ms(ttft_ns(timings)),
        "first_visible_text_ms_if_stored": _ms(ttfa_ns(timings)),
        "duration_ms": _ms(timings.end_ns - (timings.request_end_ns or 0)),
        "decode_window_ms": _ms(window_ns),
        "decode_tokens_per_s": speed,
        "input_tokens": record.usage.input,
        "output_tokens": output.tokens,
        "reasoning_tokens": record.usage.reasoning,
        "cached_input_tokens": record.usage.cached,
        "output_tokens_source": output.source,
        "finish_reason": output.finish_reason,
        "image_parts": _pieces(record, "image"),
        "audio_parts": _pieces(record, "audio"),
        "tools": _tools(record, folder),
        "segments": {name: _tokens(record, parts) for name, parts in _PARTS.items()},
    }


def wrong(record: Record, folder: Path, expect: dict[str, Any]) -> list[str]:
    """Which expectations of a case's `record` do not hold, in words."""
    said, faults = told(record, folder), []
    for key, want in expect.items():
        if key == "tool_names":
            fine = _names_fit(said["tools"], want)
        elif key == "segments":
            fine = all(holds(said["segments"][part], limits) for part, limits in want.items())
        elif key not in said:
            fine = key.endswith("_if_stored")
        else:
            fine = holds(said[key], want)
        if not fine:
            shown = said["tools"] if key == "tool_names" else said.get(key)
            faults.append(f"record.{key}: wanted {want!r}, said {shown!r}")
    return faults


def _ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / 1e6


def _tokens(record: Record, parts: tuple[str, ...]) -> int | None:
    counts = [part.tokens for part in record.parts if part.part in parts]
    return sum(count or 0 for count in counts) if counts else None


def _pieces(record: Record, kind: str) -> int:
    return sum(part.count for part in record.parts if part.part == "media" and part.role == kind)


def _tools(record: Record, folder: Path) -> list[str]:
    if record.tools is None:
        return []
    path = folder / f"tools-{record.tools.set_hash}.json"
    return [tool.name for tool in msgspec.json.decode(path.read_bytes(), type=ToolSet).tools]


def _names_fit(names: list[str], want: list[list[str]]) -> bool:
    if not want:
        return not names
    return all(any(name in spellings for name in names) for spellings in want)
