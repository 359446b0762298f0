"""The items of the Responses API, which are both what is sent back as history and what is generated.

One rule: an item is told by its type's form where its type is not known (`..._call`, `..._call_output`):
hosted tools are added faster than anyone keeps a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .fields import as_object, as_objects, as_text
from .json_text import compact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .fields import JsonObject
    from .tally import Channel

_CALL: Final = "_call"
_CALLS_BY_OTHER_NAMES: Final = {
    "mcp_approval_request": "mcp",
    "program": "programmatic_tool_calling",
}
_GIVEN: Final = ("arguments", "input", "action", "actions", "operation", "code", "queries")
"""Where a call holds what the model wrote, by its type."""

_TEXTS: Final = ("text", "refusal", "transcript", "logs", "stdout", "stderr")
"""Where a piece of content holds its words, by its type."""


def kind_of(item: JsonObject) -> str:
    """Its type; a message and a reference may leave it out."""
    return as_text(item.get("type")) or ("message" if "role" in item else "item_reference")


def is_call(kind: str) -> bool:
    """True for what the model writes to have something done, by whomever."""
    return kind.endswith(_CALL) or kind in _CALLS_BY_OTHER_NAMES


def call_name(item: JsonObject) -> str:
    """What it calls, under the name by which the tool was offered; empty if it calls nothing.

    A tool of a group is `group.tool`, one of an MCP server `mcp__server.tool`, a hosted one its type.
    """
    kind = kind_of(item)
    if not is_call(kind):
        return ""
    name = as_text(item.get("name"))
    server = as_text(item.get("server_label"))
    group = as_text(item.get("namespace")) or (f"mcp__{server}" if server else "")
    hosted = _CALLS_BY_OTHER_NAMES.get(kind, kind.removesuffix(_CALL))
    return in_group(group, name) if name else hosted


def in_group(group: str, name: str) -> str:
    """The name of a tool in a group, as clients write it."""
    return f"{group}.{name}" if group else name


def call_text(item: JsonObject) -> str:
    """What the model wrote besides the name."""
    return as_words(next((item[field] for field in _GIVEN if item.get(field)), ""))


def as_words(value: Any) -> str:
    """Text as it is; of anything else its JSON."""
    return as_text(value) or (compact(value) if value else "")


def reasoning_text(item: JsonObject) -> str:
    """The thoughts, else the summary of them that stands for them."""
    for field in ("content", "summary"):
        text = "".join(piece_text(piece) for piece in as_objects(item.get(field)))
        if text:
            return text
    return ""


def piece_text(piece: JsonObject) -> str:
    """The words of one piece of content."""
    return "".join(as_text(piece.get(field)) for field in _TEXTS)


def outputs(item: JsonObject) -> Iterator[tuple[Channel, str]]:
    """What the model generated in an item, its call's name aside, with the channels."""
    kind = kind_of(item)
    if is_call(kind):
        yield "tool_call", call_text(item)
    elif kind == "reasoning":
        yield "reasoning", reasoning_text(item)
    elif kind == "message":
        for piece in as_objects(item.get("content")):
            yield "refusal" if piece.get("refusal") else "text", piece_text(as_object(piece))
