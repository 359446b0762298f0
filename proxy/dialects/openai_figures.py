"""What servers with OpenAI's formats say about their own work: usage, timings, progress.

One rule: each is read where its server puts it, and reported under the server's own names. Counts that
mean the same go to the tally as `Usage`; a figure that is not a count is only reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .base import Usage
from .fields import as_count, as_object, as_objects, as_text, first_count

if TYPE_CHECKING:
    from .fields import JsonObject
    from .tally import Tally

_FIGURES: Final = (
    ("timings", ""),  # llama.cpp
    ("prompt_progress", "prompt_progress."),  # llama.cpp with return_progress
    ("metrics", ""),  # vLLM with --enable-per-request-metrics
    ("sglext", ""),  # SGLang
    ("stats", ""),  # LM Studio, NIM
)
"""Objects of figures, and what to put before their names where those alone say too little."""

_CACHED: Final = (
    "prompt_tokens_details.cached_tokens",
    "prompt_cache_hit_tokens",  # DeepSeek
    "cached_tokens",  # Moonshot
)
_CACHE_WRITE: Final = (
    "prompt_tokens_details.created_cache_tokens",  # vLLM
    "prompt_tokens_details.cache_write_tokens",  # OpenRouter
)
_REASONING: Final = (
    "completion_tokens_details.reasoning_tokens",
    "reasoning_tokens",  # SGLang
)


def read_figures(value: JsonObject, tally: Tally) -> None:
    """Take the model's name and all figures of one event or whole reply into the tally."""
    tally.model = tally.model or as_text(value.get("model")) or None
    tally.fingerprint = tally.fingerprint or as_text(value.get("system_fingerprint")) or None
    if usage := value.get("usage"):
        # An event without choices is the bill that `include_usage` asks for; one with choices runs.
        tally.bill(_usage(as_object(usage)), final=not value.get("choices"))
    if timings := value.get("timings"):
        tally.timed(_timed(as_object(timings)))
    for name, prefix in _FIGURES:
        if figures := value.get(name):
            tally.report(as_object(figures), prefix)
    stopped = as_text(as_object(value.get("stats")).get("stop_reason"))  # LM Studio
    tally.word("stop_reason", stopped)
    for choice in as_objects(value.get("choices"))[:1]:
        if figures := choice.get("meta_info"):  # SGLang with return_meta_info
            tally.report(as_object(figures))


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        input=as_count(usage.get("prompt_tokens")),
        output=as_count(usage.get("completion_tokens")),
        cached=first_count(usage, *_CACHED),
        cache_write=first_count(usage, *_CACHE_WRITE),
        reasoning=first_count(usage, *_REASONING),
    )


def _timed(timings: JsonObject) -> Usage:
    """llama.cpp: `prompt_n` leaves cached tokens out, so without `cache_n` the prompt is not known."""
    cached = as_count(timings.get("cache_n"))
    read = as_count(timings.get("prompt_n"))
    whole = None if cached is None or read is None else cached + read
    return Usage(input=whole, output=as_count(timings.get("predicted_n")), cached=cached)
