"""A Messages request in slices, and the endpoint at which servers of this format count one.

One rule: the body is the one that was sent, less what is not asked for. Media are left out, wherever a
result carries them: they are what the bill has more.
"""

from __future__ import annotations

from operator import is_
from typing import Any, Final

from .anthropic_messages_prompt import turn_of
from .fields import JsonObject, as_object, as_objects, as_text
from .slices import Slices, behind, chosen

_ASKED: Final = ("model", "thinking", "output_config", "chat_template_kwargs")
_MEDIA: Final = ("image", "document", "container_upload", "audio", "video")
_PLAIN: Final = ("text", "content")
"""Sources of a document that are text."""

_DEPTH_BOUND: Final = 8


def slices(path: str, value: JsonObject) -> Slices:
    """The slices of a body that was sent to `path`."""
    messages = as_objects(value.get("messages"))
    texts = [_without_media(message) for message in messages]
    tools = chosen(value, ("tools",))
    path = path.rstrip("/")
    return Slices(
        endpoints=(f"{path}/count_tokens",) if path.endswith("/messages") else (),
        name="messages",
        messages=texts,
        question=behind(0, turn_of(messages)),
        asked=chosen(value, _ASKED),
        tools=tools | chosen(value, ("tool_choice",)) if tools else {},
        system=chosen(value, ("system",)),
        media=any(text is not message for text, message in zip(texts, messages, strict=True)),
    )


def _without_media(block: JsonObject, depth: int = 0) -> JsonObject:
    """A message, or a block of one, without media: itself where there are none in it."""
    content = block.get("content")
    if not isinstance(content, list) or depth >= _DEPTH_BOUND:
        return block
    kept = [_inner(inner, depth) for inner in content if not _is_medium(inner)]
    same = len(kept) == len(content) and all(map(is_, kept, content))
    return block if same else block | {"content": kept}


def _inner(inner: Any, depth: int) -> Any:
    return _without_media(inner, depth + 1) if isinstance(inner, dict) else inner


def _is_medium(block: Any) -> bool:
    inner = as_object(block)
    source = as_text(as_object(inner.get("source")).get("type"))
    return as_text(inner.get("type")) in _MEDIA and source not in _PLAIN
