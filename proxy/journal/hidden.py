"""Requests that a client makes for itself (titles, tags, routes, summaries), told from turns.

One rule: when in doubt it is a turn. A request is hidden if it says so itself, or if several signs agree;
each has a weight, and none of the weak ones is enough. The record names them all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from proxy.wire.exchange import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.dialects.base import PromptPart, RequestReading

    from .asker import Asker

Sign = Literal[
    "declared",
    "no output asked for",
    "fills in",
    "system asks",
    "question asks",
    "task heading",
    "one token",
    "holds chat",
    "long instructions",
    "no tools",
    "other model",
    "not streamed",
    "short limit",
    "same moment",
    "json answer",
]
Purpose = Literal[
    "title", "tags", "follow-ups", "queries", "route", "summary", "completion", "prewarm", "probe"
]

_WEIGHTS: Final[dict[Sign, int]] = {
    "declared": 3,
    "no output asked for": 3,
    "fills in": 3,
    "system asks": 2,
    "one token": 2,
}
"""All others weigh 1."""

_ENOUGH: Final = 3

_ASKS: Final[dict[Purpose, re.Pattern[str]]] = {
    "summary": re.compile(
        r"summary of (?:the|this|our|what)\b|checkpoint compaction|state_snapshot"
        r"|summari[sz]\w+ (?:the |this |our )?conversation|continuing (?:our|the) conversation",
        re.IGNORECASE,
    ),
    "tags": re.compile(r"(?:generate|assign|suggest)\b[^.\n]{0,60}\btags\b", re.IGNORECASE),
    "follow-ups": re.compile(
        r"(?:suggest|generate|predict)\b[^.\n]{0,80}"
        r"\b(?:follow-?up|(?:messages|questions)\b[^.\n]{0,30}\buser (?:might|may|could)\b)",
        re.IGNORECASE,
    ),
    "queries": re.compile(
        r"(?:generat|necessity)\w*\b[^.\n]{0,80}\bquer(?:y|ies)\b", re.IGNORECASE
    ),
    "route": re.compile(r"\btask rout|\bcomplexity score\b|\bspeak next\b", re.IGNORECASE),
    "completion": re.compile(r"\bautocomplet", re.IGNORECASE),
    "title": re.compile(
        r"\btitle generator\b|\bnew conversation topic\b"
        r"|(?:generate|create|write|provide|suggest|come up with)\b[^.\n]{0,80}\btitle\b",
        re.IGNORECASE,
    ),
}
"""What such prompts ask for: short marks, seen in Open WebUI, LibreChat, opencode, Claude Code, Codex,
Gemini CLI and Qwen Code. The first that fits."""

_FILL_IN: Final = re.compile(r"<\|?fim_prefix\|?>|<\uff5cfim\u2581begin\uff5c>|\[SUFFIX\]|<PRE> ")
_CHAT: Final = re.compile(
    r"<(?:chat_history|conversation|session|messages)>"
    r"|^(?:user|human)\s*:.*^(?:ai|assistant)\s*:",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_HEADING: Final = "### Task:"
_AGENTS: Final = re.compile(
    r"claude-cli|claude code|codex|opencode|geminicli|gemini-cli|qwen.?code|kilo|cline|roo.?code",
    re.IGNORECASE,
)
"""Clients whose turns never go without tools."""

_SYSTEM_LETTERS: Final = 600
"""Where a system prompt says what it is for."""
_SYSTEM_LONGEST: Final = 8_000
"""An agent's own is longer; it may well speak of titles."""
_QUESTION_LETTERS: Final = 1_500
_LONG_LETTERS: Final = 300
_PROBE_LETTERS: Final = 16
_SHORT_LIMIT: Final = 256
_MOMENT_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Peer:
    """The last turn of the same client, and whether any of them had tools."""

    opened_ns: int
    model: str | None
    stream: bool | None
    max_tokens: int | None
    tools: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """What speaks for a request's being hidden."""

    purpose: Purpose | None
    signs: tuple[Sign, ...]

    @property
    def hidden(self) -> bool:
        """Whether that is enough."""
        return sum(_WEIGHTS.get(sign, 1) for sign in self.signs) >= _ENOUGH

    def note(self) -> Note:
        """The evidence."""
        return Note("hidden", self.purpose or "purpose not known", ", ".join(self.signs))


