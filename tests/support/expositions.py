"""What servers answer at `/metrics`, in their shapes and with their true names; the figures are invented."""

from __future__ import annotations

VLLM = """\
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79e+09
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="org/m"} 3.0
vllm:num_requests_running{engine="1",model_name="org/m"} 4.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="org/m"} 0.0
vllm:num_requests_waiting{engine="1",model_name="org/m"} 2.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="1",model_name="org/m",reason="capacity"} 2.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="org/m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="org/m"} 0.75
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="org/m"} 10000.0
vllm:prefix_cache_queries_total{engine="1",model_name="org/m"} 2000.0
# TYPE vllm:prefix_cache_queries_created gauge
vllm:prefix_cache_queries_created{engine="0",model_name="org/m"} 1.79e+09
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="org/m"} 8000.0
vllm:prefix_cache_hits_total{engine="1",model_name="org/m"} 500.0
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="org/m"} 1.0
vllm:num_preemptions_total{engine="1",model_name="org/m"} 0.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="org/m"} 1.2345678e+07
vllm:prompt_tokens_total{engine="1",model_name="org/m"} 2.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="org/m"} 900.0
vllm:generation_tokens_total{engine="1",model_name="org/m"} 100.0
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="org/m"} 400.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="org/m"} 1600.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="org/m"} 600.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="org/m",position="0"} 350.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",le="1.0",model_name="org/m"} 7.0
vllm:iteration_tokens_total_sum{engine="0",model_name="org/m"} 7.0
"""

SGLANG = """\
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{dp_rank="0",model_name="m",priority="",tp_rank="0"} 4.0
sglang:num_running_reqs{dp_rank="0",model_name="m",priority="",tp_rank="1"} 4.0
sglang:num_running_reqs{dp_rank="1",model_name="m",priority="",tp_rank="0"} 1.0
sglang:num_running_reqs{dp_rank="0",model_name="m",priority="5",tp_rank="0"} 3.0
sglang:num_running_reqs{dp_rank="0",model_name="m",priority="9",tp_rank="0"} 1.0
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{dp_rank="0",model_name="m",tp_rank="0"} 2.0
sglang:num_queue_reqs{dp_rank="0",model_name="m",tp_rank="1"} 2.0
# TYPE sglang:token_usage gauge
sglang:token_usage{dp_rank="0",model_name="m",tp_rank="0"} 0.5
sglang:token_usage{dp_rank="1",model_name="m",tp_rank="0"} 0.125
sglang:cache_hit_rate{dp_rank="0",model_name="m",tp_rank="0"} 0.9
# TYPE sglang:prompt_tokens_total counter
sglang:prompt_tokens_total{is_streaming="true",model_name="m"} 700.0
sglang:prompt_tokens_total{is_streaming="false",model_name="m"} 300.0
sglang:generation_tokens_total{is_streaming="true",model_name="m"} 70.0
sglang:cached_tokens_total{cache_source="device",model_name="m"} 400.0
sglang:cached_tokens_total{cache_source="host",model_name="m"} 50.0
sglang:spec_verify_calls_total{model_name="m"} 30.0
sglang:num_retracted_reqs{model_name="m",pid="7"} 9.0
sglang:num_retracted_requests_total{model_name="m"} 2.0
"""

LLAMACPP = """\
# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 1200
# TYPE llamacpp:prompt_tokens_cached_total counter
llamacpp:prompt_tokens_cached_total 800
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total 345
# TYPE llamacpp:spec_decode_num_drafts_total counter
llamacpp:spec_decode_num_drafts_total 0
llamacpp:spec_decode_num_draft_tokens_total 0
llamacpp:spec_decode_num_accepted_tokens_total 0
# TYPE llamacpp:predicted_tokens_seconds gauge
llamacpp:predicted_tokens_seconds 21.5
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 1
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 3
"""

TENSORRT_LLM = """\
# TYPE trtllm_num_requests_running gauge
trtllm_num_requests_running{engine_type="trtllm",model_name="m"} 6.0
trtllm_num_requests_waiting{engine_type="trtllm",model_name="m"} 1.0
trtllm_max_num_active_requests{engine_type="trtllm",model_name="m"} 2048.0
trtllm_kv_cache_utilization{engine_type="trtllm",model_name="m"} 0.375
trtllm_kv_cache_hit_rate{engine_type="trtllm",model_name="m"} 0.5
# TYPE trtllm_prompt_tokens_total counter
trtllm_prompt_tokens_total{engine_type="trtllm",model_name="m"} 5000.0
trtllm_prompt_cached_tokens_total{engine_type="trtllm",model_name="m"} 2000.0
trtllm_generation_tokens_total{engine_type="trtllm",model_name="m"} 600.0
trtllm_spec_decode_drafted_tokens_total{engine_type="trtllm",model_name="m"} 90.0
trtllm_spec_decode_accepted_tokens_total{engine_type="trtllm",model_name="m"} 60.0
"""

TGI = """\
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 5
# TYPE tgi_queue_size gauge
tgi_queue_size 2
# TYPE tgi_request_input_length histogram
tgi_request_input_length_bucket{le="1"} 0
tgi_request_input_length_bucket{le="+Inf"} 12
tgi_request_input_length_sum 3456
tgi_request_input_length_count 12
# TYPE tgi_request_generated_tokens histogram
tgi_request_generated_tokens_sum 789
tgi_request_generated_tokens_count 12
# TYPE tgi_request_skipped_tokens histogram
tgi_request_skipped_tokens_sum 123
tgi_request_skipped_tokens_count 666
"""


def llamacpp(running: int = 0, predicted: int = 0) -> str:
    """llama.cpp's, with these two figures."""
    text = LLAMACPP.replace("requests_processing 1\n", f"requests_processing {running}\n")
    return text.replace("tokens_predicted_total 345\n", f"tokens_predicted_total {predicted}\n")
