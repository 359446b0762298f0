"""The figures of one exchange that follow from its marks: waiting, decoding, speeds by their names.

One rule: a figure that would mean nothing is refused, with the reason. Console and analysis both ask
here, so a name means the same in each. u0, the last byte of the request, is the origin of waiting;
decoding runs from the first to the last token, and no event without output moves either end.
"""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .record import Output, Timings

Reason = Literal[
    "not streamed",
    "no token came",
    "tokens unknown",
    "fewer than 16 tokens",
    "fewer than 3 events",
    "decode window collapsed",
    "reasoning was not streamed",
    "request end not seen",
]
"""Why there is no figure. `decode window collapsed`: a gateway or parser held tokens back and let them
go together, so that the time between them says nothing about the engine."""

MIN_TOKENS: Final = 16
MIN_EVENTS: Final = 3

_FASTEST_TOKEN_NS: Final = 50_000
"""No engine decodes one stream faster than 20,000 tokens a second; what looks so was held back."""

_MOST_TOKENS_PER_EVENT: Final = 32
"""Drafts are 3 to 16 tokens long; more in an event of its own came from a buffer."""

_NS_PER_S: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Figure:
    """A number or the reason why there is none: exactly one of the two."""

    value: float | None
    refused: Reason | None = None


@dataclass(frozen=True, slots=True)
class Gaps:
    """Time between events that carried output, in ns. Events, not tokens: never called ITL."""

    p50_ns: int
    p95_ns: int
    max_ns: int


def ttft_ns(timings: Timings) -> int | None:
    """u0 -> first generated token in any channel; None if the request's end or a token is missing.

    Negative when the server began to answer before it had the whole request.
    """
    return _between(timings.request_end_ns, timings.first_token_ns)


def ttfa_ns(timings: Timings) -> int | None:
    """u0 -> first generated token that is not reasoning; None if none came."""
    answers = (timings.first_visible_text_ns, timings.first_tool_call_ns)
    return _between(
        timings.request_end_ns, min((a for a in answers if a is not None), default=None)
    )


def whole_turn_ns(timings: Timings) -> int | None:
    """u0 -> end of the exchange; None if the request never ended."""
    return _between(timings.request_end_ns, timings.end_ns)


def decode_ns(timings: Timings) -> int | None:
    """D: first token -> last token; None if either is missing."""
    return _between(timings.first_token_ns, timings.last_token_ns)


def tail_ns(timings: Timings) -> int | None:
    """Last token -> end of the exchange: usage, `[DONE]`, the end of the message."""
    return _between(timings.last_token_ns, timings.end_ns)


def tpot_ns(timings: Timings, output: Output) -> Figure:
    """Time for each token after the first event: D / (n - k1), k1 = 1 if the server did not say."""
    refused = _unfit_for_rate(timings, output)
    window = decode_ns(timings)
    if refused or window is None or output.tokens is None:
        return Figure(None, refused or "no token came")
    return Figure(window / (output.tokens - _k1(output)))


def client_speed(timings: Timings, output: Output) -> Figure:
    """tok/s as chat clients show it: n / (end - first token).

    It counts the tokens of the first event and not the time that they took.
    """
    return _speed(output.tokens, _between(timings.first_token_ns, timings.end_ns), output)


def decode_speed(timings: Timings, output: Output) -> Figure:
    """tok/s over the decode window: n / D."""
    return _speed(output.tokens, decode_ns(timings), output)


def step_speed(timings: Timings, output: Output) -> Figure:
    """tok/s after the first event: (n - k1) / D, the reciprocal of TPOT, refused with it."""
    tpot = tpot_ns(timings, output)
    return tpot if tpot.value is None else Figure(_NS_PER_S / tpot.value)


def request_speed(timings: Timings, output: Output) -> Figure:
    """tok/s of one request: n / (last token - u0). The figure to read at low concurrency."""
    if timings.request_end_ns is None:
        return Figure(None, "request end not seen")
    return _speed(output.tokens, _between(timings.request_end_ns, timings.last_token_ns), output)


def turn_speed(timings: Timings, output: Output) -> Figure:
    """tok/s over the whole turn: n / (end - u0). The only one that an answer not streamed has."""
    if timings.request_end_ns is None:
        return Figure(None, "request end not seen")
    return _speed(output.tokens, whole_turn_ns(timings), output)


def gaps(event_ns: Sequence[int]) -> Gaps | None:
    """Gaps between the times of events; None with fewer than two events.

    Percentiles between two gaps are interpolated linearly (`statistics.quantiles`, inclusive: the gaps
    are all there were, not a sample).
    """
    between = [later - earlier for earlier, later in itertools.pairwise(event_ns)]
    if len(between) < 2:
        return Gaps(between[0], between[0], between[0]) if between else None
    cuts = statistics.quantiles(between, n=20, method="inclusive")
    return Gaps(round(cuts[9]), round(cuts[18]), max(between))


def tokens_per_event(tokens: int | None, k1: int | None, events: int) -> float | None:
    """(n - k1) / (events - 1), k1 = 1 if unknown: near the acceptance length under speculation.

    None with fewer than two events, or if the number of tokens is not known.
    """
    if tokens is None or events < 2:
        return None
    return max(tokens - (k1 or 1), 0) / (events - 1)


def _unfit_for_rate(timings: Timings, output: Output) -> Reason | None:
    """Why no rate per token can be given; None if one can."""
    missing = _missing(output)
    if missing or output.tokens is None or output.events is None:
        return missing
    if output.tokens < MIN_TOKENS:
        return "fewer than 16 tokens"
    if output.events < MIN_EVENTS:
        return "fewer than 3 events"
    if output.reasoning_tokens and timings.first_reasoning_ns is None:
        # The window misses the thinking that the tokens include (awslabs/llmeter#99).
        return "reasoning was not streamed"
    return _collapsed(output.tokens - _k1(output), decode_ns(timings), output)


def _collapsed(tokens: int, window_ns: int | None, output: Output) -> Reason | None:
    if window_ns is None:
        return "no token came"
    crowded = (output.tokens_per_event or 0) > _MOST_TOKENS_PER_EVENT
    if tokens <= 0 or window_ns < tokens * _FASTEST_TOKEN_NS or crowded:
        return "decode window collapsed"
    return None


def _missing(output: Output) -> Reason | None:
    if output.events is None:
        return "not streamed"
    if output.events == 0:
        return "no token came"
    return "tokens unknown" if output.tokens is None else None


def _speed(tokens: int | None, window_ns: int | None, output: Output) -> Figure:
    if tokens is None:
        return Figure(None, "tokens unknown")
    if window_ns is None:
        return Figure(None, _missing(output) or "no token came")
    if window_ns <= 0:
        return Figure(None, "decode window collapsed")
    return Figure(tokens * _NS_PER_S / window_ns)


def _k1(output: Output) -> int:
    return 1 if output.k1 is None else output.k1


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start
