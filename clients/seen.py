"""What a client's turn was like, read from its two journals.

One rule: tokens here are as tiktoken counted them, o200k_base, before anything was scaled to a bill:
so were the known figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from proxy.journal.lines import read_lines
from proxy.journal.record import Record

from .turn import COUNTED, EXACT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Kind = Literal["turn", "hidden"]

_USER: Final = frozenset({"history", "tool_results", "question"})


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for output."""

    kind: Kind
    dialect: str
    system: int
    tools: int
    """How many were offered."""
    tools_tokens: int
    user: int
    """History, tool results and question."""
    billed: int | None
    """The server's number for the whole prompt; None: it gave none."""


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a client sent for one turn."""

    asked: tuple[Asked, ...]
    others: tuple[str, ...]
    """Method and path of each exchange that asked for no output."""
    faults: tuple[str, ...]
    """What is wrong whatever is expected: prompts that do not add up, recorders that disagree."""
    notes: tuple[str, ...]


def seen(folder: Path) -> Seen:
    """Read what is below a client's folder."""
    exact, counted = _records(folder / EXACT), _records(folder / COUNTED)
    return Seen(
        asked=tuple(_asked(record) for record in counted if record.kind != "not_generation"),
        others=tuple(
            f"{record.request.method} {record.request.path}"
            for record in counted
            if record.kind == "not_generation"
        ),
        faults=(*_faults(exact), *_disagreements(exact, counted)),
        notes=tuple(dict.fromkeys(note for record in exact for note in record.notes)),
    )


def _records(journal: Path) -> list[Record]:
    """All of a journal, in the order in which the exchanges began."""
    segments = sorted(path for path in journal.glob("*.jsonl") if path.name[0].isdigit())
    lines = [line for path in segments for line in read_lines([path.read_bytes()])]
    return sorted(
        (line for line in lines if isinstance(line, Record)), key=lambda record: record.at_unix_ns
    )


def _asked(record: Record) -> Asked:
    tokens = {"system": 0.0, "tools": 0.0, "user": 0.0}
    for part in record.parts:
        name = "user" if part.part in _USER else part.part
        if name in tokens and part.tokens is not None:
            tokens[name] += part.tokens / (record.counting.scale or 1)
    return Asked(
        kind="hidden" if record.kind == "hidden" else "turn",
        dialect=record.dialect,
        system=round(tokens["system"]),
        tools=record.tools.count if record.tools else 0,
        tools_tokens=round(tokens["tools"]),
        user=round(tokens["user"]),
        billed=record.usage.input,
    )


def _faults(records: Sequence[Record]) -> list[str]:
    faults = []
    for record in records:
        where = f"{record.request.method} {record.request.path}"
        if record.outcome != "complete" or record.error_kind is not None:
            faults.append(f"{where} ended as {record.outcome}, {record.error_kind}")
        faults += [f"{where}: {note}" for note in record.notes if note.startswith("reading_failed")]
        parts = sum(part.tokens or 0 for part in record.parts)
        if record.parts and record.usage.input not in {None, parts}:
            faults.append(f"{where}: parts of {parts} tokens, billed {record.usage.input}")
    return faults


def _disagreements(one: Sequence[Record], other: Sequence[Record]) -> list[str]:
    """Fields that do not depend on who counted."""

    def facts(record: Record) -> dict[str, object]:
        tools = record.tools
        return {
            "kind": record.kind,
            "dialect": record.dialect,
            "method": record.request.method,
            "path": record.request.path,
            "bytes": record.reply_bytes,
            "tools": tools and (tools.count, tools.set_hash),
            "usage": record.usage,
            "events": record.output.events,
            "outcome": record.outcome,
            "generation": record.generation,
        }

    if len(one) != len(other):
        return [f"the recorders have {len(one)} and {len(other)} records"]
    return [
        f"{record.request.path}: {name} is {facts(record)[name]} and {value} to the two recorders"
        for record, twin in zip(one, other, strict=True)
        for name, value in facts(twin).items()
        if facts(record)[name] != value
    ]
