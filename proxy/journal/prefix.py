"""What a prompt shares with an earlier one, as the record says it: tokens, the first difference, why.

One rule: what is expected of a cache is what one that keeps every prompt would have. That is an upper
estimate: a server lets go of prompts, keeps them in blocks, and may keep none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .piles import Key, key
from .record import Difference, Prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from proxy.dialects.base import PartName, PromptPart

    from .pieces import Piece, Prompt
    from .record import Cause, Part
    from .remembered import Match, Shared


SLACK: Final = 128
"""Tokens that are no loss: the largest block in which a server is known to keep a prompt (OpenAI's step,
https://platform.openai.com/docs/guides/prompt-caching); vLLM's are 16 unless set otherwise."""

_SLACK_PART: Final = 16
"""And a sixteenth of what is expected: counts of a foreign tokenizer are some percent off in a part."""

TIME_OUT_NS: Final = 300 * 10**9
"""Caches that are known to forget do so after 5 minutes: Anthropic's by default
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching), OpenAI's after 5 to 10 without
use, Ollama unloads a model after 5. What is lost earlier is the server's doing."""

_NOT_BILLED: Final = "not in the bill"


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of the exchange besides its prompt."""

    tokens: Sequence[float] | None
    """Of each piece."""
    cached: int | None
    """As the server reported; None: it did not."""
    continues: bool
    """It goes on with the conversation of its parent."""


def prefix(prompt: Prompt, match: Match, told: Told) -> Prefix:
    """The record's part. All null where no earlier prompt shares anything."""
    parent = match.parent
    if parent is None:
        return Prefix(reported=told.cached)
    own = None if told.tokens is None else sum(told.tokens)
    expected = _tokens(match.best, own)
    lost, cause = None, None
    if own is not None and parent.seen.tokens is not None and expected is not None:
        goal = round(min(own, parent.seen.tokens)) if told.continues else expected
        goal = max(goal, expected)
        cached = expected if told.cached is None else told.cached
        lost = max(0, goal - cached)
        cause = _cause(prompt, parent, _Loss(goal, expected, lost)) if lost > SLACK else None
    return Prefix(
        parent=parent.seen.exchange,
        parent_age_ns=prompt.opened_ns - parent.seen.stay.ended_ns,
        shared=_tokens(parent, own),
        difference=_difference(prompt.pieces, parent),
        expected=expected,
        reported=told.cached,
        lost=lost,
        cause=cause,
    )


@dataclass(frozen=True, slots=True)
class _Loss:
    """Tokens."""

    goal: int
    """That had been cached, if the prompt had gone on where its parent ended."""
    expected: int
    lost: int


def _tokens(shared: Shared | None, own: float | None) -> int | None:
    """Never more than either prompt has. Nothing shared is 0 as soon as there is something to share."""
    if own is None:
        return None
    if shared is None:
        return 0
    if shared.tokens is None or shared.seen.tokens is None:
        return None
    return int(min(shared.tokens, shared.seen.tokens, own) + 0.5)


def _cause(prompt: Prompt, parent: Shared, loss: _Loss) -> Cause | None:
    """What the client changed, if that explains more than a block; else what the server did not keep."""
    if loss.goal - loss.expected > SLACK:
        return _change(prompt, parent)
    if loss.lost <= loss.expected // _SLACK_PART:
        return None
    aged = prompt.opened_ns - parent.seen.stay.ended_ns > TIME_OUT_NS
    return "time-out" if aged else "server"


def _change(prompt: Prompt, parent: Shared) -> Cause:
    upstream, _, _model = prompt.cache.partition("\0")
    if upstream != parent.seen.cache.partition("\0")[0]:
        return "server"
    if prompt.cache != parent.seen.cache:
        return "model"
    causes: dict[PartName, Cause] = {"tools": "tools", "system": "system"}
    return causes.get(prompt.pieces[parent.pieces].part, "history rewritten")


def _difference(pieces: Sequence[Piece], parent: Shared) -> Difference | None:
    if parent.all or parent.pieces == len(pieces):
        return None
    piece = pieces[parent.pieces]
    run = 0
    for before in reversed(pieces[: parent.pieces]):
        if (before.message, before.part) != (piece.message, piece.part) or piece.name:
            break
        run += len(before.data.decode("utf-8", "surrogatepass"))
    return Difference(
        part=piece.part,
        tool=piece.name[:200] or None,
        message=piece.message,
        offset=run + parent.letters,
    )


def weigh(
    parts: Sequence[PromptPart],
    piles: Iterable[Part],
    billed: int | None,
    count: Callable[[str], int] | None,
) -> list[float] | None:
    """Tokens of each part, so that they add up to what the record says of all that are alike.

    What opens the answer stands last, and what is left of the bill is the media's. None when something
    was not counted that could have been.
    """
    known = {(pile.part, pile.role): pile for pile in piles}
    template = known.pop(("template", "template"), None)
    sizes = [len(p.text) if count is None else count(p.text) for p in parts]
    sums: dict[Key, int] = {}
    for part, size in zip(parts, sizes, strict=True):
        sums[key(part)] = sums.get(key(part), 0) + size
    weights = []
    for part, size in zip(parts, sizes, strict=True):
        pile = known.get(key(part))
        tokens = 0 if part.part == "media" else pile.tokens if pile else None
        if tokens is None or pile is None:
            return None
        dropped = pile.source.endswith(_NOT_BILLED)
        weights.append(0.0 if dropped else size * tokens / max(1, sums[key(part)]))
    media = [n for n, part in enumerate(parts) if part.part == "media"]
    if template and weights:
        weights[-1] += template.tokens or 0
    rest = max(0.0, (billed or 0) - sum(weights))
    for n in media:
        weights[n] += rest / len(media)
    return weights
