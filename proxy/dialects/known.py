"""Calls that ask no model for output, known by method and path.

So a report can tell them from traffic that nobody understood. One rule: only names that inference
servers really use, behind any prefix. What is said in such a call is not read, but for the model that
it names and the bill of an embedding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .base import RequestReading, Usage
from .fields import JsonObject, as_object, as_text, first_count
from .json_text import read_json
from .opaque import Opaque
from .reply import JsonReply

if TYPE_CHECKING:
    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader
    from .tally import Tally

_SURE: Final = 95
"""More than the dialect that owns the path in front is: `/v1/messages/count_tokens` is no message."""

_EMBEDDINGS: Final = re.compile(
    r"POST \S*(?:/embeddings?|/embed|/embed_(?:all|sparse)|/rerank|/reranking|/score|/pooling|/classify"
    r"|:(?:batchEmbedContents|embedContent))"
)
_BILLED: Final = re.compile(r"(?:/embeddings?|/api/embed|/v\d/rerank|/score|/pooling)$")
"""Those whose answers are objects with a bill; others answer with bare lists."""

_TOKENIZER: Final = re.compile(
    r"POST \S*(?:/tokenize|/detokenize|/chat_tokenize|/apply-template|/render|/input_tokens|/count_tokens"
    r"|:countTokens|/count-tokens:rawPredict)|GET \S*/tokenizer_info"
)
_MODELS: Final = re.compile(
    r"(?:GET|HEAD|DELETE) \S*/models(?:/\S*)?|(?:GET|HEAD) \S*/api/(?:tags|ps)|POST \S*/models/(?:un)?load"
    r"|(?:POST|DELETE) \S*/api/(?:show|pull|push|create|copy|delete)"
)
_MONITORING: Final = re.compile(
    r"HEAD "  # of `/`: Claude Code and Ollama's clients, to see whether somebody is there
    r"|(?:GET|HEAD) \S*/(?:healthz?|health_generate|livez?|readyz?|ping|version|metrics|loads?|info)"
    r"|(?:GET|HEAD) \S*/(?:(?:get_)?(?:server|model)_info|is_sleeping)"
    r"|(?:GET|POST) \S*/(?:slots(?:/\d+)?|props|lora-adapters)"
)


class Known:
    """A kind of call without output. Of its reply only the name of an error is read."""

    def __init__(self, name: str, calls: re.Pattern[str]) -> None:
        """`calls` matches method, blank and path, the last without its final slashes."""
        self.name = name
        self._calls = calls

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Sure of its calls."""
        del start
        return _SURE if self._calls.fullmatch(f"{request.method} {_path(request)}") else 0

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """The model, if there is one."""
        del request
        model = as_text(as_object(read_json(body)).get("model"))
        return RequestReading(model=model or None, generation=False)

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """What is read of any reply: no form of it is expected."""
        return Opaque().reply_reader(request, reply)


class Embeddings(Known):
    """Embeddings and rankings: work for the server that others wait behind, with a bill."""

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the bill where there is one."""
        if _BILLED.search(_path(request)):
            return JsonReply(reply, _Bill())
        return super().reply_reader(request, reply)


class _Bill:
    """Interprets a reply without output."""

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """No server streams such an answer; one that did would say the same."""
        del name
        self.body(value, tally)

    def body(self, value: JsonObject, tally: Tally) -> None:
        """The model and the tokens that were read."""
        tally.model = tally.model or as_text(value.get("model")) or None
        read = first_count(
            value,
            "usage.prompt_tokens",
            "usage.total_tokens",  # some leave the other out, there being no third
            "prompt_eval_count",  # Ollama
        )
        tally.bill(Usage(input=read))


def _path(request: RequestHead) -> str:
    return request.path.rstrip("/")


KNOWN: Final = (
    Embeddings("embeddings", _EMBEDDINGS),
    Known("tokenizer", _TOKENIZER),
    Known("models", _MODELS),
    Known("monitoring", _MONITORING),
)
"""One name for each kind, so that a report can say how many there were of which."""
