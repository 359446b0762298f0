"""A request in slices: what to ask a server's own tokenizer for, to know each part by difference.

One rule: what a slice leaves out is nowhere in its body, and what is asked with each is the same. A slice
ends in a stub, because templates want a user message at the end: some raise without one, and llama.cpp
takes an assistant's as the beginning of the answer. A dialect says what is where; no vendor is named here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .fields import JsonObject

STUB: Final = "x"
"""The stub's text: one token for all tokenizers that are in use."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of a prompt."""

    tools: bool = False
    system: Literal["none", "stub", "sent"] = "none"
    """The system field and the system messages in front: left out, a stub in their place, or as sent."""
    until: int | None = 0
    """Of the messages behind those in front the ones before this number; None: all."""
    stub: bool = True
    """A short user message at the end."""


WHOLE: Final = Slice(tools=True, system="sent", until=None, stub=False)


@dataclass(frozen=True, slots=True)
class Slices:
    """A request that can be put together without some of it."""

    endpoints: tuple[str, ...]
    """Paths that may count such a body, in the order in which to try them; empty: none."""
    name: str
    """The field of the messages."""
    messages: list[JsonObject]
    question: range
    """The messages of the current question; empty where the user said nothing."""
    front: int = 0
    """System messages in front of all others."""
    asked: JsonObject = field(default_factory=dict)
    """Fields that go with each slice: the model, and what else a template may look at."""
    tools: JsonObject = field(default_factory=dict)
    """Fields that offer tools; empty: none are offered."""
    system: JsonObject = field(default_factory=dict)
    """Fields with system text; empty: there is none beside the messages."""
    media: bool = False
    """Whether media were left out of the messages."""

    @property
    def has_system(self) -> bool:
        """Whether there is system text in front, in a field or in messages."""
        return bool(self.system) or self.front > 0

    def body(self, wanted: Slice) -> JsonObject:
        """The request for a slice."""
        field, front = self._system(wanted.system)
        rest = self.messages[self.front : wanted.until]
        stub = [{"role": "user", "content": STUB}] if wanted.stub else []
        tools = self.tools if wanted.tools else {}
        return {**self.asked, **tools, **field, self.name: [*front, *rest, *stub]}

    def _system(
        self, wanted: Literal["none", "stub", "sent"]
    ) -> tuple[JsonObject, list[JsonObject]]:
        if wanted == "sent":
            return self.system, self.messages[: self.front]
        if wanted == "none":
            return {}, []
        if self.system:
            return dict.fromkeys(self.system, STUB), []
        role = self.messages[0].get("role") if self.front else None
        return {}, [{"role": role or "system", "content": STUB}]


def chosen(value: JsonObject, names: Iterable[str]) -> JsonObject:
    """The fields of these names that say something."""
    return {name: value[name] for name in names if value.get(name) not in (None, "", [], {})}


def leading(roles: Iterable[str], wanted: Iterable[str]) -> int:
    """How many in front have one of the wanted roles."""
    known = frozenset(wanted)
    count = 0
    for role in roles:
        if role not in known:
            break
        count += 1
    return count


def behind(front: int, turn: range) -> range:
    """The question's messages without those in front, which a question may begin with."""
    return range(max(front, turn.start), max(front, turn.stop))
