"""How long one exchange read its prompt, and how many tokens that were: as the server said, or as seen.

One rule: a figure is used only where its meaning is known. Half of one, a text or a zero says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from analysis.store.recorded import ttft_ns

from .prompt import cached_tokens, uncached_tokens

if TYPE_CHECKING:
    from analysis.store.recorded import Record

MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000

LONGEST_MS: Final = 1e12
"""30 years: a longer time in a server's figures is no time."""


class Reading(NamedTuple):
    """One exchange's prefill: how long for how many tokens."""

    ns: int
    tokens: int


def reported_prefill(record: Record) -> Reading | None:
    """The server's own prefill figures; None where it gave none. Queue and cached tokens are left out.

    llama.cpp: `timings.prompt_ms` and `prompt_n`. vLLM: `metrics.time_to_first_token_ms`, which begins
    when the request is scheduled and so has no queue in it. Ollama: `prompt_eval_duration`; its count
    is of the whole prompt, so without a word on the cache the two do not belong together. SGLang:
    `meta_info`'s moments, in seconds. The last three go with the bill's uncached tokens.
    """
    ns, tokens = reported_ns(record, "prompt_ms"), record.reported.get("prompt_n")
    if ns is not None or tokens is not None:
        said = ns and isinstance(tokens, int) and tokens > 0
        return Reading(ns, tokens) if said else None  # type: ignore[arg-type] # both are whole numbers here
    ns = reported_ns(record, "time_to_first_token_ms") or _ollama_ns(record) or _sglang_ns(record)
    anew = uncached_tokens(record)
    return Reading(ns, anew) if ns and anew else None


def reported_ns(record: Record, name: str, ns_per_unit: float = MS) -> int | None:
    """A figure of the server's that is a time, in ms unless said; None if it is missing or none can be."""
    figure = record.reported.get(name)
    if not isinstance(figure, int | float) or not 0 <= figure * ns_per_unit < LONGEST_MS * MS:
        return None
    return round(figure * ns_per_unit)


def observed(record: Record) -> Reading | None:
    """TTFT in place of prefill; None where the two have nothing to do with each other.

    A server that does not speak of its cache may have had any part of a prompt that goes on from an
    earlier one: how many tokens that wait was for is not known.
    """
    ns, tokens = ttft_ns(record.timings), uncached_tokens(record)
    if ns is None or not tokens or ns <= 0:
        return None
    goes_on = record.prefix is not None and bool(record.prefix.expected)
    return None if goes_on and cached_tokens(record) is None else Reading(ns, tokens)


def quiet(record: Record) -> bool:
    """Whether no other exchange ran through this proxy while it did."""
    return record.load.in_flight_at_arrival == 1 and record.load.in_flight_peak == 1


def _ollama_ns(record: Record) -> int | None:
    return (
        None
        if cached_tokens(record) is None
        else reported_ns(record, "prompt_eval_duration", ns_per_unit=1)
    )


def _sglang_ns(record: Record) -> int | None:
    begin, end = (
        record.reported.get("forward_entry_time"),
        record.reported.get("prefill_finished_time"),
    )
    if not isinstance(begin, int | float) or not isinstance(end, int | float):
        return None
    seconds = end - begin
    return round(seconds * NS_PER_S) if 0 < seconds < LONGEST_MS / 1000 else None
