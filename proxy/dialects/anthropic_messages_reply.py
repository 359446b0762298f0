"""The reply of a Messages request, streamed and not.

One rule: what a delta holds tells its channel, and the bill is kept field by field. Usage is cumulative
and comes twice; servers differ in which counts they repeat at the end (llama.cpp: only the output).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Usage
from .fields import JsonObject, as_count, as_object, as_objects, as_text, first_count
from .json_text import compact

if TYPE_CHECKING:
    from .tally import Channel, Tally

_DELTAS: Final[tuple[tuple[str, Channel], ...]] = (
    ("text", "text"),
    ("thinking", "reasoning"),
    ("partial_json", "tool_call"),
)
"""Fields with generated output. Signatures and citations are none."""

_INPUT: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OUTPUT: Final = "output_tokens"
_THINKING: Final = "output_tokens_details.thinking_tokens"


class MessagesReply:
    """Interprets the events of one reply, or its body."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def event(self, name: str, value: JsonObject, tally: Tally) -> None:
        """One event. Its type stands in the data; some gateways leave it to the SSE name."""
        kind = as_text(value.get("type")) or name
        if kind == "message_start":
            self._start(as_object(value.get("message")), tally)
        elif kind == "content_block_start":
            _block(as_object(value.get("content_block")), tally)
        elif kind == "content_block_delta":
            _output(as_object(value.get("delta")), tally)
        elif kind == "message_delta":
            self._end(as_object(value.get("delta")), value, tally)
        elif kind == "message_stop":
            tally.finish()
        elif kind == "message":  # a gateway that fakes a stream puts the whole message in one event
            self.body(value, tally)

    def body(self, value: JsonObject, tally: Tally) -> None:
        """One whole message."""
        tally.model = tally.model or as_text(value.get("model")) or None
        for block in as_objects(value.get("content")):
            _block(block, tally)
        self._end(value, value, tally)

    def _start(self, message: JsonObject, tally: Tally) -> None:
        """The message as it begins. Its output count is a placeholder: nothing is generated yet."""
        usage = {k: v for k, v in as_object(message.get("usage")).items() if k != _OUTPUT}
        self.body({**message, "usage": usage}, tally)

    def _end(self, holder: JsonObject, value: JsonObject, tally: Tally) -> None:
        if reason := as_text(holder.get("stop_reason")):
            tally.finish(reason)
        if usage := as_object(value.get("usage")):
            tally.bill(self._usage(usage))
            tally.report({k: v for k, v in usage.items() if k == "server_tool_use"})

    def _usage(self, usage: JsonObject) -> Usage:
        """The bill so far. `input_tokens` leaves out what was read from a cache or written to one.

        https://platform.claude.com/docs/en/build-with-claude/prompt-caching
        """
        for name in (*_INPUT, _OUTPUT):
            count = as_count(usage.get(name))
            if count is not None:
                self._counts[name] = count
        told = [self._counts.get(name) for name in _INPUT]
        fresh, cached, cache_write = told
        return Usage(
            input=None if fresh is None else sum(count or 0 for count in told),
            output=self._counts.get(_OUTPUT),
            cached=cached,
            cache_write=cache_write,
            reasoning=first_count(usage, _THINKING),
        )


def _block(block: JsonObject, tally: Tally) -> None:
    """A content block, whole or as it starts: a text starts empty, a call with its name."""
    kind = as_text(block.get("type"))
    if kind.endswith("tool_use"):
        if name := as_text(block.get("name")):
            tally.call(name)
        if given := block.get("input"):
            tally.add("tool_call", compact(given))
    elif kind == "redacted_thinking":
        tally.note("content_encrypted", "reply", kind)
    elif not kind.endswith("tool_result"):  # which the server's own tool gave, not the model
        _output(block, tally)


def _output(holder: JsonObject, tally: Tally) -> None:
    for name, channel in _DELTAS:
        tally.add(channel, as_text(holder.get(name)))
