"""What the prompt of a Messages request is made of.

One rule: parts stand as templates render them (tools, system, messages), whatever the order in the
JSON: Claude Code writes `messages` first. What is only for the server to know (where to cache, ids,
signatures, encrypted content, base64) is no text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.wire.exchange import Note

from .anthropic_messages_blocks import Blocks, blocks_of
from .base import PromptPart
from .fields import JsonObject, as_object, as_objects, as_text
from .injected import set_apart
from .json_text import compact
from .turn import SYSTEM_ROLES, current_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .base import PartName


class MessagesPrompt:
    """Takes the body of a request apart."""

    def __init__(self) -> None:
        self.notes: dict[str, Note] = {}
        """What it did not know: the first of each code, by code."""
        self._blocks = Blocks(self._note)

    @property
    def whole(self) -> bool:
        """Whether the parts are all that the model reads of what was sent."""
        return "content_encrypted" not in self.notes

    def tools(self, value: JsonObject) -> Iterator[PromptPart]:
        """Each definition as it was sent, but for where to cache: that moves, and is not rendered."""
        self._expect(value, "tools", list)
        tools = as_objects(value.get("tools"))
        if deferred := sum(tool.get("defer_loading") is True for tool in tools):
            self._note("tools_deferred", f"{deferred} tools")
        for tool in tools:
            text = compact({k: v for k, v in tool.items() if k != "cache_control"})
            if not text:
                self._note("field_not_understood", "a tool nested too deep")
            name = as_text(tool.get("name")) or as_text(tool.get("type"))
            yield PromptPart("tools", "tool", text, name)

    def system(self, value: JsonObject) -> Iterator[PromptPart]:
        """The field `system`: a text, or blocks."""
        self._expect(value, "system", str | list | dict)
        yield from self._blocks.parts(value.get("system"), "system", "system")

    def messages(self, value: JsonObject) -> Iterator[PromptPart]:
        """Each message's parts, in place: templates render a late system message where it stands."""
        self._expect(value, "messages", list)
        messages = as_objects(value.get("messages"))
        turn = turn_of(messages)
        for n, message in enumerate(messages):
            role = as_text(message.get("role"))
            part = self._part(role, current=n in turn)
            content = message.get("content")
            if role == "assistant":
                content = list(self._without_old_thoughts(content, current=n >= turn.stop))
            for piece in set_apart(self._blocks.parts(content, role, part)):
                yield piece.within(n)

    def _part(self, role: str, *, current: bool) -> PartName:
        if role in SYSTEM_ROLES:
            return "system"
        if role not in ("user", "assistant"):
            self._note("role_unknown", role[:40])
        return "question" if current else "history"

    def _without_old_thoughts(self, content: Any, *, current: bool) -> Iterator[Any]:
        """Thinking is read only behind the last question: it is left out of earlier turns.

        https://platform.claude.com/docs/en/build-with-claude/extended-thinking; the templates of open
        models do the same. What is sent back encrypted is in the prompt, but nobody can count it.
        """
        for block in blocks_of(content):
            kind = as_text(as_object(block).get("type"))
            if kind == "redacted_thinking":
                if current:
                    self._note("content_encrypted", kind)
            elif kind != "thinking" or current:
                yield block

    def _expect(self, value: JsonObject, name: str, kind: Any) -> None:
        if value.get(name) is not None and not isinstance(value[name], kind):
            self._note("field_not_understood", name)

    def _note(self, code: str, detail: str) -> None:
        self.notes.setdefault(code, Note(code, "request body", detail))


def turn_of(messages: list[JsonObject]) -> range:
    """The messages of the current question: the last with words of the user, and what leads to it.

    The user's role is also that of a tool's results, in an agent's loop with reminders beside them. The
    question stays where the user last said something; where he never did, it is the last of that role.
    """
    roles = [as_text(message.get("role")) for message in messages]
    users = (n for n in reversed(range(len(roles))) if roles[n] == "user")
    last = next((n for n in users if _has_own_words(messages[n])), None)
    if last is None:
        return current_turn(roles)
    first = last
    while first > 0 and (roles[first - 1] in SYSTEM_ROLES or _leads_on(messages[first - 1])):
        first -= 1
    return range(first, last + 1)


def _leads_on(message: JsonObject) -> bool:
    """Whether a message in front of the user's words is one of the same turn: not a tool's results."""
    if message.get("role") != "user":
        return False
    kinds = (as_text(as_object(block).get("type")) for block in blocks_of(message.get("content")))
    return not any(kind.endswith("_result") for kind in kinds) or _has_own_words(message)


def _has_own_words(message: JsonObject) -> bool:
    blocks = blocks_of(message.get("content"))
    texts = (as_text(block) or as_text(as_object(block).get("text")) for block in blocks)
    told = set_apart(PromptPart("question", "user", text) for text in texts)
    return any(piece.role == "user" and piece.text.strip() for piece in told)
