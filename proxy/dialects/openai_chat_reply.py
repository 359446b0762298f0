"""The reply of chat completions, streamed and not, as the servers of this format really send it.

One rule: every choice and every channel is looked at. `delta` and `message` hold the same fields, so
one reading serves both; what differs is how the pieces of a tool call are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from .fields import as_count, as_items, as_object, as_objects, as_text
from .json_text import compact
from .openai_figures import read_figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .fields import JsonObject
    from .tally import Channel, Tally

_REASONING: Final = (
    "reasoning",  # vLLM, Ollama, OpenRouter
    "reasoning_content",  # llama.cpp, SGLang, DeepSeek, older vLLM; some send both with one text
)
_THINKING_PARTS: Final = ("thinking", "reasoning")

_OPEN_BOUND: Final = 256
"""Calls of one reply that are told apart by their index at a time."""

_NAME_BOUND: Final = 1024
"""Characters of a name, or of an id, that are looked at."""


class ChatReply:
    """Interprets the objects of one reply."""

    def __init__(self) -> None:
        self._calls = _Calls()

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """One `chat.completion.chunk`."""
        del name  # this format's events have none; `error` was seen by the reader
        for choice in self._choices(value, tally):
            # A gateway that fakes a stream may put a whole `message` in its one event.
            delta = choice.get("delta") if "delta" in choice else choice.get("message")
            self._output(choice, as_object(delta), tally)
        read_figures(value, tally)

    def body(self, value: JsonObject, tally: Tally) -> None:
        """One `chat.completion`."""
        for choice in self._choices(value, tally):
            message = as_object(choice.get("message"))
            calls = as_objects(message.get("tool_calls"))
            numbered = [{**call, "index": n} for n, call in enumerate(calls)]
            self._output(choice, {**message, "tool_calls": numbered}, tally)
        read_figures(value, tally)

    def _choices(self, value: JsonObject, tally: Tally) -> list[JsonObject]:
        choices = as_objects(value.get("choices"))
        if len(choices) > 1 or any(choice.get("index") for choice in choices):
            tally.note("several_choices", "reply")
        return choices

    def _output(self, choice: JsonObject, delta: JsonObject, tally: Tally) -> None:
        if drawn := choice.get("token_ids"):  # vLLM with return_token_ids
            tally.drew(len(as_items(drawn)))
        for channel, text in _texts(delta):
            tally.add(channel, text)
        if as_object(delta.get("audio")).get("data"):
            tally.note("audio_output", "reply", "only its transcript is counted")
        number = as_count(choice.get("index")) or 0
        for n, call in enumerate(as_objects(delta.get("tool_calls"))):
            self._calls.take(number, call, tally, follows=n > 0)
        if legacy := as_object(delta.get("function_call")):
            self._calls.take(number, {"index": 0, "function": legacy}, tally)
        if reason := as_text(choice.get("finish_reason")):
            tally.finish(reason)


def _texts(delta: JsonObject) -> Iterator[tuple[Channel, str]]:
    """Generated texts with their channels; what is no text is left out."""
    thoughts = (as_text(delta.get(name)) for name in _REASONING)
    if thought := next(filter(None, thoughts), ""):
        yield "reasoning", thought
    content = delta.get("content")
    if isinstance(content, str):
        yield "text", content
    for part in as_objects(content):  # Mistral sends thinking as parts
        channel: Channel = "reasoning" if part.get("type") in _THINKING_PARTS else "text"
        yield channel, _part_text(part)
    if refusal := delta.get("refusal"):
        yield "refusal", as_text(refusal)
    if audio := delta.get("audio"):
        yield "text", as_text(as_object(audio).get("transcript"))


def _part_text(part: JsonObject) -> str:
    inner = part.get(as_text(part.get("type")))
    whole = as_text(inner) or as_text(part.get("text"))
    return whole or "".join(as_text(piece.get("text")) for piece in as_objects(inner))


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call of which more pieces may come."""

    identity: str
    """Its `id`; empty when the server gave none."""
    number: int
    """The tally's."""
    name: str
    """As far as it came."""


class _Calls:
    """Tells the pieces of one call from the next call.

    Servers differ: an index with each piece; none at all; index 0 for every call, but an id of its own;
    the name with every piece, or in pieces. Only a name can begin a call.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[int, int | None], _Call] = {}

    def take(self, choice: int, piece: JsonObject, tally: Tally, *, follows: bool = False) -> None:
        """Count a piece of a call. `follows`: it is not the first one in its event."""
        inner = as_object(piece.get("function")) or as_object(piece.get("custom"))
        name = as_text(inner.get("name"))[:_NAME_BOUND]
        place = (choice, as_count(piece.get("index")))
        if name:
            identity = as_text(piece.get("id"))[:_NAME_BOUND]
            call = self._open.get(place)
            known = "" if call is None else call.name
            unnumbered = place[1] is None and (follows or name != known)
            if call is None or unnumbered or _differ(identity, call.identity):
                self._keep(place, _Call(identity, tally.call(name), name))
            elif name != known:
                tally.named_on(call.number, name)
                self._keep(place, replace(call, name=(known + name)[:_NAME_BOUND]))
        tally.add("tool_call", _arguments(inner))

    def _keep(self, place: tuple[int, int | None], call: _Call) -> None:
        """Remember an open call; of too many the oldest is forgotten, which by then is whole."""
        if len(self._open) >= _OPEN_BOUND and place not in self._open:
            del self._open[next(iter(self._open))]
        self._open[place] = call


def _differ(one: str, other: str) -> bool:
    return bool(one and other) and one != other


def _arguments(inner: JsonObject) -> str:
    """Arguments are JSON as text; some servers send the object itself, custom tools an `input`."""
    given: Any = inner.get("arguments", inner.get("input"))
    return as_text(given) or (compact(given) if isinstance(given, dict) and given else "")
