"""Ollama's native API: `/api/chat` and `/api/generate`.

One rule: what is not said is as Ollama takes it, which is not as OpenAI does: an answer is streamed
unless `stream` is false, and a request without a prompt asks for a model to be loaded, not for output
(https://docs.ollama.com/api).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note

from .base import RequestReading
from .fields import JsonObject, as_items, as_number, as_object, as_text, first_count
from .json_text import read_json
from .ollama_prompt import chat_parts, generate_parts
from .ollama_reply import ollama_reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader

_WHERE: Final = "request body"
_CHAT: Final = "/api/chat"
_GENERATE: Final = "/api/generate"
_SWITCHES: Final = ("think", "raw", "logprobs", "top_logprobs", "truncate", "shift")
"""Fields beside `options` that change what is generated."""


class Ollama:
    """The dialect. Pulling, creating, embedding and listing models are none of its requests."""

    name: Final = "ollama"

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Sure of its two paths, behind any prefix."""
        del start
        path = request.path.rstrip("/")
        return 90 if request.method == "POST" and path.endswith((_CHAT, _GENERATE)) else 0

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """Model, options and the prompt's parts."""
        value = read_json(body)
        if not isinstance(value, dict):
            return RequestReading(notes=(Note("request_not_json", _WHERE, f"{len(body)} bytes"),))
        chat = request.path.rstrip("/").endswith(_CHAT)
        parts, notes = chat_parts(value) if chat else generate_parts(value)
        return RequestReading(
            model=as_text(value.get("model")) or None,
            stream=value.get("stream") is not False,
            max_tokens=first_count(value, "options.num_predict"),
            sampling=dict(_sampling(value)),
            parts=parts,
            whole=not as_items(value.get("context")),
            generation=bool(value.get("messages" if chat else "prompt")),
            notes=(*notes, *_not_counted(value)),
        )

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the lines or the one object."""
        del request  # a load is answered whole though a stream was asked for
        return ollama_reply(reply)


def _sampling(value: JsonObject) -> Iterator[tuple[str, float | int | str | bool]]:
    """Numbers and switches of `options`; those that load a model (`num_ctx`) cost time as well.

    Words are left out: `stop` is text of the caller's. Of `think` the word is an effort.
    """
    options = as_object(value.get("options"))
    given = {k: v for k, v in options.items() if k != "num_predict"}
    given |= {name: value[name] for name in _SWITCHES if name in value}
    for name, setting in given.items():
        if isinstance(setting, bool) or as_number(setting) is not None:
            yield name, setting
        elif name == "think" and as_text(setting):
            yield name, setting[:20]


def _not_counted(value: JsonObject) -> Iterator[Note]:
    if answer := value.get("format"):
        kind = as_text(answer)[:40] or "schema"
        yield Note("response_format_not_counted", _WHERE, kind)
    if earlier := as_items(value.get("context")):
        yield Note("prompt_as_token_ids", _WHERE, f"{len(earlier)} of an earlier context")
