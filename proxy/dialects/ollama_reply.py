"""Ollama's answers: a line for each piece and a last one with the figures, or all in one object.

One rule: a line counts by what it carries. The opening line of a chat, and the last one, have empty
content: no tokens. Counts and durations (ns) are the server's own; one that is not there is not zero.

What the figures mean (https://github.com/ollama/ollama, `api/types.go`, issues 2068 and 3427): loading the
model (`load_duration`) lies before the first token. `prompt_eval_count` is the whole prompt, cached
tokens included, but `prompt_eval_duration` is the time for the others alone, so that their quotient is
no speed. Older versions left the count out, or the cached tokens out of it, when a prompt was cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.wire.head import value as header
from proxy.wire.ndjson import NdjsonParser

from .base import Usage
from .deferred_reply import DeferredReply
from .fields import as_count, as_items, as_object, as_objects, as_text
from .json_text import compact, read_json
from .reply import JsonReply

if TYPE_CHECKING:
    from proxy.wire.head import ReplyHead

    from .base import ReplyReader
    from .fields import JsonObject
    from .tally import Tally

_FIGURES: Final = (
    "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_cached_count",
    "prompt_eval_duration", "eval_count", "eval_duration",
)  # fmt: skip


def ollama_reply(reply: ReplyHead) -> ReplyReader:
    """A reader for the reply that begins with this head."""
    if "ndjson" in (header(reply.headers, "content-type") or "").lower():
        return JsonReply(reply, OllamaAnswer(), NdjsonParser())

    def choose(start: bytes, *, last: bool) -> ReplyReader | None:
        """Servers that imitate Ollama label lines as JSON; only the first line tells them apart.

        A first line that has no end in what is looked at is a whole answer: none of a stream is so long.
        """
        line, ended, _rest = start.lstrip().partition(b"\n")
        if ended and as_object(read_json(line)).get("done") is False:
            return JsonReply(reply, OllamaAnswer(), NdjsonParser())
        return JsonReply(reply, OllamaAnswer()) if last or ended else None

    return DeferredReply(choose)


class OllamaAnswer:
    """Interprets the objects of one reply: those of a stream and a whole one are alike."""

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """One line of a stream."""
        del name  # lines have none; `error` was seen by the reader
        self.body(value, tally)

    def body(self, value: JsonObject, tally: Tally) -> None:
        """One object of `/api/chat`, whose output is in `message`, or of `/api/generate`."""
        tally.model = tally.model or as_text(value.get("model")) or None
        said = as_object(value.get("message")) or value
        tally.add("reasoning", as_text(said.get("thinking")))
        tally.add("text", as_text(said.get("content")) or as_text(said.get("response")))
        for call in as_objects(said.get("tool_calls")):
            _call(as_object(call.get("function")), tally)
        if said.get("images") or said.get("image"):
            tally.note("media_output", "reply", "image")
        tally.drew(len(as_items(value.get("logprobs"))))  # one for each token, if asked for
        if value.get("done") is True:
            tally.finish(as_text(value.get("done_reason")))
            _figures(value, tally)


def _call(function: JsonObject, tally: Tally) -> None:
    """A call comes whole, its arguments as an object; imitating servers send OpenAI's text."""
    if name := as_text(function.get("name")):
        tally.call(name)
    if arguments := function.get("arguments"):
        tally.add("tool_call", as_text(arguments) or compact(arguments))


def _figures(value: JsonObject, tally: Tally) -> None:
    tally.report({name: value[name] for name in _FIGURES if name in value})
    tally.timed(
        Usage(
            # A zero is a gap that an imitating server filled in: Ollama leaves zeroes out.
            input=as_count(value.get("prompt_eval_count")) or None,
            output=as_count(value.get("eval_count")) or None,
            cached=as_count(value.get("prompt_eval_cached_count")),
        )
    )
