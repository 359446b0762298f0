"""OpenAI's Responses API, over HTTP and over a WebSocket, as OpenAI, llama.cpp, vLLM and others speak it.

One rule: a message in a tunnel is a request like any other. It has the path of the upgrade, its body is
the message, and each message that comes back is one event. A pre-warm (`generate: false`) is a generation
too: it costs a prefill and a place on the server; that it generates nothing is noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note
from proxy.wire.sse import SseEvent

from .base import RequestReading
from .fields import as_object, as_text, first_count, scalars
from .json_text import read_json
from .openai_responses_prompt import ResponsesPrompt
from .openai_responses_reply import ResponsesReply
from .openai_responses_slices import slices
from .reply import JsonReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader
    from .fields import JsonObject

CREATE: Final = "response.create"
"""The type of a message in a tunnel that asks for a response."""

_WHERE: Final = "request body"
_PATHS: Final = ("/responses", "/responses/compact")
_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty",
    "repetition_penalty", "top_logprobs", "parallel_tool_calls", "max_tool_calls", "truncation",
    "service_tier", "reasoning.effort", "reasoning.summary", "text.verbosity", "background",
)  # fmt: skip


class OpenAiResponses:
    """The dialect."""

    name: Final = "openai_responses"

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Sure of its path, behind any prefix, and of a message under the head of an upgrade there."""
        if not is_ours(request):
            return 0
        message = request.method == "GET" and start.lstrip().startswith(b"{")
        return 90 if request.method == "POST" or message else 0

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """Model, limits and the prompt's parts."""
        value = read_json(body)
        if not isinstance(value, dict):
            return RequestReading(notes=(Note("request_not_json", _WHERE, f"{len(body)} bytes"),))
        in_tunnel = value.get("type") == CREATE
        value = as_object(value.get("response")) or value if in_tunnel else value
        prompt = ResponsesPrompt()
        parts = tuple(prompt.parts(value))
        return RequestReading(
            model=as_text(value.get("model")) or None,
            stream=in_tunnel or value.get("stream") is True,
            max_tokens=first_count(value, "max_output_tokens"),
            sampling=scalars(value, _SAMPLING),
            parts=parts,
            whole=prompt.whole,
            slices=slices(request.path, value) if prompt.whole else None,
            notes=(*prompt.notes, *_noted(value)),
        )

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the stream, the messages or the one object."""
        del request
        return JsonReply(reply, ResponsesReply(), _Messages() if reply.status == 101 else None)


class _Messages:
    """Messages of a tunnel: each piece that is fed is one, and one event."""

    notes: Final = ()

    def feed(self, data: bytes, at_ns: int) -> list[SseEvent]:
        """The message."""
        return [SseEvent("message", data, at_ns)]

    def close(self) -> list[SseEvent]:
        """Nothing: a message that did not come whole was never fed."""
        return []


def is_ours(request: RequestHead) -> bool:
    """True for the paths of this API that generate."""
    return request.path.rstrip("/").endswith(_PATHS)


def _noted(value: JsonObject) -> Iterator[Note]:
    warm = as_object(value.get("prompt_cache_options")).get("prewarm") is True
    if value.get("generate") is False or warm:
        yield Note("prewarm", _WHERE, "a prefill was asked for, and no output")
    kind = as_text(as_object(as_object(value.get("text")).get("format")).get("type"))
    if kind not in ("", "text"):
        yield Note("response_format_not_counted", _WHERE, kind[:40])
