"""OpenAI's chat completions, as vLLM, llama.cpp, SGLang, Ollama, LM Studio and others speak them.

One rule: a request is judged by what was sent, never by what a vendor's schema allows; servers of this
format take more than the schema names and leave out what it asks for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note

from .base import RequestReading
from .fields import JsonObject, as_object, as_text, first_count, scalars
from .json_text import read_json
from .openai_chat_prompt import ChatPrompt
from .openai_chat_reply import ChatReply
from .openai_chat_slices import slices
from .openai_chat_token import take_token
from .reply import JsonReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader

_WHERE: Final = "request body"
_DEPLOYMENT: Final = re.compile(r"/deployments/([^/]+)/chat/completions/?$")
_MESSAGES: Final = re.compile(rb'"messages"\s*:\s*\[')
_COUNTS_ONLY: Final = re.compile(r"token|template|render|count", re.IGNORECASE)
"""Endpoints that take a chat body and generate nothing: `/tokenize`, `/apply-template`,
`/v1/chat/completions/render`, `.../input_tokens`, `/v1/messages/count_tokens`."""

_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "n", "frequency_penalty",
    "presence_penalty", "repetition_penalty", "repeat_penalty", "reasoning_effort", "logprobs",
    "top_logprobs", "ignore_eos", "min_tokens", "parallel_tool_calls", "stream_options.include_usage",
    "stream_options.continuous_usage_stats", "chat_template_kwargs.enable_thinking",
)  # fmt: skip


class OpenAiChat:
    """The dialect."""

    name: Final = "openai_chat"

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Sure of the path, behind any prefix; unsure of a body with messages elsewhere."""
        if request.method != "POST":
            return 0
        if request.path.rstrip("/").endswith("/chat/completions"):
            return 90
        unsure = _MESSAGES.search(start) and not _COUNTS_ONLY.search(request.path)
        return 20 if unsure else 0

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """Model, limits and the prompt's parts."""
        value = read_json(body)
        deployment = _DEPLOYMENT.search(request.path)  # Azure may name the model only there
        model = as_text(as_object(value).get("model")) or (deployment and deployment[1]) or None
        if not isinstance(value, dict):
            note = Note("request_not_json", _WHERE, f"{len(body)} bytes")
            return RequestReading(model=model, notes=(note,))
        prompt = ChatPrompt()
        return RequestReading(
            model=model,
            stream=value.get("stream") is True,
            max_tokens=first_count(value, "max_completion_tokens", "max_tokens", "n_predict"),
            sampling=scalars(value, _SAMPLING),
            parts=(*prompt.tools(value), *prompt.messages(value)),
            slices=slices(request.path, value),
            notes=(*prompt.notes.values(), *_response_format(value)),
        )

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the stream or the one object."""
        del request  # a server may stream unasked, and answer whole where a stream was asked for
        return JsonReply(reply, ChatReply(), shortcut=take_token)


def _response_format(value: JsonObject) -> Iterator[Note]:
    """A schema steers the sampler (vLLM, llama.cpp, SGLang); it is no text of the prompt there."""
    kind = as_text(as_object(value.get("response_format")).get("type"))
    if kind not in ("", "text"):
        yield Note("response_format_not_counted", _WHERE, kind[:40])
