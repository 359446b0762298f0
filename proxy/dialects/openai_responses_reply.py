"""The reply of the Responses API: a stream of typed events, over HTTP or a WebSocket, or one object.

One rule: output counts once. It comes in deltas, again in `*.done` events, again in the whole item and
again in the last event; the deltas carry the clock, and the rest only what no delta had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Usage
from .fields import as_count, as_object, as_objects, as_text, first_count
from .openai_figures import read_figures
from .openai_responses_items import as_words, call_name, outputs
from .reply import error_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .fields import JsonObject
    from .tally import Channel, Tally

_DELTAS: Final[Mapping[str, Channel]] = {
    "response.output_text.delta": "text",
    "response.audio.transcript.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning.delta": "reasoning",  # older vLLM
    "response.function_call_arguments.delta": "tool_call",
    "response.custom_tool_call_input.delta": "tool_call",
    "response.mcp_call_arguments.delta": "tool_call",
    "response.mcp_call.arguments_delta": "tool_call",  # OpenAI until mid 2025
    "response.code_interpreter_call_code.delta": "tool_call",
    "response.code_interpreter_call.code.delta": "tool_call",  # the same
    "response.shell_call_command.added": "tool_call",
    "response.shell_call_command.delta": "tool_call",
}
"""Not `response.shell_call_output_content.delta`: that is what the tool said."""

_ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
    | {"response.done", "error"}
)
_ITEMS_BOUND: Final = 4096
_KEY_BOUND: Final = 200
"""Items of one response, and characters of what each is known by, that are remembered."""

_RUNNING: Final = ("queued", "in_progress")


def ends(kind: str) -> bool:
    """True for the type of an event that no other one of its response follows."""
    return kind in _ENDS


class ResponsesReply:
    """Interprets the objects of one reply."""

    def __init__(self) -> None:
        self._announced: set[str] = set()
        """Keys of items whose call was counted."""
        self._spoken: set[str] = set()
        """Keys of items of which output was counted."""

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """One event; its type stands in the object, and in the SSE name too."""
        kind = as_text(value.get("type")) or name
        item = as_object(value.get("item"))
        if kind in _DELTAS:
            _remember(self._spoken, _keys(value, item))
            tally.add(_DELTAS[kind], as_words(value.get("delta", value.get("command"))))
        elif kind == "response.output_item.added":
            self._announce(item, _keys(value, item), tally)
        elif kind == "response.output_item.done":
            self._complete(item, _keys(value, item), tally)
        elif kind == "response.audio.delta":
            tally.note("audio_output", "reply", "only its transcript is counted")
        response = as_object(value.get("response"))
        if ends(kind):
            self._end(kind, response, tally)
        self._figures(value, response, tally, final=ends(kind))

    def body(self, value: JsonObject, tally: Tally) -> None:
        """One whole response; of a compacted conversation only what it cost."""
        if value.get("object") != "response.compaction":
            self._whole(value, tally)
        if value.get("status") in _RUNNING:
            tally.note("answer_pending", "reply body", "it is fetched later")
        else:
            tally.finish(_reason(value))
        self._figures(value, value, tally, final=True)

    def _announce(self, item: JsonObject, keys: set[str], tally: Tally) -> None:
        name = call_name(item)
        if name and not keys & self._announced:
            tally.call(name)
        _remember(self._announced, keys)

    def _complete(self, item: JsonObject, keys: set[str], tally: Tally) -> None:
        """A whole item: servers that send no deltas tell its content only here."""
        self._announce(item, keys, tally)
        if not keys & self._spoken:
            for channel, text in outputs(item):
                tally.add(channel, text)
        _remember(self._spoken, keys)

    def _end(self, kind: str, response: JsonObject, tally: Tally) -> None:
        if not self._announced and not self._spoken:  # no item came before: all is in here
            self._whole(response, tally)
        if kind == "response.failed":
            tally.error(error_name(response))
        tally.finish(_reason(response))

    def _whole(self, response: JsonObject, tally: Tally) -> None:
        for number, item in enumerate(as_objects(response.get("output"))):
            self._complete(item, {f"#{number}"}, tally)

    def _figures(
        self, value: JsonObject, response: JsonObject, tally: Tally, *, final: bool
    ) -> None:
        read_figures(value, tally)  # llama.cpp puts its timings beside the response
        if response:
            read_figures(response, tally)
            tally.bill(_usage(as_object(response.get("usage"))), final=final)


def _keys(value: JsonObject, item: JsonObject) -> set[str]:
    """What an item is known by: servers leave out one or the other."""
    index = as_count(value.get("output_index"))
    names = {as_text(value.get("item_id")), as_text(item.get("id")), as_text(item.get("call_id"))}
    return {name[:_KEY_BOUND] for name in names if name} | (
        {f"#{index}"} if index is not None else set()
    )


def _remember(known: set[str], keys: set[str]) -> None:
    if len(known) < _ITEMS_BOUND:
        known |= keys


def _reason(response: JsonObject) -> str | None:
    """Why it ended: the reason it gives, else its status."""
    why = as_object(response.get("incomplete_details")).get("reason")
    return as_text(why) or as_text(response.get("status")) or None


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        input=as_count(usage.get("input_tokens")),
        output=as_count(usage.get("output_tokens")),
        cached=first_count(usage, "input_tokens_details.cached_tokens"),
        cache_write=first_count(usage, "input_tokens_details.cache_write_tokens"),
        reasoning=first_count(usage, "output_tokens_details.reasoning_tokens"),
    )
