"""What the prompt of a response is made of.

One rule: what is not sent in this request is not guessed. A prompt may go on from a response, a
conversation or an item that only the server holds, or carry encrypted thoughts; then `whole` is False.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proxy.wire.exchange import Note

from . import injected
from .base import PromptPart
from .fields import JsonObject, as_items, as_object, as_objects, as_text
from .json_text import compact
from .openai_responses_items import (
    as_words,
    call_name,
    call_text,
    in_group,
    is_call,
    kind_of,
    piece_text,
    reasoning_text,
)
from .turn import SYSTEM_ROLES, current_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .base import PartName

_MEDIA: Final = {"image": "image", "screenshot": "image", "audio": "audio", "file": "file"}
_ELSEWHERE: Final = ("previous_response_id", "conversation", "prompt")
"""Fields that put text in front of the prompt which only the server has."""

_SILENT: Final = ("compaction_trigger", "configuration_update", "mcp_approval_response")
"""Items that no model reads."""

_UNREAD_OF_TOOL: Final = (
    "headers",
    "authorization",
    "server_url",
    "input_image_mask",
)
"""Fields of hosted tools that are the server's to use: secrets, addresses, pictures."""

_PROJECT_FILE: Final = "# AGENTS.md instructions"
_REQUEST: Final = "## My request for Codex:"


