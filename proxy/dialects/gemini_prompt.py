"""What the prompt of a request to Gemini is made of.

One rule: parts stand in the order tools, system, contents, whatever the order in the JSON. What is only
for the server to know (signatures of thoughts, ids, encoded bytes) is no text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proxy.wire.exchange import Note

from .base import PromptPart
from .fields import JsonObject, as_objects, as_text
from .gemini_fields import pick, respelled
from .injected import set_apart
from .json_text import compact
from .turn import current_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .base import PartName

_TOOL_ROLES: Final = ("function", "tool")
_MEDIA: Final = ("image", "audio", "video")
_BLOBS: Final = ("inlineData", "fileData")
_BESIDE: Final = ("thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution")
"""Fields that say something about their part and hold nothing that the model reads."""


class GeminiPrompt:
    """Takes the body of a request apart."""

    def __init__(self) -> None:
        self.notes: dict[str, Note] = {}
        """What it did not know: the first of each code, by code."""

    def tools(self, value: JsonObject) -> Iterator[PromptPart]:
        """Each function with all that was sent of it; a built-in tool goes by the name of its field."""
        for entry in self._objects(value, "tools"):
            for name, given in respelled(entry).items():
                if name == "functionDeclarations":
                    for declared in as_objects(given):
                        yield self._tool(declared, as_text(declared.get("name")))
                elif given is not None:
                    yield self._tool({name: given}, name)

    def system(self, value: JsonObject) -> Iterator[PromptPart]:
        """The system instruction: a content without a role of its own, or a text."""
        if text := as_text(pick(value, "systemInstruction")):
            yield PromptPart("system", "system", text)
            return
        for content in self._objects(value, "systemInstruction"):
            yield from self._content(content, "system", "system")

    def contents(self, value: JsonObject) -> Iterator[PromptPart]:
        """Each content's parts, in place; what a client injected stands apart from the user's words."""
        contents = self._objects(value, "contents")
        roles = [as_text(content.get("role")) or "user" for content in contents]
        turn = self._turn(roles, contents)
        for n, (role, content) in enumerate(zip(roles, contents, strict=True)):
            part = self._part(role, current=n in turn)
            # Thinking of earlier turns is not read again: Gemini takes it back by its signature.
            thoughts = n >= turn.stop
            for piece in set_apart(self._content(content, role, part, thoughts=thoughts)):
                yield piece.within(n)

    def _turn(self, roles: list[str], contents: list[JsonObject]) -> range:
        """The contents of the current question.

        The user's role is also that of results, and of context that the client sets up by itself. The
        question stays where the user last said something.
        """
        speakers = [
            self._speaker(content) if role == "user" else role
            for role, content in zip(roles, contents, strict=True)
        ]
        return current_turn(speakers if "user" in speakers else roles)

    def _speaker(self, content: JsonObject) -> str:
        pieces = self._objects(content, "parts")
        texts = (as_text(piece.get("text")) for piece in pieces)
        told = set_apart(PromptPart("question", "user", text) for text in texts)
        if any(part.role == "user" and part.text.strip() for part in told):
            return "user"
        return "tool" if any(pick(piece, "functionResponse") for piece in pieces) else "system"

    def _part(self, role: str, *, current: bool) -> PartName:
        if role not in ("user", "model", *_TOOL_ROLES):
            self._note("role_unknown", role[:40])
        return "question" if current else "history"

    def _content(
        self, content: JsonObject, role: str, part: PartName, *, thoughts: bool = True
    ) -> Iterator[PromptPart]:
        for piece in self._objects(content, "parts"):
            if piece.get("thought") is not True or thoughts:
                for name, given in respelled(piece).items():
                    yield from self._piece(name, given, role, part)

    def _piece(self, name: str, given: Any, role: str, part: PartName) -> Iterator[PromptPart]:
        if name == "text":
            yield from _text(part, role, as_text(given))
        elif name == "functionCall":
            yield from _text("history", role, _call(given))
        elif name == "functionResponse":
            yield from self._response(given, role)
        elif name == "executableCode":
            yield from _text("history", role, as_text(_inner(given, "code")))
        elif name == "codeExecutionResult":
            yield from _text("tool_results", role, as_text(_inner(given, "output")))
        elif name in _BLOBS:
            yield _media(given, role)
        elif name not in _BESIDE:
            self._note("content_part_unknown", name[:40])

    def _response(self, given: Any, role: str) -> Iterator[PromptPart]:
        result = _inner(given, "response")
        yield from _text("tool_results", role, compact(result) if result else "")
        for piece in as_objects(_inner(given, "parts")):  # media that a tool gave back
            for name, medium in respelled(piece).items():
                if name in _BLOBS:
                    yield _media(medium, role)
                else:
                    self._note("content_part_unknown", name[:40])

    def _objects(self, value: JsonObject, name: str) -> list[JsonObject]:
        """The objects of a list. One without its list is accepted, as the API itself does."""
        given = pick(value, name)
        if given is not None and not isinstance(given, list | dict):
            self._note("field_not_understood", name)
        return as_objects([given] if isinstance(given, dict) else given)

    def _tool(self, tool: JsonObject, name: str) -> PromptPart:
        text = compact(tool)
        if not text:
            self._note("field_not_understood", "a tool nested too deep")
        return PromptPart("tools", "tool", text, name)

    def _note(self, code: str, detail: str) -> None:
        self.notes.setdefault(code, Note(code, "request body", detail))


def _text(part: PartName, role: str, text: str) -> Iterator[PromptPart]:
    if text:
        yield PromptPart(part, role, text)


def _media(given: Any, role: str) -> PromptPart:
    kind = as_text(_inner(given, "mimeType")).partition("/")[0]
    return PromptPart("media", role, kind if kind in _MEDIA else "file")


def _call(given: Any) -> str:
    arguments = _inner(given, "args")
    return f"{as_text(_inner(given, 'name'))} {compact(arguments) if arguments else ''}".strip()


def _inner(given: Any, name: str) -> Any:
    return pick(given, name) if isinstance(given, dict) else None
