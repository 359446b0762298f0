"""A response in slices, and the endpoint at which servers of this format count one.

One rule: a prompt that goes on from what only the server holds has no slices: nobody could put it together.
Media are left out: they are what the bill has more.
"""

from __future__ import annotations

from typing import Any, Final

from .fields import JsonObject, as_object, as_objects, as_text
from .openai_responses_items import kind_of
from .slices import Slices, behind, chosen, leading
from .turn import SYSTEM_ROLES, current_turn

_ASKED: Final = ("model", "reasoning", "text", "chat_template_kwargs")
_MEDIA: Final = ("image", "screenshot", "audio", "file")
_TOOLS_ITEM: Final = "tools"
"""The role here of an item that makes tools known: in front, as Codex sends them, it is system text."""


def slices(path: str, value: JsonObject) -> Slices:
    """The slices of a body that was sent to `path`."""
    given = value.get("input")
    texts = [{"role": "user", "content": given}] if isinstance(given, str) else as_objects(given)
    items = [_without_media(item) for item in texts]
    roles = [_role(item) for item in items]
    front = leading(roles, (*SYSTEM_ROLES, _TOOLS_ITEM))
    tools = chosen(value, ("tools",))
    path = path.rstrip("/")
    return Slices(
        endpoints=(f"{path}/input_tokens",) if path.endswith("/responses") else (),
        name="input",
        messages=items,
        question=behind(front, current_turn(roles)),
        front=front,
        asked=chosen(value, _ASKED),
        tools=tools | chosen(value, ("tool_choice", "parallel_tool_calls")) if tools else {},
        system=chosen(value, ("instructions",)),
        media=any(item is not text for item, text in zip(items, texts, strict=True)),
    )


def _role(item: JsonObject) -> str:
    return as_text(item.get("role")) or (_TOOLS_ITEM if item.get("tools") else kind_of(item))


def _without_media(item: JsonObject) -> JsonObject:
    """The item itself where there are none in it."""
    for name in ("content", "output"):
        content = item.get(name)
        if isinstance(content, list):
            kept = [piece for piece in content if not _is_medium(piece)]
            item = item if len(kept) == len(content) else item | {name: kept}
    return item


def _is_medium(piece: Any) -> bool:
    kind = as_text(as_object(piece).get("type"))
    return any(medium in kind for medium in _MEDIA)
