"""Which flag, argument or configuration key of vLLM and SGLang gives which fact: data for ``launch_facts``.

One row: fact, conversion, names (long names with underscores, then short ones). Conversions are in ``launch_facts``.
A name that no row lists becomes ``flag.<name>`` when an operator set it, and is dropped from resolved dumps.
"""

from __future__ import annotations

Row = tuple[str, str, str]

BOTH: tuple[Row, ...] = (
    ("dtype", "dtype", "dtype"),
    ("device", "device", "device device_config"),
    ("quantization", "text", "quantization q"),
    ("kv_cache_dtype", "text", "kv_cache_dtype"),
    ("reasoning_parser", "text", "reasoning_parser"),
    ("tool_parser", "text", "tool_call_parser"),
    ("custom_allreduce_disabled", "bool", "disable_custom_all_reduce"),
    ("lora", "bool", "enable_lora"),
)

VLLM: tuple[Row, ...] = BOTH + (
    ("model", "text", "model model_tag"),
    ("served_model", "first", "served_model_name model_name"),
    ("tp", "int", "tensor_parallel_size tp"),
    ("pp", "int", "pipeline_parallel_size pp"),
    ("dp", "int", "data_parallel_size dp"),
    ("ep", "bool", "enable_expert_parallel ep"),
    ("cp", "int", "decode_context_parallel_size prefill_context_parallel_size dcp pcp"),
    ("max_model_len", "tokens", "max_model_len max_seq_len"),
    ("max_num_seqs", "tokens", "max_num_seqs"),
    ("chunked_prefill", "bool", "enable_chunked_prefill chunked_prefill_enabled"),
    ("max_num_batched_tokens", "tokens", "max_num_batched_tokens"),
    ("long_prefill_token_threshold", "tokens", "long_prefill_token_threshold"),
    ("max_num_partial_prefills", "int", "max_num_partial_prefills"),
    ("prefix_caching", "bool", "enable_prefix_caching"),
    ("attention_backend", "backend", "attention_backend attn_backend"),
    ("enforce_eager", "bool", "enforce_eager"),
    ("graph_sizes", "sizes", "cudagraph_capture_sizes cuda_graph_sizes"),
    ("graph_max_batch", "int", "max_cudagraph_capture_size"),
    ("graph_mode", "graph_mode", "cudagraph_mode"),
    ("gpu_memory_utilization", "float", "gpu_memory_utilization gpu_memory_util"),
    ("kv_tokens", "int", "kv_cache_size_tokens"),
    ("kv_blocks", "int", "num_gpu_blocks"),
    ("kv_blocks_override", "int", "num_gpu_blocks_override"),
    ("kv_block_size", "int", "block_size"),
    ("kv_bytes", "size", "kv_cache_memory_bytes kv_cache_memory"),
    ("kv_max_concurrency", "float", "kv_cache_max_concurrency"),
    ("swap_space_bytes", "gib", "swap_space swap_space_gb"),
    ("cpu_offload_bytes", "gib", "cpu_offload_gb"),
    ("spec_model", "text", "speculative_model spec_model"),
    ("spec_method", "lower", "speculative_method spec_method"),
    ("spec_tokens", "int", "num_speculative_tokens spec_tokens"),
    ("max_loras", "int", "max_loras"),
    ("max_cpu_loras", "int", "max_cpu_loras"),
    ("lora_adapters", "count", "lora_modules"),
    ("scheduling_policy", "text", "scheduling_policy"),
    ("async_scheduling", "bool", "async_scheduling"),
    ("num_scheduler_steps", "int", "num_scheduler_steps"),
    ("api_server_count", "int", "api_server_count asc"),
    ("disable_log_stats", "bool", "disable_log_stats"),
    ("mamba_cache_mode", "text", "mamba_cache_mode"),
    ("mm_processor_cache_gb", "float", "mm_processor_cache_gb"),
    ("structured_outputs_backend", "text", "guided_decoding_backend structured_outputs_backend"),
    ("speculative_config", "spec", "speculative_config sc"),
    ("kv_transfer_config", "kv_transfer", "kv_transfer_config"),
    ("kv_events_config", "kv_events", "kv_events_config"),
    ("compilation_config", "compilation", "compilation_config cc O"),
    ("kv_offload", "offload_size", "kv_offloading_size"),
    ("structured_outputs_config", "structured", "structured_outputs_config decoding_config"),
    ("attention_config", "attention", "attention_config ac"),
)