class ResponsesPrompt:
    """Takes the body of a request apart."""

    def __init__(self) -> None:
        self.whole = True
        """False when the model reads more than was sent."""
        self._notes: dict[str, Note] = {}
        self._hosted: list[str] = []

    @property
    def notes(self) -> tuple[Note, ...]:
        """What it did not know, and what is not seen: the first of each code."""
        hosted = ", ".join(dict.fromkeys(self._hosted))[:80]
        said = [Note("hosted_tools", "request body", hosted)] if hosted else []
        return (*self._notes.values(), *said)

    def parts(self, value: JsonObject) -> Iterator[PromptPart]:
        """Tools, instructions, then the items in place.

        Tools that come as an item stand where they are: a server makes them known there, so that what
        is in front of them stays the same for its prefix cache.
        """
        for field in _ELSEWHERE:
            if value.get(field):
                self._unseen(field)
        self._expect_list(value, "tools")
        yield from self._tools(value.get("tools"))
        yield from self._words(as_text(value.get("instructions")), "system", "system")
        yield from self._input(value.get("input"))

    # Tools

    def _tools(self, tools: Any, group: str = "", heading: str = "") -> Iterator[PromptPart]:
        """Each definition; a group's tools under its name, its own description with the first."""
        for tool in as_objects(tools):
            kind = as_text(tool.get("type"))
            inner = as_object(tool.get(kind)) or tool  # chat's form, which some servers take
            name = as_text(inner.get("name"))
            if tool.get("tools") and not group:  # a group in a group is no form of this API
                rest = {key: value for key, value in tool.items() if key != "tools"}
                yield from self._tools(tool["tools"], name or kind, compact(rest))
            elif name:
                yield self._tool(in_group(group, name), heading, tool)
            else:
                yield self._hosted_tool(tool, kind)
            heading = ""

    def _tool(self, name: str, heading: str, tool: JsonObject) -> PromptPart:
        if tool.get("defer_loading") is True:
            self._note("tools_deferred", "until they are searched for")
        text = compact(tool)
        if not text:
            self._note("field_not_understood", "a tool nested too deep")
        return PromptPart("tools", "tool", f"{heading}{text}", name)

    def _hosted_tool(self, tool: JsonObject, kind: str) -> PromptPart:
        server = as_text(tool.get("server_label"))
        name = f"mcp__{server}" if server else kind
        self._hosted.append(name)
        seen = {key: value for key, value in tool.items() if key not in _UNREAD_OF_TOOL}
        return PromptPart("tools", "tool", compact(seen), name)

    # Items

    def _input(self, given: Any) -> Iterator[PromptPart]:
        if isinstance(given, str):
            for piece in self._words(given, "user", "question"):
                yield piece.within(0)
            return
        if given is not None and not isinstance(given, list):
            self._note("field_not_understood", "input")
        items = as_objects(given)
        turn = current_turn([_role(item) for item in items])
        for number, item in enumerate(items):
            part: PartName = "question" if number in turn else "history"
            for piece in self._item(item, part, current=number >= turn.stop):
                yield piece.within(number)

    def _item(self, item: JsonObject, part: PartName, *, current: bool) -> Iterator[PromptPart]:
        kind = kind_of(item)
        if kind == "message":
            yield from self._message(item, part)
        elif kind == "reasoning" or "compaction" in kind:
            yield from self._thoughts(item, current=current or kind != "reasoning")
        elif item.get("tools"):  # additional_tools, tool_search_output, mcp_list_tools
            server = as_text(item.get("server_label"))
            yield from self._tools(item["tools"], f"mcp__{server}" if server else "")
        elif is_call(kind):
            yield from self._call(item)
        elif kind.endswith("_output"):
            result = item.get("output", item.get("result"))
            yield from self._content(result, "tool", "tool_results")
        elif kind == "item_reference":
            self._unseen(kind)
        elif kind not in _SILENT:
            self._note("item_unknown", kind[:40])

    def _message(self, item: JsonObject, part: PartName) -> Iterator[PromptPart]:
        role = as_text(item.get("role"))
        if role in SYSTEM_ROLES:
            part = "system"
        elif role not in ("user", "assistant"):
            self._note("role_unknown", role[:40])
        yield from self._content(item.get("content"), role, part)

    def _thoughts(self, item: JsonObject, *, current: bool) -> Iterator[PromptPart]:
        """Thoughts behind the last question, and what a conversation was shortened to.

        Servers leave the thoughts of earlier turns out, as chat templates do.
        """
        text = reasoning_text(item)
        if text and current:
            yield PromptPart("history", "assistant", text)
        if item.get("encrypted_content"):
            self._note("content_encrypted", kind_of(item))
            self.whole = self.whole and not current

    def _call(self, item: JsonObject) -> Iterator[PromptPart]:
        """What the model wrote, and behind it what a hosted tool gave back in the same item."""
        text = f"{call_name(item)} {call_text(item)}".strip()
        yield PromptPart("history", "assistant", text)
        for field in ("output", "outputs", "results"):
            yield from self._content(item.get(field), "tool", "tool_results")
        if kind_of(item) == "image_generation_call" and item.get("result"):
            yield PromptPart("media", "assistant", "image")

    # Content

    def _content(self, content: Any, role: str, part: PartName) -> Iterator[PromptPart]:
        pieces = [content] if isinstance(content, str | dict) else as_items(content)
        for piece in pieces:
            inner = as_object(piece)
            kind = as_text(inner.get("type"))
            text = as_text(piece) or piece_text(inner)
            medium = next((name for word, name in _MEDIA.items() if word in kind), None)
            if text:
                yield from self._words(text, role, part)
            elif medium:
                yield PromptPart("media", role, medium)
            elif inner.get("encrypted_content"):
                self._note("content_encrypted", kind)
                self.whole = False
            elif part == "tool_results" and inner:
                yield PromptPart(part, role, as_words(inner))
            elif piece != "" and "text" not in inner:
                self._note("content_part_unknown", kind[:40])

    def _words(self, text: str, role: str, part: PartName) -> Iterator[PromptPart]:
        """Text, with what the client put into it apart."""
        own_words = role in ("user", *SYSTEM_ROLES)
        for piece, marked in _pieces(text) if own_words else [(text, False)]:
            yield PromptPart(part, injected.ROLE if marked else role, piece)

    # Notes

    def _expect_list(self, value: JsonObject, name: str) -> None:
        if value.get(name) is not None and not isinstance(value[name], list):
            self._note("field_not_understood", name)

    def _unseen(self, detail: str) -> None:
        self.whole = False
        self._note("previous_response", detail)

    def _note(self, code: str, detail: str) -> None:
        self._notes.setdefault(code, Note(code, "request body", detail))


def _role(item: JsonObject) -> str:
    """Who speaks in an item; what no model reads may stand inside a turn, as a system message may."""
    return "system" if kind_of(item) in _SILENT else as_text(item.get("role"))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Text in pieces, each with whether it was injected.

    Codex has two marks besides those that are closed: a heading in front of a project's file, and one
    behind what an editor puts in front of the request.
    """
    if text.startswith(_PROJECT_FILE):
        yield text, True
        return
    before, mark, request = text.rpartition(_REQUEST)
    if mark:
        yield before + mark, True
    yield from injected.pieces(request)