@dataclass(frozen=True, slots=True)
class Question:
    """What a request says, as far as it is looked at."""

    system: str
    question: str
    long: bool
    """The question is long for a person's."""
    tools: bool
    chat: bool
    """An answer stands in it as history."""
    raw: str
    """The start of a prompt without roles."""

    @classmethod
    def of(cls, parts: Sequence[PromptPart]) -> Question:
        """Of a prompt's parts."""
        system = [p.text for p in parts if p.part == "system"]
        asked = [p.text for p in parts if p.part == "question" and p.role != "injected"]
        short = sum(len(text) for text in system) <= _SYSTEM_LONGEST
        question = "\n".join(text[:_QUESTION_LETTERS] for text in asked[-2:])
        return cls(
            system="\n".join(text[:_SYSTEM_LETTERS] for text in system[:3]) if short else "",
            question=question[: 2 * _QUESTION_LETTERS],
            long=sum(len(text) for text in asked) >= _LONG_LETTERS,
            tools=any(p.part == "tools" for p in parts),
            chat=any(p.part == "history" and p.role == "assistant" for p in parts),
            raw=asked[0][:_QUESTION_LETTERS] if asked and not parts[-1].role else "",
        )


def find(asked: RequestReading, who: Asker, peer: Peer | None, opened_ns: int) -> Finding:
    """Gather the signs. `peer`: None when nothing is known of the client's turns."""
    said = Question.of(asked.parts)
    purpose, places = _asks(said)
    notes = {note.code for note in asked.notes}
    signs = {
        "declared": who.declared,
        "no output asked for": "prewarm" in notes,
        "fills in": who.fills_in or bool(_FILL_IN.search(said.raw)),
        "one token": _probe(asked, said),
        **dict.fromkeys(places, True),
        "task heading": purpose is not None and said.question.startswith(_HEADING),
        "holds chat": purpose is not None
        and (said.chat if purpose == "summary" else bool(_CHAT.search(said.question))),
        "long instructions": purpose == "summary" and said.long,
        "json answer": purpose not in (None, "summary")
        and ("response_format_not_counted" in notes or "JSON" in said.question),
        "no tools": not said.tools and (_an_agent(who) or bool(peer and peer.tools)),
        "not streamed": asked.stream is False
        and ("question asks" in places or bool(peer and peer.stream)),
        **_beside(asked, peer, opened_ns),
    }
    found = tuple(sign for sign in get_args(Sign) if signs.get(sign))
    return Finding(_purpose(purpose, found), found)


def _asks(said: Question) -> tuple[Purpose | None, tuple[Sign, ...]]:
    """What it asks for by its own words, and where. With tools at hand only a summary is asked for."""
    for purpose, pattern in _ASKS.items():
        if said.tools and purpose != "summary":
            continue
        found: list[Sign] = ["system asks"] if pattern.search(said.system) else []
        if pattern.search(said.question):
            found.append("question asks")
        if found:
            return purpose, tuple(found)
    return None, ()


def _probe(asked: RequestReading, said: Question) -> bool:
    """One token for one word, as Claude Code asks to see what is left of a quota."""
    tiny = len(said.question) <= _PROBE_LETTERS and len(asked.parts) == 1
    return asked.max_tokens is not None and asked.max_tokens <= 1 and tiny


def _beside(asked: RequestReading, peer: Peer | None, opened_ns: int) -> dict[str, bool]:
    """How it differs from the client's last turn."""
    if peer is None:
        return {}
    limit = asked.max_tokens
    short = limit is not None and limit <= _SHORT_LIMIT
    return {
        "other model": asked.model != peer.model,
        "short limit": short and (peer.max_tokens is None or peer.max_tokens > 4 * (limit or 0)),
        "same moment": abs(opened_ns - peer.opened_ns) <= _MOMENT_NS,
    }


def _an_agent(who: Asker) -> bool:
    return who.application and bool(_AGENTS.search(who.client or ""))


def _purpose(asks: Purpose | None, found: tuple[Sign, ...]) -> Purpose | None:
    if "no output asked for" in found:
        return "prewarm"
    if "fills in" in found:
        return "completion"
    return "probe" if asks is None and "one token" in found else asks
