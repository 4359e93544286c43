"""How vLLM, SGLang and the stack around them spell each canonical metric, newest first (source: ``engines/*.tsv``)."""

from __future__ import annotations

from diagnose.engines.declare import Metric, Spelling

_GB = 2.0**30


def _one(name: str, **keys: object) -> Spelling:
    return Spelling(name, **keys)  # type: ignore[arg-type]


def _metric(
    ident: str, kind: str, unit: str, combine: str, **names: str | Spelling | tuple[str | Spelling, ...]
) -> Metric:
    spelt = {}
    for engine, value in names.items():
        items = value if isinstance(value, tuple) else (value,)
        prefix = {"vllm": "vllm:", "sglang": "sglang:"}.get(engine, "")
        spelt[engine] = tuple(_spell(i, prefix) for i in items)
    return Metric(ident, kind, unit, combine, spelt)


def _spell(item: str | Spelling, prefix: str) -> Spelling:
    spelling = Spelling(item) if isinstance(item, str) else item
    return Spelling(
        prefix + spelling.name, spelling.only, spelling.without, spelling.scale, spelling.kind, spelling.label
    )


_LIST = (
    # scheduler
    _metric("running", "gauge", "requests", "sum", vllm="num_requests_running", sglang="num_running_reqs"),
    _metric("waiting", "gauge", "requests", "sum", vllm="num_requests_waiting", sglang="num_queue_reqs"),
    _metric("swapped", "gauge", "requests", "sum", vllm="num_requests_swapped"),
    _metric(
        "waiting_capacity", "gauge", "requests", "sum",
        vllm=_one("num_requests_waiting_by_reason", only={"reason": ("capacity",)}),
    ),
    _metric(
        "waiting_deferred", "gauge", "requests", "sum",
        vllm=_one("num_requests_waiting_by_reason", only={"reason": ("deferred",)}),
    ),
    _metric("kv_fetch", "gauge", "requests", "sum", vllm="num_requests_kv_fetch_by_stage"),
    _metric("awake", "gauge", "ratio", "max", vllm=_one("engine_sleep_state", only={"sleep_state": ("awake",)})),
    # KV cache
    _metric("kv_usage", "gauge", "ratio", "max", vllm=("kv_cache_usage_perc", "gpu_cache_usage_perc"), sglang="token_usage",
            dynamo=("dynamo_component_gpu_cache_usage_percent",)),
    _metric("cpu_kv_usage", "gauge", "ratio", "max", vllm="cpu_cache_usage_perc"),
    _metric("full_kv_usage", "gauge", "ratio", "max", sglang="full_token_usage"),
    _metric("swa_kv_usage", "gauge", "ratio", "max", sglang="swa_token_usage"),
    _metric("mamba_usage", "gauge", "ratio", "max", sglang="mamba_usage"),
    _metric("kv_capacity", "gauge", "tokens", "mean", sglang="max_total_num_tokens"),
    _metric("cache_config", "info", "", "max", vllm="cache_config_info", sglang="cache_config_info"),
    _metric(
        "preemptions", "counter", "requests", "sum", vllm="num_preemptions_total",
        sglang=("num_retracted_requests_total", _one("total_retracted_reqs", kind="counter")),
    ),
    _metric("retracted_now", "gauge", "requests", "sum", sglang="num_retracted_reqs"),
    # requests
    _metric("finished", "counter", "requests", "sum", vllm="request_success_total", sglang="num_requests_total"),
    _metric("finished_error", "counter", "requests", "sum",
            vllm=_one("request_success_total", only={"finished_reason": ("error",)})),
    _metric("finished_abort", "counter", "requests", "sum",
            vllm=_one("request_success_total", only={"finished_reason": ("abort",)}), sglang="num_aborted_requests_total"),
    _metric("finished_length", "counter", "requests", "sum",
            vllm=_one("request_success_total", only={"finished_reason": ("length",)})),
    _metric("corrupted", "counter", "requests", "sum", vllm="corrupted_requests_total"),
    _metric("rejected", "counter", "requests", "sum", vllm="admission_rejections_total"),
    # tokens
    _metric("prompt_tokens", "counter", "tokens", "sum", vllm="prompt_tokens_total", sglang="prompt_tokens_total"),
    _metric("generation_tokens", "counter", "tokens", "sum", vllm="generation_tokens_total", sglang="generation_tokens_total"),
    _metric("decode_tokens_live", "counter", "tokens", "sum", sglang=_one("realtime_tokens_total", only={"mode": ("decode",)})),
    _metric("prefill_tokens_live", "counter", "tokens", "sum",
            sglang=_one("realtime_tokens_total", only={"mode": ("prefill_compute",)})),
    _metric("computed_tokens", "counter", "tokens", "sum",
            vllm=_one("prompt_tokens_by_source_total", only={"source": ("local_compute",)}),
            sglang=_one("realtime_tokens_total", only={"mode": ("prefill_compute",)})),
    _metric("gen_throughput", "gauge", "tokens/s", "sum", vllm="avg_generation_throughput_toks_per_s", sglang="gen_throughput"),
    _metric("prompt_throughput", "gauge", "tokens/s", "sum", vllm="avg_prompt_throughput_toks_per_s"),
    # prefix cache
    _metric("prefix_queries", "counter", "tokens", "sum",
            vllm=("prefix_cache_queries_total", "gpu_prefix_cache_queries_total"), sglang="prompt_tokens_total"),
    _metric("prefix_hits", "counter", "tokens", "sum",
            vllm=("prefix_cache_hits_total", "gpu_prefix_cache_hits_total"), sglang=(_one("cached_tokens_total", without={"cache_source": ("total",)}), "cached_tokens_total")),
    _metric("prefix_hit_gauge", "gauge", "ratio", "mean", vllm="gpu_prefix_cache_hit_rate", sglang="cache_hit_rate"),
    _metric("external_queries", "counter", "tokens", "sum", vllm="external_prefix_cache_queries_total", sglang="prompt_tokens_total"),
    _metric("external_hits", "counter", "tokens", "sum", vllm="external_prefix_cache_hits_total",
            sglang=_one("cached_tokens_total", without={"cache_source": ("", "device", "total")})),
    _metric("lmcache_hits", "counter", "tokens", "sum",
            lmcache=("lmcache:num_vllm_hit_tokens_total", "lmcache:num_hit_tokens_total")),
    _metric("evicted_tokens", "counter", "tokens", "sum", sglang="evicted_tokens_total"),
    # latency
    _metric("ttft", "histogram", "s", "sum", vllm="time_to_first_token_seconds", sglang="time_to_first_token_seconds"),
    _metric("itl", "histogram", "s", "sum", vllm=("inter_token_latency_seconds", "time_per_output_token_seconds"),
            sglang=("inter_token_latency_seconds", "time_per_output_token_seconds")),
    _metric("tpot", "histogram", "s", "sum", vllm="request_time_per_output_token_seconds",
            sglang="request_time_per_output_token_seconds"),
    _metric("e2e", "histogram", "s", "sum", vllm="e2e_request_latency_seconds", sglang="e2e_request_latency_seconds"),
    _metric("queue_time", "histogram", "s", "sum", vllm=("request_queue_time_seconds", "time_in_queue_requests"),
            sglang=("queue_time_seconds", "queue_time_s")),
    _metric("queue_time_gauge", "gauge", "s", "mean", sglang="avg_request_queue_latency"),
    _metric("prefill_time", "histogram", "s", "sum", vllm="request_prefill_time_seconds",
            sglang=_one("per_stage_req_latency_seconds", only={"stage": ("prefill_forward",)})),
    _metric("decode_time", "histogram", "s", "sum", vllm="request_decode_time_seconds"),
    _metric("prompt_len", "histogram", "tokens", "sum", vllm="request_prompt_tokens", sglang="prompt_tokens_histogram"),
    _metric("output_len", "histogram", "tokens", "sum", vllm="request_generation_tokens", sglang="generation_tokens_histogram"),
    # speculation
    _metric("spec_accepted", "counter", "tokens", "sum", vllm="spec_decode_num_accepted_tokens_total"),
    _metric("spec_drafted", "counter", "tokens", "sum", vllm="spec_decode_num_draft_tokens_total"),
    _metric("spec_drafts", "counter", "drafts", "sum", vllm="spec_decode_num_drafts_total"),
    _metric("spec_position", "counter", "tokens", "sum", vllm=_one("spec_decode_num_accepted_tokens_per_pos_total", label="position")),
    _metric("spec_length_gauge", "gauge", "tokens", "mean", sglang="spec_accept_length"),
    _metric("spec_rate_gauge", "gauge", "ratio", "mean", vllm="spec_decode_draft_acceptance_rate", sglang="spec_accept_rate"),
    # CUDA graphs and memory
    _metric("graph_decode", "counter", "passes", "sum", sglang=_one("cuda_graph_passes_total", only={"mode": ("decode_cuda_graph",)})),
    _metric("eager_decode", "counter", "passes", "sum", sglang=_one("cuda_graph_passes_total", only={"mode": ("decode_none",)})),
    _metric("is_graph", "gauge", "ratio", "mean", sglang="is_cuda_graph"),
    _metric("graph_memory", "gauge", "bytes", "max", sglang=_one("graph_memory_usage_gb", scale=_GB),
            allocator="llm_gpu_memory_graph_pool_bytes"),
    _metric("kv_memory", "gauge", "bytes", "max", sglang=_one("kv_cache_memory_usage_gb", scale=_GB)),
    _metric("reserved_memory", "gauge", "bytes", "max", allocator="llm_gpu_memory_reserved_bytes"),
    _metric("allocated_memory", "gauge", "bytes", "max", allocator="llm_gpu_memory_allocated_bytes"),
    # prefill/decode
    _metric("pd_bootstrap", "gauge", "requests", "sum",
            sglang=("num_prefill_bootstrap_queue_reqs", "num_prefill_prealloc_queue_reqs")),
    _metric("pd_inflight", "gauge", "requests", "sum",
            sglang=("num_prefill_inflight_queue_reqs", "num_prefill_infight_queue_reqs")),
    _metric("pd_prealloc", "gauge", "requests", "sum", sglang="num_decode_prealloc_queue_reqs"),
    _metric("pd_transfer", "gauge", "requests", "sum", sglang="num_decode_transfer_queue_reqs"),
    _metric("transfer_failed", "counter", "transfers", "sum", vllm="nixl_num_failed_transfers_total",
            sglang="num_transfer_failed_reqs_total"),
    _metric("kv_expired", "counter", "requests", "sum", vllm="nixl_num_kv_expired_reqs_total"),
    _metric("transfer_time", "histogram", "s", "sum", vllm=("nixl_xfer_time_seconds", "mooncake_xfer_time_seconds"),
            sglang=_one("kv_transfer_latency_ms", scale=0.001)),
    _metric("transfer_bytes", "histogram", "bytes", "sum", vllm=("nixl_bytes_transferred", "mooncake_bytes_transferred")),
    _metric("transfer_descriptors", "histogram", "descriptors", "sum", vllm=("nixl_num_descriptors", "mooncake_num_descriptors")),
    # LoRA
    _metric("lora_info", "info", "", "max", vllm="lora_requests_info"),
    _metric("lora_usage", "gauge", "ratio", "max", sglang="lora_pool_utilization"),
    _metric("lora_slots", "gauge", "slots", "max", sglang="lora_pool_slots_total"),
    # the process
    _metric("process_start", "gauge", "s", "max", process="process_start_time_seconds"),
    _metric("resident_memory", "gauge", "bytes", "max", process="process_resident_memory_bytes"),
    # the stack
    _metric("router_blocks_active", "gauge", "blocks", "max", dynamo="dynamo_frontend_worker_active_decode_blocks"),
    _metric("router_blocks_total", "gauge", "blocks", "max",
            dynamo=("dynamo_frontend_kv_total_blocks", "dynamo_frontend_model_total_kv_blocks")),
    _metric("worker_blocks_active", "gauge", "blocks", "max", dynamo="dynamo_component_active_decode_blocks"),
    _metric("worker_blocks_total", "gauge", "blocks", "max",
            dynamo=("dynamo_component_kv_total_blocks", "dynamo_component_total_blocks")),
    _metric("router_hit_rate", "histogram", "ratio", "sum",
            dynamo=("dynamo_component_router_kv_hit_rate", "dynamo_frontend_kv_hit_rate"),
            epp=("inference_extension_prefix_indexer_hit_ratio", "llm_d_epp_prefix_indexer_hit_ratio")),
    _metric("router_queue", "gauge", "requests", "sum",
            dynamo=("dynamo_frontend_router_queue_pending_requests", "dynamo_frontend_queued_requests"),
            epp=("llm_d_epp_flow_control_queue_size", "inference_extension_flow_control_queue_size")),
)  # fmt: skip

METRICS: dict[str, Metric] = {m.id: m for m in _LIST}
