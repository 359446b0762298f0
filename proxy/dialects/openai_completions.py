"""Completions of plain text: OpenAI's older format, as many servers still speak it, and llama.cpp's own.

One rule: the prompt goes to the model as it is, so it has no role and no template. Which of the two
formats a reply has shows in the reply: llama.cpp answers `/completions` in its own and
`/v1/completions` in OpenAI's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from proxy.wire.exchange import Note

from .base import PromptPart, RequestReading, Usage
from .fields import (
    JsonObject,
    as_count,
    as_items,
    as_object,
    as_objects,
    as_text,
    first_count,
    scalars,
)
from .json_text import read_json
from .openai_figures import read_figures
from .reply import JsonReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader
    from .tally import Tally

_WHERE: Final = "request body"
_PATH: Final = re.compile(r"(?:^|/)(?:completions?|infill)$")
_CHAT_PATH: Final = re.compile(r"/chat/completions$")
_DEPLOYMENT: Final = re.compile(r"/(?:deployments|engines)/([^/]+)/completions$")

_SAMPLING: Final = (
    "temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "n", "best_of", "frequency_penalty",
    "presence_penalty", "repetition_penalty", "repeat_penalty", "echo", "logprobs", "n_probs", "ignore_eos",
    "min_tokens", "stream_options.include_usage", "stream_options.continuous_usage_stats",
)  # fmt: skip

_TEXTS: Final = ("input_prefix", "prompt", "suffix", "input_suffix")
"""Fields of the prompt in the order of most fill-in-the-middle templates. `input_*`: llama.cpp's
`/infill`."""

_PROMPTS_BOUND: Final = 256
"""Prompts of one request whose bills are added up; servers number them from 0."""

_STOPS: Final = ("stopped_eos", "stopped_word", "stopped_limit")
"""llama.cpp before it had `stop_type`."""


class OpenAiCompletions:
    """The dialect."""

    name: Final = "openai_completions"

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Sure of its paths, behind any prefix."""
        del start
        path = request.path.rstrip("/")
        ours = _PATH.search(path) and not _CHAT_PATH.search(path)
        return 90 if ours and request.method == "POST" else 0

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """Model, limits and the prompt."""
        value = read_json(body)
        deployment = _DEPLOYMENT.search(request.path.rstrip("/"))
        model = as_text(as_object(value).get("model")) or (deployment and deployment[1]) or None
        if not isinstance(value, dict):
            note = Note("request_not_json", _WHERE, f"{len(body)} bytes")
            return RequestReading(model=model, notes=(note,))
        numbers = _token_ids(value.get("prompt"))
        return RequestReading(
            model=model,
            stream=value.get("stream") is True,
            max_tokens=first_count(value, "max_tokens", "n_predict"),
            sampling=scalars(value, _SAMPLING),
            parts=() if numbers else tuple(_parts(value)),
            notes=tuple(_notes(value, numbers)),
        )

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the stream, the one object, or llama.cpp's list of them."""
        del request
        return JsonReply(reply, _CompletionsReply())


def _token_ids(prompt: Any) -> int:
    """How many tokens of the prompt came as numbers: alone, among texts, or in a list for each prompt."""
    items = [inner for item in as_items(prompt) for inner in (as_items(item) or [item])]
    return sum(as_count(item) is not None for item in items)


def _parts(value: JsonObject) -> Iterator[PromptPart]:
    """Each text of the prompt: of several prompts all, since the bill is for all."""
    for extra in as_objects(value.get("input_extra")):  # files beside the one that is written
        if text := as_text(extra.get("text")):
            yield PromptPart("history", "", text)
    for name in _TEXTS:
        given = value.get(name)
        for piece in given if isinstance(given, list) else [given]:
            text = as_text(piece) or as_text(as_object(piece).get("prompt_string"))
            if text:
                yield PromptPart("question", "", text)
            for _ in as_items(as_object(piece).get("multimodal_data")):
                yield PromptPart("media", "", "file")  # of which kind, it does not say


def _notes(value: JsonObject, numbers: int) -> Iterator[Note]:
    if numbers:
        # Their number is known, but not what they are tokens of: a part of no text would say 0.
        yield Note("prompt_as_token_ids", _WHERE, f"{numbers} tokens")
    if value.get("echo") is True:
        yield Note("prompt_echoed", _WHERE)
    if "prompt" in value and not isinstance(value["prompt"], str | list | dict | None):
        yield Note("field_not_understood", _WHERE, "prompt")


class _CompletionsReply:
    """Interprets the objects of one reply."""

    def __init__(self) -> None:
        self._bills: dict[int, Usage] = {}

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """One `text_completion` chunk, or one of llama.cpp's own events."""
        del name
        self.body(value, tally)

    def body(self, value: JsonObject, tally: Tally) -> None:
        """One whole reply: it has the fields of a chunk."""
        if "choices" in value:
            _choices(value, tally)
        else:
            self._own(value, tally)
        read_figures(value, tally)

    def _own(self, value: JsonObject, tally: Tally) -> None:
        """llama.cpp's own. `tokens_cached` is what the cache holds afterwards, not what it gave."""
        tally.add("text", as_text(value.get("content")))
        if value.get("stop") is True:
            stopped = (name for name in _STOPS if value.get(name) is True)
            tally.finish(as_text(value.get("stop_type")) or next(stopped, None))
        if "tokens_predicted" in value:
            tally.bill(self._bill(value, tally))

    def _bill(self, value: JsonObject, tally: Tally) -> Usage:
        """Each prompt of several has a bill of its own: together they are the bill of the request."""
        index = as_count(value.get("index")) or 0
        if index >= _PROMPTS_BOUND:
            return Usage()
        self._bills[index] = Usage(
            input=as_count(value.get("tokens_evaluated")),
            output=as_count(value.get("tokens_predicted")),
            cached=first_count(value, "timings.cache_n"),
        )
        if len(self._bills) > 1:
            tally.note("several_choices", "reply")
        bills = self._bills.values()
        return Usage(
            input=_sum([bill.input for bill in bills]),
            output=_sum([bill.output for bill in bills]),
            cached=_sum([bill.cached for bill in bills]),
        )


def _choices(value: JsonObject, tally: Tally) -> None:
    choices = as_objects(value.get("choices"))
    if len(choices) > 1 or any(choice.get("index") for choice in choices):
        tally.note("several_choices", "reply")
    for choice in choices:
        drawn = choice.get("token_ids") or as_object(choice.get("logprobs")).get("tokens")
        tally.drew(len(as_items(drawn)))
        tally.add("text", as_text(choice.get("text")))
        if reason := as_text(choice.get("finish_reason")):
            tally.finish(reason)


def _sum(counts: list[int | None]) -> int | None:
    """None if any is not said."""
    told = [count for count in counts if count is not None]
    return sum(told) if len(told) == len(counts) else None
