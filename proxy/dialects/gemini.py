"""Gemini's `generateContent` and `streamGenerateContent`, at Google, Vertex and whoever speaks it.

One rule: the path says what is asked of which model; the query, in which a key may stand, is not looked
at. Names of fields count in both spellings that the API takes, `maxOutputTokens` and `max_output_tokens`
(https://ai.google.dev/api/generate-content).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from proxy.wire.exchange import Note

from .base import RequestReading
from .fields import JsonObject, as_count, as_object, as_text, scalars
from .gemini_fields import pick, respelled
from .gemini_prompt import GeminiPrompt
from .gemini_reply import gemini_reply
from .json_text import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.wire.head import ReplyHead, RequestHead

    from .base import ReplyReader

_WHERE: Final = "request body"
_VERBS: Final = ("generateContent", "streamGenerateContent")
"""Counting, embedding and batches have other verbs: they are no generations that anybody waits for."""

_COLON: Final = re.compile("%3A", re.IGNORECASE)
_MODEL: Final = re.compile(r"/(?:models|tunedModels|endpoints)/(.+)")
_SAMPLING: Final = (
    "temperature", "topP", "topK", "seed", "candidateCount", "presencePenalty", "frequencyPenalty",
    "responseLogprobs", "logprobs", "responseMimeType", "mediaResolution",
    "thinkingConfig.thinkingBudget", "thinkingConfig.thinkingLevel", "thinkingConfig.includeThoughts",
)  # fmt: skip
_SCHEMAS: Final = ("responseSchema", "responseJsonSchema", "_responseJsonSchema")


class Gemini:
    """The dialect."""

    name: Final = "gemini"

    def bid(self, request: RequestHead, start: bytes) -> int:
        """Sure of its paths, behind any prefix."""
        del start
        return 90 if request.method == "POST" and _call(request)[1] in _VERBS else 0

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """Model, limits and the prompt's parts."""
        place, verb = _call(request)
        named = _MODEL.search(place)
        model = named[1] if named else None
        stream = verb == "streamGenerateContent"
        value = read_json(body)
        if not isinstance(value, dict):
            note = Note("request_not_json", _WHERE, f"{len(body)} bytes")
            return RequestReading(model=model, stream=stream, notes=(note,))
        model = model or as_text(value.get("model")).removeprefix("models/") or None
        # Code Assist, which Gemini CLI uses after a login, wraps the request.
        asked = value if "contents" in value else as_object(value.get("request")) or value
        config = respelled(as_object(pick(asked, "generationConfig")))
        config["thinkingConfig"] = respelled(as_object(config.get("thinkingConfig")))
        prompt = GeminiPrompt()
        return RequestReading(
            model=model,
            stream=stream,
            max_tokens=as_count(config.get("maxOutputTokens")),
            sampling=scalars(config, _SAMPLING),
            parts=(*prompt.tools(asked), *prompt.system(asked), *prompt.contents(asked)),
            whole=not pick(asked, "cachedContent"),
            notes=(*prompt.notes.values(), *_not_counted(asked, config)),
        )

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for events, an array in pieces, or one object."""
        del request  # errors come in other forms than what was asked for
        return gemini_reply(reply)


def _call(request: RequestHead) -> tuple[str, str]:
    """The path up to its last colon, and the verb behind it. Some clients escape the colon."""
    place, _, verb = _COLON.sub(":", request.path).rpartition(":")
    return place, verb.rstrip("/")


def _not_counted(asked: JsonObject, config: JsonObject) -> Iterator[Note]:
    if schema := next((name for name in _SCHEMAS if config.get(name)), ""):
        yield Note("response_format_not_counted", _WHERE, schema)
    if pick(asked, "cachedContent"):
        yield Note("prompt_incomplete", _WHERE, "cachedContent")