SGLANG: tuple[Row, ...] = BOTH + (
    ("model", "text", "model_path model"),
    ("served_model", "first", "served_model_name"),
    ("tp", "int", "tp_size tensor_parallel_size tp"),
    ("pp", "int", "pp_size pipeline_parallel_size pp"),
    ("dp", "int", "dp_size data_parallel_size dp"),
    ("ep", "int", "ep_size expert_parallel_size ep"),
    ("cp", "int", "attn_cp_size attention_context_parallel_size context_parallel_size"),
    ("dp_attention", "bool", "enable_dp_attention"),
    ("max_model_len", "tokens", "context_length context_len"),
    ("max_num_seqs", "int", "max_running_requests"),
    ("chunk_budget", "chunk", "chunked_prefill_size"),
    ("max_prefill_tokens", "tokens", "max_prefill_tokens"),
    ("mixed_chunk", "bool", "enable_mixed_chunk"),
    ("prefix_caching", "not", "disable_radix_cache"),
    ("attention_backend", "backend", "attention_backend"),
    ("prefill_attention_backend", "text", "prefill_attention_backend"),
    ("decode_attention_backend", "text", "decode_attention_backend"),
    ("enforce_eager", "bool", "disable_cuda_graph disable_decode_cuda_graph"),
    ("graph_mode", "graph_backend", "cuda_graph_backend_decode"),
    ("graph_max_batch", "int", "cuda_graph_max_bs cuda_graph_max_bs_decode"),
    ("graph_sizes", "sizes", "cuda_graph_bs cuda_graph_bs_decode"),
    ("mem_fraction_static", "float", "mem_fraction_static"),
    ("kv_tokens", "int", "max_total_num_tokens"),
    ("kv_block_size", "int", "page_size"),
    ("cpu_offload_bytes", "gib", "cpu_offload_gb"),
    ("spec_method", "spec_algorithm", "speculative_algorithm speculative_algo"),
    ("spec_model", "text", "speculative_draft_model_path speculative_draft_model"),
    ("spec_tokens", "int", "speculative_num_steps"),
    ("max_loras", "int", "max_loras_per_batch"),
    ("max_cpu_loras", "int", "max_loaded_loras"),
    ("lora_adapters", "adapters", "lora_paths"),
    ("disaggregation", "role", "disaggregation_mode"),
    ("hicache", "bool", "enable_hierarchical_cache"),
    ("hicache_storage", "text", "hicache_storage_backend"),
    ("hicache_prefetch_policy", "text", "hicache_storage_prefetch_policy"),
    ("kv_offload", "on:lmcache", "enable_lmcache"),
    ("kv_connector", "text", "disaggregation_transfer_backend"),
    ("kv_events_config", "kv_events", "kv_events_config"),
    ("schedule_policy", "text", "schedule_policy"),
    ("schedule_conservativeness", "float", "schedule_conservativeness"),
    ("async_scheduling", "not", "disable_overlap_schedule"),
    ("enable_metrics", "bool", "enable_metrics"),
    ("load_balance_method", "text", "load_balance_method"),
    ("mm_processor_cache_gb", "float", "mm_processor_cache_gb"),
    ("structured_outputs_backend", "text", "grammar_backend"),
    ("api_server_count", "int", "tokenizer_worker_num"),
    ("engine_version", "text", "version"),
)

ROUTER: tuple[Row, ...] = (
    ("router_mode", "text", "router_mode policy routing_logic lb_policy"),
    ("model", "text", "model_path model model_name"),
    ("served_model", "first", "served_model_name"),
    ("kv_events", "bool", "kv_events enable_kv_events"),
)

