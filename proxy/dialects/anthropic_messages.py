"""Anthropic's Messages, as its own API, llama.cpp, vLLM, SGLang, Ollama, LM Studio and gateways speak them.

One rule: a request is judged by what was sent. `?beta=true`, a `system` message inside `messages` and
tools without a schema are what clients send, whatever the reference of the day says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note
from proxy.wire.head import value as header

from .anthropic_messages_prompt import MessagesPrompt
from .anthropic_messages_reply import MessagesReply
from .anthropic_messages_slices import slices
from .base import RequestReading
from .fields import JsonObject, as_object, as_text, first_count, scalars
from .json_text import read_json
from .reply import JsonReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader

_WHERE: Final = "request body"
_VERTEX: Final = re.compile(
    r"/publishers/anthropic/models/(?!count-tokens:)([^/:]+):\w*[rR]awPredict$"
)
_VERSION: Final = re.compile(rb'"anthropic_version"\s*:')
"""A body field where the path is that of a cloud (Bedrock's `/model/<id>/invoke`)."""

_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "min_p", "seed", "thinking.type", "thinking.budget_tokens",
    "output_config.effort", "tool_choice.type", "tool_choice.disable_parallel_tool_use", "service_tier",
    "speed",
)  # fmt: skip
"""`min_p` and `seed` are none of Anthropic's; local servers take them here too."""


class AnthropicMessages:
    """The dialect."""

    name: Final = "anthropic_messages"

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Sure of its paths, behind any prefix; `.../messages` alone could be another vendor's."""
        if request.method != "POST":
            return 0
        path = request.path.rstrip("/")
        if path.endswith("/v1/messages") or _VERTEX.search(path):
            return 90
        versioned = header(request.headers, "anthropic-version") is not None
        if (versioned and path.endswith("/messages")) or _VERSION.search(start):
            return 60
        return 0

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """Model, limits and the prompt's parts."""
        value = read_json(body)
        vertex = _VERTEX.search(request.path)  # there the model stands only in the path
        model = as_text(as_object(value).get("model")) or (vertex and vertex[1]) or None
        if not isinstance(value, dict):
            note = Note("request_not_json", _WHERE, f"{len(body)} bytes")
            return RequestReading(model=model, notes=(note,))
        prompt = MessagesPrompt()
        parts = (*prompt.tools(value), *prompt.system(value), *prompt.messages(value))
        whole = prompt.whole and not value.get("mcp_servers")  # whose tools the server looks up
        return RequestReading(
            model=model,
            stream=value.get("stream") is True,
            max_tokens=first_count(value, "max_tokens"),
            sampling=scalars(value, _SAMPLING),
            parts=parts,
            whole=whole,
            slices=slices(request.path, value) if whole else None,
            notes=(*prompt.notes.values(), *_output_format(value)),
        )

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the stream or the one object."""
        del request  # a server may answer whole where a stream was asked for
        return JsonReply(reply, MessagesReply())


def _output_format(value: JsonObject) -> Iterator[Note]:
    """A schema for the answer: some servers put it into the prompt, others steer the sampler with it."""
    outer = as_object(value.get("output_config"))
    form = as_object(outer.get("format") or value.get("output_format"))
    if kind := as_text(form.get("type")):
        yield Note("response_format_not_counted", _WHERE, kind[:40])
