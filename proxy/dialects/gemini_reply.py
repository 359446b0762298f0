"""Gemini's answers: server-sent events, an array that comes in pieces, or one object.

One rule: every piece is a whole answer of its own, in one and the same form, so one reading serves all;
what adds up over them is the output, and the usage of the last one is the bill. Names have one spelling
here, whichever the request had.

Some models put `finishReason` on every piece. Output behind one shows that it was none: the last counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from proxy.wire.json_array import JsonArrayParser

from .base import Usage
from .deferred_reply import DeferredReply
from .fields import as_count, as_object, as_objects, as_text
from .json_text import compact
from .reply import JsonReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.wire.head import ReplyHead

    from .base import ReplyReader
    from .fields import JsonObject
    from .tally import Channel, Tally

_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_CODE: Final = "codeExecution"
"""The built-in tool whose calls are code, by its name in the request."""

_PARTIAL: Final = ("stringValue", "numberValue", "boolValue")


def gemini_reply(reply: ReplyHead) -> ReplyReader:
    """A reader for the reply that begins with this head."""

    def choose(start: bytes, *, last: bool) -> ReplyReader | None:
        """Without `alt=sse` a stream is a JSON array; the content type is that of one object."""
        begun = start.lstrip(_BLANK)
        if begun.startswith(b"["):
            return JsonReply(reply, GeminiAnswer(), JsonArrayParser())
        return JsonReply(reply, GeminiAnswer()) if begun or last else None

    return DeferredReply(choose)


class GeminiAnswer:
    """Interprets the objects of one reply."""

    def __init__(self) -> None:
        self._finished = False

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """One `GenerateContentResponse` of a stream."""
        del name  # the API names no events; `error` was seen by the reader
        self.body(value, tally)

    def body(self, value: JsonObject, tally: Tally) -> None:
        """One `GenerateContentResponse`; Code Assist wraps it."""
        value = as_object(value.get("response")) or value
        tally.model = tally.model or as_text(value.get("modelVersion")) or None
        candidates = as_objects(value.get("candidates"))
        if len(candidates) > 1 or any(candidate.get("index") for candidate in candidates):
            tally.note("several_choices", "reply")
        for candidate in candidates:
            self._candidate(candidate, tally)
        # A prompt that was turned down has no candidates, and why is the only end there is.
        feedback = as_object(value.get("promptFeedback"))
        if reason := as_text(feedback.get("blockReason")):
            tally.finish(reason)
        if usage := value.get("usageMetadata"):
            _bill(as_object(usage), tally)

    def _candidate(self, candidate: JsonObject, tally: Tally) -> None:
        for part in as_objects(as_object(candidate.get("content")).get("parts")):
            for channel, text in _output(part, tally):
                if text and self._finished:
                    tally.resume()
                    self._finished = False
                tally.add(channel, text)
        if reason := as_text(candidate.get("finishReason")):
            tally.finish(reason)
            self._finished = True


def _output(part: JsonObject, tally: Tally) -> Iterator[tuple[Channel, str]]:
    """What was generated in one part, by channel; names of calls go to the tally as well."""
    yield "reasoning" if part.get("thought") is True else "text", as_text(part.get("text"))
    call = as_object(part.get("functionCall"))
    if name := as_text(call.get("name")):
        tally.named(name)
        yield "tool_call", name
    yield "tool_call", _arguments(call)
    if code := as_object(part.get("executableCode")):
        tally.named(_CODE)
        yield "tool_call", as_text(code.get("code"))
    if media := as_object(part.get("inlineData")):
        tally.note("media_output", "reply", as_text(media.get("mimeType"))[:40])


def _arguments(call: JsonObject) -> str:
    """Arguments come whole, or in pieces with `streamFunctionCallArguments`, the name in the first."""
    if arguments := call.get("args"):
        return compact(arguments)
    return "".join(_partial(piece) for piece in as_objects(call.get("partialArgs")))


def _partial(piece: JsonObject) -> str:
    value: Any = next((found for name in _PARTIAL if (found := piece.get(name)) is not None), "")
    return as_text(value) or compact(value) if value != "" else ""


def _bill(meta: JsonObject, tally: Tally) -> None:
    """Counts are cumulative. `promptTokenCount` holds the cached ones, and none of a built-in tool's."""
    prompt, candidates, thoughts, tool_use, total = (
        as_count(meta.get(f"{name}TokenCount"))
        for name in ("prompt", "candidates", "thoughts", "toolUsePrompt", "total")
    )
    output = (
        None if candidates is None and thoughts is None else (candidates or 0) + (thoughts or 0)
    )
    if candidates and thoughts and total == (prompt or 0) + (tool_use or 0) + candidates:
        output = candidates  # some of Vertex's models count thoughts in there already
    tally.bill(
        Usage(
            input=prompt,
            output=output,
            cached=as_count(meta.get("cachedContentTokenCount")),
            reasoning=thoughts,
        )
    )
    tally.report({"toolUsePromptTokenCount": tool_use})
    for detail in as_objects(meta.get("promptTokensDetails")):
        if modality := as_text(detail.get("modality")):
            tally.report({modality: detail.get("tokenCount")}, "promptTokensDetails.")
