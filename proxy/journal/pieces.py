"""A prompt as a chain of hashes: what is needed to find earlier prompts that begin alike.

One rule: a hash stands for all that is in front of it. So the longest common front of this prompt and
all earlier ones is found by look-ups alone, and no two prompts are ever compared whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from proxy.dialects.base import PartName, PromptPart

FRONT: Final = ("tools", "system")
"""Parts that a client puts in front of the conversation."""

INJECTED: Final = "injected"
"""Role of text that a client put among the user's own words."""

_BYTES: Final = 16
"""Of a hash: with 2**64 pieces the first two of them may share one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a prompt with the hash of what a model reads of it."""

    part: PartName
    role: str
    name: str
    message: int | None
    data: bytes
    """The text in UTF-8: smaller than a string, and its size is known."""
    digest: bytes

    @property
    def own(self) -> bool:
        """True for the conversation: neither in front of it nor put into it by the client."""
        return self.part not in FRONT and self.role != INJECTED

    @property
    def answer(self) -> bool:
        """True for what a model said."""
        return self.role == "assistant"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that is to be compared."""

    exchange: str
    """The id of its record."""
    cache: str
    """Whose cache it may be in: upstream and model. Other prompts are of no use to it."""
    session: str | None
    """The conversation as the client names it; None if it does not."""
    opened_ns: int
    pieces: tuple[Piece, ...]
    keys: tuple[bytes, ...]
    """For each piece the hash of all up to it."""
    talk: tuple[bytes, ...]
    """For each piece of the conversation the hash of the conversation up to it, whatever stands in front."""


def pieces(parts: Iterable[PromptPart]) -> Iterator[Piece]:
    """The parts in order, hashed.

    What a part is for is left out of the hash: the question of this turn is history in the next, and
    the same to a model. So is who marked what: a server sees one message.
    """
    for part in parts:
        data = part.text.encode("utf-8", "surrogatepass")
        role = "user" if part.role == INJECTED else part.role
        kind = f"{part.part == 'tools'}\0{role}\0{part.name}\0".encode("utf-8", "surrogatepass")
        digest = blake2b(kind + data, digest_size=_BYTES).digest()
        yield Piece(part.part, part.role, part.name, part.message, data, digest)


def chain(seed: bytes, digests: Iterable[bytes]) -> tuple[bytes, ...]:
    """For each hash the hash of all up to it."""
    keys = []
    for digest in digests:
        seed = blake2b(seed + digest, digest_size=_BYTES).digest()
        keys.append(seed)
    return tuple(keys)


def prompt(
    parts: Sequence[PromptPart], exchange: str, cache: str, session: str | None, opened_ns: int
) -> Prompt:
    """A prompt from its parts."""
    found = tuple(pieces(part for part in parts if part.part != "template"))
    seed = cache.encode("utf-8", "surrogatepass")
    return Prompt(
        exchange=exchange,
        cache=cache,
        session=session,
        opened_ns=opened_ns,
        pieces=found,
        keys=chain(seed, (piece.digest for piece in found)),
        talk=chain(b"", (piece.digest for piece in found if piece.own)),
    )


def in_common(one: bytes, other: bytes) -> int:
    """How many bytes two texts in UTF-8 have in common at their beginnings, in whole characters."""
    most = min(len(one), len(other))
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    longer = one if len(one) > low else other
    while 0 < low < len(longer) and longer[low] & 0xC0 == 0x80:  # inside of a character
        low -= 1
    return low


def letters(data: bytes) -> int:
    """Characters of a text in UTF-8."""
    return len(data.decode("utf-8", "surrogatepass"))
