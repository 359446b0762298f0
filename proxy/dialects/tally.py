"""What a reply adds up to, whatever its format: the rules of the measured names, in one place.

One rule: only generated output moves the token times. Role openers, empty strings, pings, progress
notes and usage never do, so a dialect just says what it saw and cannot get the clock wrong. Usage is
cumulative on every event that carries it: the last one wins, nothing is summed.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from proxy.wire.exchange import Note

from .base import ReplyReading, Usage
from .fields import as_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base import OutputSource

Channel = Literal["text", "reasoning", "refusal", "tool_call"]
"""Where generated output goes. A refusal is visible to the reader as text is."""

TEXT_BOUND: Final = 4 * 2**20
"""Characters of generated text kept for counting: a million tokens. Beyond it a note says so."""

_REPORT_BOUND: Final = 64
_CALLS_BOUND: Final = 256
_NAME_BOUND: Final = 200
"""Calls, and characters of a name, that are kept: a record holds no more of them."""

_DEPTH_BOUND: Final = 4


class Tally:
    """Accumulates one reply. A dialect calls `begin`, what it saw, `end`, for each event or body."""

    def __init__(self, status: int) -> None:
        self.model: str | None = None
        self.fingerprint: str | None = None
        self._called: list[str] = []
        self._calls = 0
        self._status = status
        self._at_ns: int | None = None
        self._first_event_ns: int | None = None
        self._first_ns: dict[Channel, int] = {}
        self._token_events: list[int] = []
        self._in_token_event = False
        self._terminal_ns: int | None = None
        self._finished = False
        self._finish_reason: str | None = None
        self._texts: list[str] = []
        self._characters = 0
        self._running: int | None = None
        self._drawn = 0
        self._k1: int | None = None
        self._usage = Usage()
        self._usage_is_final = False
        self._timed = Usage()
        self._reported: dict[str, float | int | str | None] = {}
        self._error: str | None = None
        self._failed = False
        self._notes: dict[str, Note] = {}

    def begin(self, at_ns: int | None) -> None:
        """An event that arrived at `at_ns`; None for a whole body, which has no time of its own."""
        self._at_ns = at_ns
        self._in_token_event = False
        self._running = None
        if self._first_event_ns is None:
            self._first_event_ns = at_ns

    def end(self) -> None:
        """The event is read: if it was the first with output, what it said of counts is k1."""
        if self._in_token_event and len(self._token_events) == 1:
            self._k1 = self._running or self._drawn or None

    def add(self, channel: Channel, text: str) -> None:
        """Generated output. An empty string is none."""
        if not text:
            return
        self._characters += len(text)
        if self._characters <= TEXT_BOUND:
            self._texts.append(text)
        else:
            self._keep_start(text)
        at_ns = self._at_ns
        if at_ns is None:
            return
        if channel not in self._first_ns:
            self._first_ns[channel] = at_ns
        if not self._in_token_event:
            self._in_token_event = True
            self._token_events.append(at_ns)

    def call(self, name: str) -> int:
        """A tool call began, and its name is output. Returns its number, from 0."""
        self.add("tool_call", name)
        return self.named(name)

    def named(self, name: str) -> int:
        """A tool call began; the output that it is has been added, or will be."""
        self._calls += 1
        if self._calls <= _CALLS_BOUND:
            self._called.append(name[:_NAME_BOUND])
        return self._calls - 1

    def named_on(self, call: int, more: str) -> None:
        """More of the name of a call, by its number."""
        if call < len(self._called):
            self._called[call] = (self._called[call] + more)[:_NAME_BOUND]
        self.add("tool_call", more)

    def finish(self, reason: str | None = None) -> None:
        """The generation is over. Of several reasons (several choices) the first is kept."""
        self._finished = True
        if self._terminal_ns is None:
            self._terminal_ns = self._at_ns
        if self._finish_reason is None and reason:
            self._finish_reason = reason

    def resume(self) -> None:
        """Output goes on: the finish that was told is taken back, as if it had not been."""
        self._finished = False
        self._finish_reason = None
        self._terminal_ns = None

    def bill(self, usage: Usage, *, final: bool = False) -> None:
        """The server's bill so far.

        `final` says that it is no running count; one with or after the finish, or in a whole body, is
        final anyway.
        """
        self._usage = _over(self._usage, usage)
        if usage.output is not None:
            self._running = usage.output
            self._usage_is_final = final or self._finished or self._at_ns is None

    def timed(self, usage: Usage) -> None:
        """Counts from the server's own timings: the rung below the bill."""
        self._timed = _over(self._timed, usage)
        if self._running is None:
            self._running = usage.output

    def drew(self, tokens: int) -> None:
        """Tokens that this event carries, where a server says it event by event."""
        self._drawn += tokens

    def report(self, figures: Mapping[str, Any], prefix: str = "", depth: int = 0) -> None:
        """The server's own figures: numbers under its own names, objects inside joined by dots."""
        for key, value in figures.items():
            name = f"{prefix}{key}"[:80]
            number = as_number(value)
            if isinstance(value, dict) and depth < _DEPTH_BOUND:
                self.report(value, f"{name}.", depth + 1)
            elif number is not None and (
                name in self._reported or len(self._reported) < _REPORT_BOUND
            ):
                self._reported[name] = number

    def word(self, name: str, text: str) -> None:
        """A word of the server's own, such as why it stopped, among its figures. An empty one is none."""
        if text and len(self._reported) < _REPORT_BOUND:
            self._reported[name] = text[:80]

    def error(self, name: str | None) -> None:
        """The server said that it failed, and how it calls that."""
        self._failed = True
        self._error = self._error or name

    def note(self, code: str, where: str, detail: str = "") -> None:
        """Something not understood. Only the first of a code is kept."""
        self._notes.setdefault(code, Note(code, where, detail))

    def reading(self, *, streamed: bool) -> ReplyReading:
        """What it adds up to."""
        usage, source = self._settle()
        events = self._token_events
        visible = [self._first_ns[c] for c in ("text", "refusal") if c in self._first_ns]
        return ReplyReading(
            streamed=streamed,
            model=self.model,
            first_event_ns=self._first_event_ns,
            first_token_ns=events[0] if events else None,
            first_reasoning_ns=self._first_ns.get("reasoning"),
            first_visible_text_ns=min(visible, default=None),
            first_tool_call_ns=self._first_ns.get("tool_call"),
            last_token_ns=events[-1] if events else None,
            terminal_event_ns=self._terminal_ns,
            token_event_ns=tuple(events),
            k1=self._k1,
            usage=usage,
            output_source=source,
            reported=dict(self._reported),
            finish_reason=self._finish_reason,
            called=tuple(self._called),
            text="".join(self._texts),
            error_type=self._error,
            error_event=self._failed and self._status < 400,
            fingerprint=self.fingerprint,
            notes=tuple(self._noted()),
        )

    def _keep_start(self, text: str) -> None:
        """Of a text for which there is no room only what there is room for."""
        self.note("text_bounded", "reply", f"first {TEXT_BOUND} characters kept for counting")
        if room := TEXT_BOUND - (self._characters - len(text)):
            self._texts.append(text[:room])
        self._characters = TEXT_BOUND

    def _settle(self) -> tuple[Usage, OutputSource | None]:
        """Each count from the highest rung that has it: usage, timings, continuous usage."""
        usage = replace(self._usage, input=self._usage.input or None)  # a prompt is never empty
        if self._bills_nothing():
            usage = replace(usage, output=None)
        settled = _over(self._timed, usage)
        if usage.output is not None and self._usage_is_final:
            return settled, "usage"
        if self._timed.output is not None:
            return replace(settled, output=self._timed.output), "timings"
        return settled, None if usage.output is None else "continuous usage"

    def _bills_nothing(self) -> bool:
        """True for a zero beside an answer: gateways fill it in where they know nothing."""
        return self._usage.output == 0 and bool(self._texts)

    def _noted(self) -> list[Note]:
        notes = list(self._notes.values())
        if self._bills_nothing():
            notes.append(Note("usage_zero", "reply", "no output billed, but there was some"))
        return notes


def _over(lower: Usage, upper: Usage) -> Usage:
    """Field by field: what the upper one says, else what the lower one does."""
    said = {f.name: getattr(upper, f.name) for f in fields(Usage)}
    return replace(lower, **{name: count for name, count in said.items() if count is not None})
