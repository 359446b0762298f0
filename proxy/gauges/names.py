"""Which of a server's metrics mean which of our figures: one closed table an engine.

One rule: a figure has the same meaning on each engine, or it is not in that engine's table. So TensorRT-LLM's
`max_num_active_requests` (a limit), SGLang's `cache_hit_rate` (of one prefill batch) and llama.cpp's rates
(which start anew with each question) are in none. docs/metrics.md shows the table; a test holds both together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.journal.gauge import Engine

Kind = Literal["gauge", "counter"]
Over = Literal["sum", "max"]

REPLICAS: Final = frozenset({"tp_rank", "pp_rank", "moe_ep_rank"})
"""Labels that tell shards of one engine apart: SGLang lets each of them report the same requests."""
TOTAL_LABEL: Final = "priority"
"""Empty on the series that is SGLang's own sum over its priorities; the others are its parts."""
STARTED: Final = "process_start_time_seconds"
"""Of prometheus-client's process collector; another value is another process."""


class Row:
    """Where one figure comes from: a running total since the server started, summed over engines."""

    kind: ClassVar[Kind] = "counter"
    over: ClassVar[Over] = "sum"
    """What becomes of several series."""

    def __init__(self, figure: str, *names: str) -> None:
        """`figure` is a field of `GaugeSample`. Of the names the first that the server has counts.

        `a + b` is one name: both, added; one of them alone says nothing.
        """
        self.figure: Final = figure
        self.names: Final = tuple(tuple(name.split(" + ")) for name in names)


class Requests(Row):
    """How many there are at this moment, summed over engines."""

    kind = "gauge"


class Share(Row):
    """From 0 to 1 at this moment. A sum means nothing, and the fullest engine decides who has to wait."""

    kind = "gauge"
    over = "max"


# vllm/v1/metrics/loggers.py and vllm/v1/spec_decode/metrics.py; the `gpu_` names until 0.10.
_VLLM: Final = (
    Requests("running", "vllm:num_requests_running"),
    Requests("waiting", "vllm:num_requests_waiting"),
    Share("kv_usage", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    Row("prompt_tokens", "vllm:prompt_tokens_total"),
    Row("generation_tokens", "vllm:generation_tokens_total"),
    Row("cache_queries", "vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
    Row("cache_hits", "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
    Row("drafts", "vllm:spec_decode_num_drafts_total"),
    Row("drafted", "vllm:spec_decode_num_draft_tokens_total"),
    Row("accepted", "vllm:spec_decode_num_accepted_tokens_total"),
    Row("preemptions", "vllm:num_preemptions_total"),
)
# SGLang's metrics collector and its page "Production Metrics". Drafted and accepted tokens are gauges of
# the last log interval there, so they are left out.
_SGLANG: Final = (
    Requests("running", "sglang:num_running_reqs"),
    Requests("waiting", "sglang:num_queue_reqs"),
    Share("kv_usage", "sglang:token_usage"),
    Row("prompt_tokens", "sglang:prompt_tokens_total"),
    Row("generation_tokens", "sglang:generation_tokens_total"),
    Row("cache_queries", "sglang:prompt_tokens_total"),
    Row("cache_hits", "sglang:cached_tokens_total"),
    Row("drafts", "sglang:spec_verify_calls_total"),
    Row("preemptions", "sglang:num_retracted_requests_total"),
)
# tools/server/README.md and server-context.cpp. Its prompt tokens are those that were not cached.
_LLAMACPP: Final = (
    Requests("running", "llamacpp:requests_processing"),
    Requests("waiting", "llamacpp:requests_deferred"),
    Share("kv_usage", "llamacpp:kv_cache_usage_ratio"),
    Row("prompt_tokens", "llamacpp:prompt_tokens_total + llamacpp:prompt_tokens_cached_total"),
    Row("generation_tokens", "llamacpp:tokens_predicted_total"),
    Row("cache_queries", "llamacpp:prompt_tokens_total + llamacpp:prompt_tokens_cached_total"),
    Row("cache_hits", "llamacpp:prompt_tokens_cached_total"),
    Row("drafts", "llamacpp:spec_decode_num_drafts_total"),
    Row("drafted", "llamacpp:spec_decode_num_draft_tokens_total"),
    Row("accepted", "llamacpp:spec_decode_num_accepted_tokens_total"),
)
# tensorrt_llm/metrics/collector.py, served at `/prometheus/metrics`.
_TENSORRT_LLM: Final = (
    Requests("running", "trtllm_num_requests_running"),
    Requests("waiting", "trtllm_num_requests_waiting"),
    Share("kv_usage", "trtllm_kv_cache_utilization"),
    Row("prompt_tokens", "trtllm_prompt_tokens_total"),
    Row("generation_tokens", "trtllm_generation_tokens_total"),
    Row("cache_queries", "trtllm_prompt_tokens_total"),
    Row("cache_hits", "trtllm_prompt_cached_tokens_total"),
    Row(
        "drafted",
        "trtllm_spec_decode_num_draft_tokens_total",
        "trtllm_spec_decode_drafted_tokens_total",
    ),
    Row(
        "accepted",
        "trtllm_spec_decode_num_accepted_tokens_total",
        "trtllm_spec_decode_accepted_tokens_total",
    ),
)
# The page "Metrics" of text-generation-inference. Its token counts are the sums of histograms; what a step
# skipped is what a draft gave it (backends/v3/src/backend.rs).
_TGI: Final = (
    Requests("running", "tgi_batch_current_size"),
    Requests("waiting", "tgi_queue_size"),
    Row("prompt_tokens", "tgi_request_input_length_sum"),
    Row("generation_tokens", "tgi_request_generated_tokens_sum"),
    Row("accepted", "tgi_request_skipped_tokens_sum"),
)

ENGINES: Final[Mapping[Engine, tuple[Row, ...]]] = {
    "vllm": _VLLM,
    "sglang": _SGLANG,
    "llamacpp": _LLAMACPP,
    "tensorrt_llm": _TENSORRT_LLM,
    "tgi": _TGI,
}

_NAMES: Final = frozenset(
    term
    for rows in (_VLLM, _SGLANG, _LLAMACPP, _TENSORRT_LLM, _TGI)
    for row in rows
    for alternative in row.names
    for term in alternative
)

LINE: Final = re.compile(rf"^[ \t]*({STARTED}|{'|'.join(_NAMES)})(?=[ \t{{])[^\n]*", re.MULTILINE)
"""A line of one of these metrics. A server has thousands of lines, mostly buckets; we read a few dozen."""