# Load generators. A name means the same thing in all of them unless ``launch_client`` says otherwise.
CLIENT: tuple[Row, ...] = (
    ("client_concurrency", "int", "max_concurrency concurrency parallel num_clients users u vus streams"),
    ("client_request_rate", "rate", "request_rate"),
    ("client_num_prompts", "int", "num_prompts num_prompt num_requests request_count max_requests number"),
    ("client_input_len", "int", "random_input_len random_input input_len isl synthetic_input_tokens_mean "
     "sonnet_input_len min_prompt_length prompt_tokens"),
    ("client_output_len", "int", "random_output_len random_output output_len osl output_tokens_mean "
     "sonnet_output_len sharegpt_output_len max_tokens output_tokens"),
    ("client_dataset", "text", "dataset_name dataset"),
    ("client_prefix_len", "int", "random_prefix_len prefix_repetition_prefix_len prefix_len prefix_length "
     "sonnet_prefix_len gsp_system_prompt_len prefix_prompt_length shared_system_prompt_length"),
)  # fmt: skip

_IGNORED = "trust_remote_code host port uvicorn_log_level ssl_keyfile ssl_certfile help h model_tag"
IGNORED = frozenset(_IGNORED.split())
SECRETS = ("_key", "_token", "_secret", "_password", "api_key", "token", "password")

# Flags that take several values in a row.
_LISTS = (
    "lora_modules lora_paths served_model_name cuda_graph_bs cuda_graph_bs_decode cudagraph_capture_sizes middleware "
    "cuda_graph_sizes prefill decode worker_urls middlewares lora_target_modules"
)
LISTS = frozenset(_LISTS.split())

# Flags that stand alone; a word behind them is not theirs. Those of the rows with "bool", "not" or "on:" add to these.
_ALONE = (
    "trust_remote_code disable_log_requests enable_log_requests enable_auto_tool_choice headless enable_eplb "
    "enable_sleep_mode enable_metrics enable_torch_compile disable_overlap_schedule skip_server_warmup log_requests "
    "enable_p2p_check enable_server_load_tracking kv_cache_metrics enable_mfu_metrics disable_frontend_multiprocessing "
    "enable_logging_iteration_details enable_deepep_moe enable_two_batch_overlap ignore_eos save_result stream "
    "disable_tqdm disable_cuda_graph_padding disable_hybrid_kv_cache_manager disable_piecewise_cuda_graph rm it d i t "
    "enable_metrics_for_all_schedulers enable_request_time_stats_logging disable_flashinfer_cutlass_moe_fp4_allgather "
    "log_kv_cache_usage calculate_kv_scales enable_ep_moe use_v2_block_manager"
)
ALONE = frozenset(_ALONE.split())

SHORT_VLLM = {
    "q": "quantization", "tp": "tp", "pp": "pp", "dp": "dp", "ep": "ep", "dcp": "dcp", "pcp": "pcp", "sc": "sc",
    "cc": "cc", "O": "O", "asc": "asc", "ac": "ac", "n": "nnodes", "r": "node_rank", "dpl": "data_parallel_size_local",
    "dpn": "data_parallel_rank", "dpr": "data_parallel_start_rank", "dpa": "data_parallel_address",
    "dpp": "data_parallel_rpc_port", "dpb": "data_parallel_backend", "dph": "data_parallel_hybrid_lb",
    "dpe": "data_parallel_external_lb",
}  # fmt: skip

# Keys of resolved dumps that mean something else than the flag of the same name.
RESOLVED_VLLM = {
    "cache_dtype": "kv_cache_dtype", "policy": "scheduling_policy", "num_spec_tokens": "num_speculative_tokens",
}  # fmt: skip

ENV_PREFIXES = (
    "VLLM_", "SGLANG_", "SGL_", "LMCACHE_", "NCCL_", "CUDA_", "TORCH_", "PYTHONHASHSEED", "PYTORCH_", "MOONCAKE_",
    "UCX_", "DYN_", "OMP_", "HIP_", "ROCM_", "NIXL_", "FLASHINFER_",
)  # fmt: skip
