"""The prompt of one exchange, by part: tokens, and those of them that had to be read anew.

One rule: cached tokens are the front of the prompt. A prefix cache can hold nothing else, so the
uncached ones are counted from the back. What the back is, every template agrees on: the conversation.
Whether tools or system stand first is the template's own affair, so those two share what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from .source import REPORTED, Source

if TYPE_CHECKING:
    from analysis.store.recorded import Record

PartName = Literal[
    "tools", "system", "history", "tool_results", "question", "media", "template", "unexplained"
]
"""The record's own names, and `unexplained`: tokens of the bill that are in no counted part."""

IN_FRONT: Final[tuple[PartName, ...]] = ("tools", "system")
"""What a client puts before the conversation, turn after turn. Which of the two stands first differs:
ChatML and Llama write the tools into the system message, Mistral before it."""

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
    shared: bool = False
    """True: `uncached` is its share, by tokens, of what tools and system have together, because nobody
    but the template knows which of them stands first."""
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
    unexplained: PartTokens | None = None
    """What the bill has beyond the counted parts; None if nothing, or without a bill. Its place is not
    known: of the uncached tokens it has those that fit into no part."""

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
    front = sum(read.get(name, 0) for name in IN_FRONT)
    reaches = 0 < sum(uncached.get(name, 0) for name in IN_FRONT) < front
    shared = reaches and all(read.get(name) for name in IN_FRONT)
    parts = (
        PartTokens(
            name,
            sums[name],
            uncached.get(name, 0),
            _source(sources[name]),
            shared=shared and name in IN_FRONT,
            read=name in read,
        )
        for name in sorted(sums, key=lambda name: name == "template")
    )
    return Prompt(tuple(parts), cached_tokens(record), _unexplained(record, read, uncached))


class Prompts:
    """Each prompt taken apart once, for as long as a report is made. Records stay as they are meanwhile."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Record, Prompt | None]] = {}

    def of(self, record: Record) -> Prompt | None:
        """As `prompt`."""
        known = self._known.get(id(record))
        if known is None:
            # The record is kept beside it, so that its id stays its own.
            known = self._known[id(record)] = (record, prompt(record))
        return known[1]


def _unexplained(
    record: Record, read: dict[PartName, int], uncached: dict[PartName, int]
) -> PartTokens | None:
    """What the bill has more than the parts; None if nothing, or if nobody billed."""
    billed = input_tokens(record)
    if billed is None or billed.source != REPORTED:
        return None
    tokens = billed.tokens - sum(read.values())
    if tokens <= 0:
        return None
    anew = (uncached_tokens(record) or 0) - sum(uncached.values())
    source = Source("estimated", "as usage minus parts")
    return PartTokens("unexplained", tokens, min(max(0, anew), tokens), source)


def _uncached(sums: dict[PartName, int], left: int | None) -> dict[PartName, int]:
    """`left` uncached tokens, laid on the parts from the back: the conversation, then the front.

    The template's own tokens stand around the messages, the last of them at the very end: they have
    their share of what is uncached behind the front. Tools and system share what reaches them by
    tokens. The parts may add up to less than the bill (it is another tokenizer's); what does not fit
    is in none of them.
    """
    front = sum(sums.get(name, 0) for name in IN_FRONT)
    behind = sum(sums.values()) - front
    left = front + behind if left is None else min(left, front + behind)
    uncached: dict[PartName, int] = {}
    if "template" in sums:
        here = min(left, behind)
        uncached["template"] = sums["template"] * here // behind if behind else 0
        left -= uncached["template"]
    for part in reversed(sums):
        if part not in IN_FRONT and part != "template":
            uncached[part] = min(left, sums[part])
            left -= uncached[part]
    for part in IN_FRONT:
        if part in sums:
            uncached[part] = left * sums[part] // front if front else 0
            left -= uncached[part]
            front -= sums[part]
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
