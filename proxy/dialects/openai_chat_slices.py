"""A chat completion in slices, and the endpoints at which servers of this format count one.

One rule: the body is the one that was sent, less what is not asked for. Media are left out: their bytes
would be read as text, or cost a picture's encoding; they are what the bill has more.
"""

from __future__ import annotations

from typing import Any, Final

from .fields import JsonObject, as_object, as_objects, as_text
from .slices import Slices, behind, chosen, leading
from .turn import SYSTEM_ROLES, current_turn

_COMPLETIONS: Final = "/chat/completions"

_BESIDE: Final = ("/tokenize", "/v1/tokenize", "/apply-template")
"""vLLM's, SGLang's; llama.cpp's before it had the endpoint below the request's own path."""

_ASKED: Final = (
    "model", "chat_template", "chat_template_kwargs", "reasoning_effort", "reasoning_format", "thinking",
    "enable_thinking", "documents", "response_format", "add_generation_prompt", "continue_final_message",
)  # fmt: skip
_TOOLS: Final = ("tools", "functions")
_TOOLS_TOO: Final = ("tool_choice", "parallel_tool_calls", "function_call")
"""Servers refuse these where no tools are offered."""

_MEDIA: Final = ("image", "audio", "video", "file")


def slices(path: str, value: JsonObject) -> Slices:
    """The slices of a body that was sent to `path`."""
    messages = as_objects(value.get("messages"))
    roles = [as_text(message.get("role")) for message in messages]
    front = leading(roles, SYSTEM_ROLES)
    texts = [_without_media(message) for message in messages]
    tools = chosen(value, _TOOLS)
    return Slices(
        endpoints=endpoints(path),
        name="messages",
        messages=texts,
        question=behind(front, current_turn(roles)),
        front=front,
        asked=chosen(value, _ASKED),
        tools=tools | chosen(value, _TOOLS_TOO) if tools else {},
        media=any(text is not message for text, message in zip(texts, messages, strict=True)),
    )


def endpoints(path: str) -> tuple[str, ...]:
    """Where such a request may be counted: llama.cpp's endpoint below the path, others' at the root."""
    path = path.rstrip("/")
    base, found, _ = path.rpartition(_COMPLETIONS)
    if not found:
        return ()
    root = base.removesuffix("/v1")
    return (f"{path}/input_tokens", *(f"{root}{beside}" for beside in _BESIDE))


def _without_media(message: JsonObject) -> JsonObject:
    """The message itself where there are none in it."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    kept = [piece for piece in content if not _is_medium(piece)]
    return message if len(kept) == len(content) else message | {"content": kept}


def _is_medium(piece: Any) -> bool:
    kind = as_text(as_object(piece).get("type"))
    return any(medium in kind for medium in _MEDIA)
