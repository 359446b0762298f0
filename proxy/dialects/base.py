"""What every dialect speaks: the question it is asked and the reading it gives.

One rule: a dialect never raises on what others sent. It returns what it understood, plus notes. None
means "not said"; it is never the same as zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.wire.exchange import Note
    from proxy.wire.head import ReplyHead, RequestHead

    from .slices import Slices

PartName = Literal["system", "tools", "history", "tool_results", "question", "media", "template"]
"""What a piece of the prompt is for. `template` is the chat template's own and is never counted from text."""


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One piece of the prompt, in the order in which templates render it: tools, system, messages."""

    part: PartName
    role: str
    """The role as sent (`system`, `developer`, `user`, `assistant`, `tool`); `tool` for a definition,
    `injected` for what a client put among the words of the user and marked."""
    text: str
    """What the model reads. Media: the kind (`image`, `audio`), never its encoded bytes."""
    name: str = ""
    """A tool's name for part `tools`; empty otherwise."""
    message: int | None = None
    """Which of the request's messages it stands in, from 0; None: in none, as tools do."""

    def within(self, message: int) -> PromptPart:
        """The same piece, of a message. Half the time of `replace`: agents send hundreds of pieces a turn."""
        return PromptPart(self.part, self.role, self.text, self.name, message)


@dataclass(frozen=True, slots=True)
class RequestReading:
    """What a request asked for."""

    model: str | None = None
    stream: bool | None = None
    """Whether the answer was to be streamed; None where the request cannot say."""
    max_tokens: int | None = None
    sampling: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    """Sampling fields as sent (`temperature`, `top_p`, ...); only those that were."""
    parts: tuple[PromptPart, ...] = ()
    whole: bool = True
    """False when the model reads more than was sent, so that the bill is for more than `parts`."""
    generation: bool = True
    """False when it does not ask a model for output (a model list, a count, a health check)."""
    slices: Slices | None = None
    """Its prompt in slices, for a server's own tokenizer; None: no server counts such a request."""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server billed them. None: it did not say."""

    input: int | None = None
    """The whole prompt, cached tokens included."""
    output: int | None = None
    """All generated tokens, reasoning included."""
    cached: int | None = None
    """Prompt tokens taken from a cache."""
    cache_write: int | None = None
    reasoning: int | None = None


OutputSource = Literal["usage", "timings", "continuous usage"]


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """What a reply said. Times are monotonic ns: the arrival of the last byte of an event."""

    streamed: bool = False
    """True when the reply came as events."""
    model: str | None = None
    first_event_ns: int | None = None
    first_token_ns: int | None = None
    """First generated token in any channel. None if none came, or if the reply was not streamed."""
    first_reasoning_ns: int | None = None
    first_visible_text_ns: int | None = None
    first_tool_call_ns: int | None = None
    last_token_ns: int | None = None
    terminal_event_ns: int | None = None
    """The event that says that the generation is over (finish reason or `[DONE]`, the first)."""
    token_event_ns: tuple[int, ...] = ()
    """Time of each event that carried generated output."""
    k1: int | None = None
    """Tokens in the first such event; None unless the server said it."""
    usage: Usage = field(default_factory=Usage)
    output_source: OutputSource | None = None
    """Where `usage.output` comes from; None if it is None."""
    reported: Mapping[str, float | int | str | None] = field(default_factory=dict)
    """The server's own figures under its own names, such as llama.cpp's `prompt_ms`."""
    finish_reason: str | None = None
    """As the server gave it."""
    called: tuple[str, ...] = ()
    """Names of the tools that were called, in order, one for each call."""
    text: str = ""
    """Generated text of all channels, bounded: for counting only, never written anywhere."""
    error_type: str | None = None
    """The server's own name of an error, from an error event or an error body."""
    error_event: bool = False
    """True when an error came inside a reply that had begun well."""
    fingerprint: str | None = None
    notes: tuple[Note, ...] = ()


class ReplyReader(Protocol):
    """Reads one reply as it comes. Never raises on content."""

    def feed(self, data: bytes, at_ns: int) -> None:
        """Take a piece of the decoded body."""

    def close(self) -> None:
        """No more will come."""

    def reading(self) -> ReplyReading:
        """What was understood so far."""


class Dialect(Protocol):
    """One vendor's format. Adding one: a file, a table row, a corpus folder, a row in the docs."""

    @property
    def name(self) -> str:
        """The name in the record."""

    def bid(self, request: RequestHead, start: bytes) -> int:
        """How sure it is that this request is its own, 0 (no) to 100.

        `start` holds the first bytes of the body, decoded. The highest bid wins; ties go to the
        earlier row of the table.
        """

    def read_request(self, request: RequestHead, body: bytes) -> RequestReading:
        """What the request asked for."""

    def reply_reader(self, request: RequestHead, reply: ReplyHead) -> ReplyReader:
        """A reader for the reply that begins with this head."""
