"""The prompt of one exchange, by part: tokens, and those of them that had to be read anew.

One rule: cached tokens are the front of the prompt. A prefix cache can hold nothing else, so the
uncached ones are counted from the back, through the parts in the order in which templates render them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from .source import REPORTED, Source

if TYPE_CHECKING:
    from analysis.store.recorded import Record

PartName = Literal["tools", "system", "history", "tool_results", "question", "media", "template"]

IN_FRONT: Final[tuple[PartName, ...]] = ("tools", "system")
"""What a client puts before the conversation, turn after turn."""


DROPPED: Final = "not in the bill"
"""How the source of a part ends that the client sent and the server's template left out."""


@dataclass(frozen=True, slots=True)
class PartTokens:
    """Tokens of one part of one prompt."""

    part: PartName
    tokens: int
    uncached: int
    """Of these, tokens that the server had to read: not from a cache, and in its prompt at all."""
    source: Source
    read: bool = True
    """False: the client sent the part, and the bill shows that the server's template dropped it."""

    @property
    def billed(self) -> int:
        """Tokens that the server reads when nothing is cached."""
        return self.tokens if self.read else 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt whose parts were counted, all or some."""

    parts: tuple[PartTokens, ...]
    """In template order, one for each part that was there and counted; `template` last."""
    cached: int | None
    """Tokens from a cache, as the server said; None: it did not say, none were assumed."""

    @property
    def tokens(self) -> int:
        """Tokens of all counted parts that the server read."""
        return sum(p.billed for p in self.parts)

    @property
    def uncached(self) -> int:
        """Tokens of all counted parts that had to be read anew."""
        return sum(p.uncached for p in self.parts)

    def part(self, name: PartName) -> PartTokens | None:
        """The part of this name; None if the prompt had none or it was not counted."""
        return next((p for p in self.parts if p.part == name), None)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of tokens, and who counted."""

    tokens: int
    source: Source


def input_tokens(record: Record) -> Count | None:
    """The whole prompt, cached tokens included: as billed, else as counted; None if neither."""
    if record.usage.input is not None:
        return Count(record.usage.input, REPORTED)
    read, cached = record.reported.get("prompt_n"), record.reported.get("cache_n")
    if isinstance(read, int) and isinstance(cached, int):
        return Count(read + cached, REPORTED)
    parts = [part for part in record.parts if part.tokens is not None and not _dropped(part.source)]
    if not parts:
        return None
    return Count(sum(part.tokens or 0 for part in parts), _source(parts[0].source))


def cached_tokens(record: Record) -> int | None:
    """Prompt tokens from a cache, as the server said; None when it did not say."""
    if record.usage.cached is not None:
        return record.usage.cached
    cached = record.reported.get("cache_n")
    return cached if isinstance(cached, int) else None


def uncached_tokens(record: Record) -> int | None:
    """Prompt tokens that had to be read anew; all of them where the cache is not spoken of."""
    count = input_tokens(record)
    if count is None:
        return None
    return max(0, count.tokens - (cached_tokens(record) or 0))


def prompt(record: Record) -> Prompt | None:
    """The prompt by part; None when no part was counted."""
    sums: dict[PartName, int] = {}
    sources: dict[PartName, str] = {}
    for part in record.parts:
        if part.tokens is not None:
            sums[part.part] = sums.get(part.part, 0) + max(0, part.tokens)
            sources.setdefault(part.part, part.source)
    if not sums:
        return None
    read = {name: n for name, n in sums.items() if not _dropped(sources[name])}
    uncached = _uncached(read, uncached_tokens(record))
    order = sorted(sums, key=lambda name: name == "template")
    parts = (
        PartTokens(name, sums[name], uncached.get(name, 0), _source(sources[name]), name in read)
        for name in order
    )
    return Prompt(tuple(parts), cached_tokens(record))


def _uncached(sums: dict[PartName, int], left: int | None) -> dict[PartName, int]:
    """`left` uncached tokens, laid on the parts from the back.

    The template's own tokens stand around every message, not behind the last: they have their share
    of what is uncached and no place of their own. The parts may add up to less than the bill (it is
    another tokenizer's), so what does not fit is dropped here and stays in the record's residual.
    """
    whole = sum(sums.values())
    left = whole if left is None else min(left, whole)
    template = sums.get("template", 0)
    uncached: dict[PartName, int] = {"template": template * left // whole if whole else 0}
    left -= uncached["template"]
    for part in reversed(sums):
        if part != "template":
            uncached[part] = min(left, sums[part])
            left -= uncached[part]
    return uncached


def _dropped(source: str) -> bool:
    return source.endswith(DROPPED)


def _source(text: str) -> Source:
    """The record's own words about a part's count."""
    if text.startswith("assumed: "):
        return Source("assumed", text.removeprefix("assumed: "))
    if text.startswith("usage"):
        return Source("estimated", f"as {text}")
    return Source("counted", f"by {text}")
