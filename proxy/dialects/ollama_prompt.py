"""What the prompt of a request to Ollama is made of.

One rule: a chat's messages and tools are those of chat completions but for three fields, so the same
code reads them: pictures stand beside the content, thinking has another name, and arguments of calls
are objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.wire.exchange import Note

from .base import PromptPart
from .fields import JsonObject, as_items, as_objects, as_text
from .injected import set_apart
from .openai_chat_prompt import ChatPrompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Parts = tuple[PromptPart, ...]
Notes = tuple[Note, ...]


def chat_parts(value: JsonObject) -> tuple[Parts, Notes]:
    """Parts of a body of `/api/chat`, as templates render them."""
    messages = value.get("messages")
    if isinstance(messages, list):
        value = value | {"messages": [_reworded(message) for message in as_objects(messages)]}
    prompt = ChatPrompt()
    parts = (*prompt.tools(value), *set_apart(prompt.messages(value)))
    return parts, (*prompt.notes.values(),)


def generate_parts(value: JsonObject) -> tuple[Parts, Notes]:
    """Parts of a body of `/api/generate`.

    The `template` that a request may bring is the frame around them, no part. Without one (`raw`, or a
    `suffix`, for which models have marks of their own) the prompt has no role.
    """
    framed = value.get("raw") is not True and not value.get("suffix")
    role = "user" if framed else ""
    media, notes = _pictures(value)
    parts = (
        *_texts("system", "system", [value.get("system")]),
        *(PromptPart("media", role, kind) for kind in media),
        *_texts("question", role, [value.get("prompt"), value.get("suffix")]),
    )
    return parts, notes


def _reworded(message: JsonObject) -> JsonObject:
    """A message as chat completions have it. Ollama puts pictures in front of the text."""
    content = message.get("content")
    pieces = content if isinstance(content, list) else [as_text(content)]
    pictures: list[Any] = [{"type": "image"} for _ in as_items(message.get("images"))]
    return message | {
        "content": pictures + pieces,
        "reasoning_content": message.get("thinking"),
    }


def _pictures(value: JsonObject) -> tuple[list[str], Notes]:
    given = value.get("images")
    if given is not None and not isinstance(given, list):
        return [], (Note("field_not_understood", "request body", "images"),)
    return ["image" for _ in as_items(given)], ()


def _texts(part: Any, role: str, texts: Iterable[Any]) -> Iterator[PromptPart]:
    return (PromptPart(part, role, text) for given in texts if (text := as_text(given)))
