"""Prompts as they are remembered, and what a new one has in common with one of them.

One rule: what is shared is told by the texts alone, piece by piece; whose cache it is in is for others
to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from .pieces import in_common, letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .pieces import Piece, Prompt

TEXT_BYTES: Final = 400
"""Of a text, beside its bytes: the object, its hash, its place in the table."""
NODE_BYTES: Final = 400
PROMPT_BYTES: Final = 1_200
LINK_BYTES: Final = 8

NEVER: Final = 2**63
"""A time after all others."""

_COMPARED: Final = 8
"""Prompts whose fronts are equally long in whole pieces, of which the one that shares most letters is
sought: the newest so many."""


class Text:
    """A text that is held once, however many prompts it is in."""

    __slots__ = ("data", "digest", "last", "refs")

    def __init__(self, piece: Piece) -> None:
        self.data = piece.data
        self.digest = piece.digest
        self.refs = 0
        self.last: Seen | None = None
        """The last conversation that a model said this in."""


class Node:
    """A front: a text with all that stands before it."""

    __slots__ = ("answer", "key", "ready_ns", "refs", "text", "tokens")

    def __init__(self, key: bytes, text: Text, *, answer: bool) -> None:
        self.key = key
        self.text = text
        self.answer = answer
        self.refs = 0
        self.ready_ns = NEVER
        """When a server first had read it."""
        self.tokens: float | None = None
        """Of the whole front, by the last prompt that had it."""


@dataclass(frozen=True, slots=True)
class Stay:
    """What a prompt is remembered with once its exchange is over."""

    thread: str | None
    hidden: bool
    tokens: Sequence[float] | None
    """Of each piece; None if not known."""
    ready_ns: int
    """When the server had read it; `NEVER` if it did not."""
    ended_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A prompt that is remembered."""

    exchange: str
    cache: str
    session: str | None
    opened_ns: int
    stay: Stay
    tokens: float | None
    """Of all of it."""
    path: tuple[Node, ...]
    talk: bytes | None
    """The hash of its conversation; None when it has none, or counts for none."""

    @property
    def size(self) -> int:
        """Bytes of its own, its texts aside."""
        return PROMPT_BYTES + LINK_BYTES * len(self.path)


@dataclass(frozen=True, slots=True)
class Shared:
    """What a prompt has in common with an earlier one."""

    seen: Seen
    pieces: int
    """Whole pieces."""
    letters: int
    """Characters of the next one."""
    tokens: float | None
    """None: not counted."""
    all: bool
    """Nothing of the earlier one differs."""


@dataclass(frozen=True, slots=True)
class Match:
    """What was found for a prompt."""

    parent: Shared | None
    """The earlier prompt that it goes on from, or else the one that shares most."""
    best: Shared | None
    """The one in the same cache that shares most; None if none shares anything."""
    kin: Seen | None
    """The last one of the same conversation."""


def longest(candidates: Iterable[Seen], prompt: Prompt, depth: int) -> Shared | None:
    """The newest of those that share most; None if none shares anything.

    All of them share `depth` pieces.
    """
    found = [shared(seen, prompt, depth) for seen in islice(candidates, _COMPARED)]
    most = max(found, key=lambda s: (s.pieces, s.letters), default=None)
    return most if most and (most.pieces or most.letters) else None


def shared(seen: Seen, prompt: Prompt, depth: int) -> Shared:
    """What a prompt has in common with one that is remembered; `depth` pieces are known to be the same."""
    count = depth
    for node, piece in zip(seen.path[depth:], prompt.pieces[depth:], strict=False):
        if node.text.digest != piece.digest:
            break
        count += 1
    if count == len(seen.path):
        return Shared(seen, count, 0, seen.tokens, all=True)
    tokens = seen.path[count - 1].tokens if count else 0.0
    if count == len(prompt.pieces):
        return Shared(seen, count, 0, tokens, all=False)
    node, piece = seen.path[count], prompt.pieces[count]
    size = in_common(node.text.data, piece.data)
    if tokens is not None and node.tokens is not None and size:
        tokens += max(0.0, node.tokens - tokens) * size / len(node.text.data)
    return Shared(seen, count, letters(piece.data[:size]), tokens, all=False)
