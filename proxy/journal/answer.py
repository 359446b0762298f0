"""What was generated: how many tokens, by whose count, in how many events, of what kind.

One rule: the server's own number comes before any count made here, a count names its tokenizer, and
what cannot be known is unknown. The number of events is never a number of tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from . import others
from .record import Output
from .timing import gaps, tokens_per_event

if TYPE_CHECKING:
    from proxy.dialects.base import ReplyReading

    from .tokens import Tokenizer

ContentKind = Literal["prose", "code", "tool_call", "mixed"]

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
"""A Markdown code block; the last one may have been cut."""

_TEXT_MISSING: Final = {"text_bounded", "event_too_long"}
"""Notes that say that the text is not all that was generated."""

_CODE: Final = 0.7
_PROSE: Final = 0.1
"""Shares of the text in fences from which, and up to which, it is called one kind."""


def output(said: ReplyReading, tokenizer: Tokenizer | None, *, unread: bool) -> Output:
    """The output of a reply; `unread`: part of the reply was not read, so its end is not known."""
    tokens, source = _tokens(said, tokenizer, unread=unread)
    events = len(said.token_event_ns) if said.streamed and not unread else None
    between = gaps(said.token_event_ns) if events else None
    return Output(
        tokens=tokens,
        source=source,
        reasoning_tokens=said.usage.reasoning,
        k1=said.k1,
        events=events,
        tokens_per_event=tokens_per_event(tokens, said.k1, events or 0),
        gap_p50_ns=between.p50_ns if between else None,
        gap_p95_ns=between.p95_ns if between else None,
        gap_max_ns=between.max_ns if between else None,
        content_kind=content_kind(said),
        finish_reason=others.name(said.finish_reason),
    )


def content_kind(said: ReplyReading) -> ContentKind | None:
    """What the answer is made of; None if nothing was generated. Acceptance depends on it.

    Code is what stands in fences, so code that a tool call carries is a tool call.
    """
    if said.called:
        return "tool_call" if said.first_visible_text_ns is None else "mixed"
    if not said.text:
        return None
    fenced = sum(len(found[0]) for found in _FENCED.finditer(said.text)) / len(said.text)
    if fenced >= _CODE:
        return "code"
    return "prose" if fenced <= _PROSE else "mixed"


def _tokens(
    said: ReplyReading, tokenizer: Tokenizer | None, *, unread: bool
) -> tuple[int | None, str]:
    """Tokens and their source. A running count, or a text, that was not read to its end is no answer."""
    if unread and said.terminal_event_ns is None:
        return None, "unknown"
    if said.usage.output is not None:
        return said.usage.output, said.output_source or "usage"
    whole = not unread and not any(note.code in _TEXT_MISSING for note in said.notes)
    if said.text and whole and tokenizer is not None:
        return tokenizer.count(said.text), tokenizer.source
    return None, "unknown"
