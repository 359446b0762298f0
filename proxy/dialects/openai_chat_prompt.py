"""What the prompt of a chat completion is made of.

One rule: the prompt's parts stand in the order in which chat templates render them (tool definitions,
then the messages), not in the order of the JSON, because a server's prefix cache sees the rendering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proxy.wire.exchange import Note

from .base import PromptPart
from .fields import JsonObject, as_items, as_object, as_objects, as_text
from .json_text import compact
from .turn import SYSTEM_ROLES, current_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .base import PartName

_TOOL_ROLES: Final = ("tool", "function")
_MEDIA: Final = ("image", "audio", "video", "file")


class ChatPrompt:
    """Takes the body of a request apart."""

    def __init__(self) -> None:
        self.notes: dict[str, Note] = {}
        """What it did not know: the first of each code, by code."""

    def tools(self, value: JsonObject) -> Iterator[PromptPart]:
        """Each definition with all that was sent of it; the wrapping is rendered too."""
        self._expect_list(value, "tools")
        for tool in as_objects(value.get("tools")):
            kind = as_text(tool.get("type"))
            inner = as_object(tool.get(kind)) or as_object(tool.get("function")) or tool
            yield self._tool(tool, as_text(inner.get("name")) or kind)
        for function in as_objects(value.get("functions")):  # before there were tools
            yield self._tool(function, as_text(function.get("name")))

    def messages(self, value: JsonObject) -> Iterator[PromptPart]:
        """Each message's parts, in place: templates render a late system message where it stands."""
        self._expect_list(value, "messages")
        messages = as_objects(value.get("messages"))
        roles = [as_text(message.get("role")) for message in messages]
        turn = current_turn(roles)
        for n, (role, message) in enumerate(zip(roles, messages, strict=True)):
            part = self._part(role, current=n in turn)
            for piece in self._message(message, role, part, current=n >= turn.stop):
                yield piece.within(n)

    def _message(
        self, message: JsonObject, role: str, part: PartName, *, current: bool
    ) -> Iterator[PromptPart]:
        yield from self._content(message.get("content"), role, part)
        if role == "assistant":
            yield from _assistant(message, current=current)

    def _tool(self, tool: JsonObject, name: str) -> PromptPart:
        text = compact(tool)
        if not text:
            self._note("field_not_understood", "a tool nested too deep")
        return PromptPart("tools", "tool", text, name)

    def _expect_list(self, value: JsonObject, name: str) -> None:
        if value.get(name) is not None and not isinstance(value[name], list):
            self._note("field_not_understood", name)

    def _part(self, role: str, *, current: bool) -> PartName:
        if role in SYSTEM_ROLES:
            return "system"
        if role in _TOOL_ROLES:
            return "tool_results"
        if role not in ("user", "assistant"):
            self._note("role_unknown", role[:40])
        return "question" if current else "history"

    def _content(self, content: Any, role: str, part: PartName) -> Iterator[PromptPart]:
        pieces = [content] if isinstance(content, str | dict) else as_items(content)
        for piece in pieces:
            kind = as_text(as_object(piece).get("type"))
            medium = next((m for m in _MEDIA if m in kind), None)
            text = as_text(piece) or _text_of(as_object(piece), kind)
            if medium:
                yield PromptPart("media", role, medium)
            elif text:
                yield PromptPart(part, role, text)
            elif piece != "" and "text" not in as_object(piece):
                self._note("content_part_unknown", kind[:40])

    def _note(self, code: str, detail: str) -> None:
        self.notes.setdefault(code, Note(code, "request body", detail))


def _assistant(message: JsonObject, *, current: bool) -> Iterator[PromptPart]:
    """What an assistant message holds beside its content.

    Thinking is history only behind the last question: templates (Qwen3, DeepSeek, gpt-oss) leave that
    of earlier turns out.
    """
    thoughts = (as_text(message.get(name)) for name in ("reasoning_content", "reasoning"))
    thought = next(filter(None, thoughts), "")
    if thought and current:
        yield PromptPart("history", "assistant", thought)
    for call in _calls(message):
        name, given = as_text(call.get("name")), call.get("arguments", call.get("input"))
        arguments = as_text(given) or (compact(given) if given else "")
        if name or arguments:
            yield PromptPart("history", "assistant", f"{name} {arguments}".strip())


def _calls(message: JsonObject) -> Iterator[JsonObject]:
    for call in as_objects(message.get("tool_calls")):
        yield as_object(call.get("function")) or as_object(call.get("custom"))
    yield as_object(message.get("function_call"))


def _text_of(piece: JsonObject, kind: str) -> str:
    """`text` and `input_text` hold theirs in `text`, `refusal` and `thinking` in a field so named."""
    return as_text(piece.get("text")) or as_text(piece.get(kind))
