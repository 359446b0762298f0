"""What stands in the content blocks of a Messages request.

One rule: a block is read by the fields that hold text, so one of a type that is new is read as well.
What is only for the server to know (ids, signatures, encrypted content, base64) is no text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .base import PromptPart
from .fields import JsonObject, as_items, as_object, as_text
from .json_text import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .base import PartName

_MEDIA: Final[dict[str, str]] = {
    "image": "image",
    "document": "document",
    "container_upload": "file",
    "audio": "audio",  # none of Anthropic's: local servers take them
    "video": "video",
}
_TEXT_FIELDS: Final = (
    "title", "url", "source", "context", "tool_name", "text", "stdout", "stderr", "error_code", "content",
    "tool_references",
)  # fmt: skip
"""Where blocks hold text that the model reads, in the order of the reference."""

_DEPTH_BOUND: Final = 8
"""Blocks in blocks: a search result in a tool's result is two deep."""


class Blocks:
    """Takes contents apart."""

    def __init__(self, note: Callable[[str, str], None]) -> None:
        """`note` takes code and detail of what was not known."""
        self._note = note

    def parts(
        self, content: Any, role: str, part: PartName, depth: int = 0
    ) -> Iterator[PromptPart]:
        """The parts of a content: a text, blocks, or one block; `part` where no block is another."""
        if depth > _DEPTH_BOUND:
            self._note("field_not_understood", "blocks nested too deep")
            return
        for block in blocks_of(content):
            if not isinstance(block, str):
                yield from self._block(as_object(block), role, part, depth + 1)
            elif block:
                yield PromptPart(part, role, block)

    def _block(
        self, block: JsonObject, role: str, part: PartName, depth: int
    ) -> Iterator[PromptPart]:
        kind = as_text(block.get("type"))
        source = as_object(block.get("source"))
        if kind == "mid_conv_system":
            yield from self.parts(block.get("content"), "system", "system", depth)
        elif kind.endswith("tool_use"):
            name, given = as_text(block.get("name")), block.get("input")
            call = f"{name} {compact(given) if given else ''}".strip()
            yield from self.parts(call, role, part, depth)
        elif kind == "thinking":
            yield from self.parts(block.get("thinking"), role, part, depth)
        elif kind in _MEDIA and as_text(source.get("type")) not in ("text", "content"):
            yield PromptPart("media", role, _MEDIA[kind])
        else:
            inner: PartName = "tool_results" if kind.endswith("_result") else part
            yield from self._texts(block, role, inner, depth)

    def _texts(
        self, block: JsonObject, role: str, part: PartName, depth: int
    ) -> Iterator[PromptPart]:
        """What stands in the fields of a block that hold text or other blocks."""
        kind = as_text(block.get("type"))
        if block.get("encrypted_content"):
            self._note("content_encrypted", kind[:40])
        known = [name for name in _TEXT_FIELDS if block.get(name) is not None]
        if not known and not kind.endswith("_result"):  # a tool may well give nothing back
            self._note("content_part_unknown", kind[:40])
        for name in known:
            inner = block[name]
            if name == "source" and isinstance(inner, dict):  # a document of plain text or blocks
                inner = inner.get("data") or inner.get("content")
            yield from self.parts(inner, role, part, depth)


def blocks_of(content: Any) -> list[Any]:
    """The blocks of a content: a text is one."""
    return [content] if isinstance(content, str | dict) else as_items(content)
