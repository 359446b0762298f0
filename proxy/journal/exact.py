"""What a prompt is made of to the token: by difference on the server's own tokenizer and template.

One rule: a number of the server's is shared among parts only where no question could tell them apart,
and then says so. A part is what the prompt would be shorter by without it, the marks around its messages
included; the template is what an empty chat has: its beginning, the marks of one user message, the opener
of the answer.

Tools and system are asked for in front of a stub, not in front of the conversation: so their numbers stay
known from turn to turn, and a new turn costs two questions. Road not taken: the whole prompt without tools,
which is asked anew each turn and gives the same number, since templates render tools in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from proxy.dialects.slices import WHOLE, Slice

from .piles import key, shared
from .scaled import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proxy.dialects.base import PromptPart
    from proxy.dialects.slices import Slices

    from .piles import Key

SERVER: Final = "server tokenizer"
"""The source of a number that the server gave."""

EMPTY: Final = Slice()
SYSTEM_STUB: Final = Slice(system="stub")
SYSTEM: Final = Slice(system="sent")

_STUB_TOKENS: Final = 1

Group = Literal["system", "tools", "before", "question", "after"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring groups that no question told apart, and their tokens together."""

    groups: frozenset[Group]
    tokens: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A prompt as its server counts it. Template and stretches add up to `whole`."""

    whole: int
    """All of it, media aside."""
    template: int
    stretches: tuple[Stretch, ...]

    @property
    def drops_tools(self) -> bool:
        """Whether tools were offered and the prompt is no longer for it."""
        return any(s.groups == {"tools"} and not s.tokens for s in self.stretches)


def questions(slices: Slices) -> list[Slice]:
    """What to ask, the cheapest first. All but those of the conversation stay the same over its turns."""
    asked = [EMPTY]
    if slices.has_system:
        asked += [SYSTEM_STUB, SYSTEM]
    if slices.tools:
        asked.append(_in_front(slices))
    turn = slices.question
    if turn.start > slices.front:
        asked.append(Slice(until=turn.start))
    if turn and turn.stop < len(slices.messages):
        asked.append(Slice(until=turn.stop, stub=False))
    return [*asked, WHOLE]


def measured(slices: Slices, counts: Mapping[Slice, int]) -> Measured | None:
    """The prompt out of the server's answers; None without one for the whole and for an empty chat.

    What the server refused to count leaves two neighbours together.
    """
    empty, whole = counts.get(EMPTY), counts.get(WHOLE)
    if empty is None or whole is None:
        return None
    template = _template(empty, counts.get(SYSTEM_STUB))
    points: list[tuple[frozenset[Group], int]] = [(frozenset(), template)]
    groups: frozenset[Group] = frozenset()
    for group, point in _points(slices, counts, empty):
        groups |= {group}
        if point is not None and points[-1][1] <= point <= whole:
            points.append((groups, point))
            groups = frozenset()
    if groups or points[-1][1] != whole or template < 0:  # a chat without a message of the user
        return None
    stretches = (Stretch(now[0], now[1] - then[1]) for then, now in pairwise(points))
    return Measured(whole, template, tuple(stretches))


def _template(empty: int, with_stub: int | None) -> int:
    """Tokens of an empty chat.

    Where a system message makes a chat no longer, the template has one of its own that stands only where
    none was sent (SmolLM2, Qwen 2.5). Then it is not in this prompt, and a chat with a stub is the measure.
    """
    if with_stub is not None and with_stub <= empty:
        return with_stub - 2 * _STUB_TOKENS
    return empty - _STUB_TOKENS


def _points(
    slices: Slices, counts: Mapping[Slice, int], empty: int
) -> Iterator[tuple[Group, int | None]]:
    """Each group that there is, with the tokens of the prompt up to its end; None: not known."""
    front: int | None = empty
    if slices.has_system:
        front = counts.get(SYSTEM)
        yield "system", _less(front, _STUB_TOKENS)
    if slices.tools:
        front = counts.get(_in_front(slices))
        yield "tools", _less(front, _STUB_TOKENS)
    turn, end = slices.question, len(slices.messages)
    if turn.start > slices.front:
        point = counts.get(Slice(until=turn.start))
        yield "before", _plus(front, _less(point, empty + _STUB_TOKENS))
    rest = turn.stop < end
    if turn:
        point = counts.get(Slice(until=turn.stop, stub=False)) if rest else None
        yield "question", _plus(front, _less(point, empty)) if rest else counts[WHOLE]
    if rest:
        yield "after", counts[WHOLE]


def _in_front(slices: Slices) -> Slice:
    return Slice(tools=True, system="sent" if slices.has_system else "none")


def _less(count: int | None, tokens: int) -> int | None:
    return None if count is None else count - tokens


def _plus(count: int | None, tokens: int | None) -> int | None:
    return None if count is None or tokens is None else count + tokens


def group_of(part: PromptPart, slices: Slices) -> Group:
    """Which of the groups a piece belongs to."""
    if part.message is None:
        return "tools" if part.part == "tools" else "system"
    if part.message < slices.front:
        return "system"
    if part.message < slices.question.start:
        return "before"
    return "question" if part.message < slices.question.stop else "after"


@dataclass(frozen=True, slots=True)
class Shares:
    """The server's numbers laid on the pieces of a prompt. With the template they add up to the whole."""

    measured: Measured
    each: list[int | None]
    """Tokens of each piece; None for media."""
    mixed: frozenset[Key]
    """Parts that share a number with others."""
    template: int


def shares(
    parts: Sequence[PromptPart], counts: Sequence[int | None], slices: Slices, found: Measured
) -> Shares:
    """Lay what the server counted on the pieces, within a stretch by the counts made here."""
    weights = _weights(parts, counts)
    groups = [None if p.part == "media" else group_of(p, slices) for p in parts]
    each: list[int | None] = [None if group is None else 0 for group in groups]
    mixed: set[Key] = set()
    template = found.template
    for stretch in found.stretches:
        numbers = [n for n, group in enumerate(groups) if group in stretch.groups]
        if not numbers:  # text that the dialect could not read
            template += stretch.tokens
        dropped = found.drops_tools and stretch.groups == {"tools"}
        tokens = shared(stretch.tokens, [weights[n] for n in numbers])
        for n, share in zip(numbers, tokens, strict=True):
            each[n] = counts[n] if dropped else share
        keys = {key(parts[n]) for n in numbers}
        mixed |= keys if len(keys) > 1 else set()
    return Shares(found, each, frozenset(mixed), template)


def _weights(parts: Sequence[PromptPart], counts: Sequence[int | None]) -> list[int]:
    """Tokens as counted here, and the marks of each message with its first piece.

    Without a tokenizer the length of the text.
    """
    seen: set[int] = set()
    weights = []
    for part, count in zip(parts, counts, strict=True):
        marks = MARKS if part.message is not None and part.message not in seen else 0
        seen.add(-1 if part.message is None else part.message)
        weights.append(marks + (len(part.text) // 4 if count is None else count))
    return weights
