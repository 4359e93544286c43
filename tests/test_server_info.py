"""Answers of configuration endpoints."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.sources.server_info import parse_server_info

VLLM_JSON = {
    "vllm_config": {
        "model_config": {"model": "m", "dtype": "torch.bfloat16", "max_model_len": 4096, "quantization": None,
                         "enforce_eager": True, "served_model_name": "s"},
        "cache_config": {"block_size": 16, "gpu_memory_utilization": 0.92, "cache_dtype": "fp8",
                         "enable_prefix_caching": False, "num_gpu_blocks": 8192, "kv_cache_size_tokens": 131072,
                         "kv_offloading_size": None, "kv_offloading_backend": "native"},
        "parallel_config": {"tensor_parallel_size": 4, "data_parallel_size": 2, "pipeline_parallel_size": 1,
                            "enable_expert_parallel": False, "disable_custom_all_reduce": False},
        "scheduler_config": {"max_num_batched_tokens": 2048, "max_num_seqs": 128, "enable_chunked_prefill": True,
                             "policy": "fcfs", "async_scheduling": True},
        "device_config": {"device": "cuda"},
        "compilation_config": {"mode": 3, "cudagraph_mode": [2, 1], "cudagraph_capture_sizes": [1, 2, 4],
                               "max_cudagraph_capture_size": 4},
        "lora_config": {"max_loras": 2, "max_lora_rank": 8},
        "speculative_config": {"method": "ngram", "num_speculative_tokens": 4},
        "kv_transfer_config": None,
    },
    "vllm_env": {"VLLM_ATTENTION_BACKEND": None, "VLLM_CPU_KVCACHE_SPACE": 1, "VLLM_API_KEY": "secret"},
}  # fmt: skip
SGLANG = {
    "model_path": "m", "tp_size": 2, "dp_size": 1, "context_length": None, "mem_fraction_static": 0.88,
    "chunked_prefill_size": 8192, "max_running_requests": 48, "disable_radix_cache": False, "attention_backend": "fa3",
    "speculative_algorithm": None, "quantization": None, "disaggregation_mode": "null", "cuda_graph_bs": [1, 2],
    "lora_paths": {"a": "x", "b": "y"}, "enable_lora": True, "version": "0.5.3", "max_total_num_tokens": 100,
    "internal_states": [
        {"memory_usage": {"weight": 14.5, "kvcache": 40.0, "token_capacity": 443000, "graph": 1.5},
         "effective_max_running_requests_per_dp": 40},
    ],
}  # fmt: skip


def facts(answer: Any) -> dict[str, object]:
    """The last value of each fact."""
    return {fact.id: fact.value for fact in parse_server_info(answer, "server_info/r0.json", "r0")}


def test_vllm_json() -> None:
    known = facts(VLLM_JSON)
    assert known.items() >= {
        "engine": "vllm", "model": "m", "served_model": "s", "dtype": "bfloat16", "max_model_len": 4096,
        "quantization": "", "enforce_eager": True, "kv_block_size": 16, "gpu_memory_utilization": 0.92,
        "kv_cache_dtype": "fp8", "prefix_caching": False, "kv_blocks": 8192, "kv_tokens": 131072, "tp": 4, "dp": 2,
        "ep": False, "max_num_seqs": 128, "chunk_budget": 2048, "chunked_prefill": True, "scheduling_policy": "fcfs",
        "async_scheduling": True, "device": "cuda", "graph_mode": "FULL_AND_PIECEWISE", "graph_sizes": (1, 2, 4),
        "graph_max_batch": 4, "lora": True, "max_loras": 2, "spec_method": "ngram", "spec_tokens": 4,
        "env.VLLM_CPU_KVCACHE_SPACE": 1,
    }.items()  # fmt: skip
    assert not known.keys() & {"kv_offload", "env.VLLM_API_KEY", "attention_backend_explicit"}


def test_vllm_text() -> None:
    text = (
        "model='m', speculative_config=None, dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=2, "
        "quantization=None, enforce_eager=True, kv_cache_dtype=auto, device_config=cpu, enable_prefix_caching=True, "
        "enable_chunked_prefill=True, compilation_config={'cudagraph_mode': <CUDAGraphMode.NONE: 0>}"
    )
    known = facts({"vllm_config": text})
    assert known.items() >= {
        "engine": "vllm", "tp": 2, "max_model_len": 4096, "spec_method": "", "graph_mode": "NONE", "device": "cpu",
    }.items()  # fmt: skip


def test_sglang() -> None:
    known = facts(SGLANG)
    assert known.items() >= {
        "engine": "sglang", "engine_version": "0.5.3", "model": "m", "tp": 2, "chunk_budget": 8192,
        "prefix_caching": True, "attention_backend": "fa3", "spec_method": "", "disaggregation": "",
        "graph_sizes": (1, 2), "lora_adapters": 2, "kv_bytes": 40 * 1024**3, "graph_bytes": int(1.5 * 1024**3),
        "weight_bytes": int(14.5 * 1024**3), "kv_tokens": 443000, "max_num_seqs": 40,
    }.items()  # fmt: skip
    assert facts({"server_args": SGLANG})["tp"] == 2
    assert "attention_backend_explicit" not in known  # resolved: it does not tell who chose


def test_small_answers() -> None:
    assert facts({"version": "0.32.0"}) == {"engine_version": "0.32.0"}
    models = {
        "object": "list",
        "data": [
            {"id": "s", "root": "m", "parent": None, "max_model_len": 4096, "owned_by": "vllm"},
            {"id": "ad-a", "root": "x", "parent": "s"},
        ],
    }
    assert facts(models) == {
        "served_model": "s", "model": "m", "max_model_len": 4096, "engine": "vllm", "lora": True, "lora_adapters": 1,
    }  # fmt: skip
    assert facts({"model_path": "m", "tokenizer_path": "m", "is_generation": True}) == {"model": "m"}
    assert facts({"/version": {"version": "0.9.1"}, "GET /v1/models": models})["max_model_len"] == 4096
    for answer in ({"detail": "Not Found"}, {"error": {"message": "x"}}, {}, [], None, 3, "x", {"is_sleeping": False}):
        assert facts(answer) == {}


def test_where_and_run() -> None:
    (fact,) = parse_server_info({"version": "0.32.0"}, "server_info/r0.json", "r0")
    assert (fact.source, fact.where, fact.run) == ("server_info", "server_info/r0.json", "r0")


KEYS = st.sampled_from(["vllm_config", "cache_config", "scheduler_config", "data", "object", "version", "tp_size",
                        "model_path", "internal_states", "memory_usage", "id", "parent", "/x", "server_args",
                        "compilation_config", "speculative_config", "block_size", "cudagraph_mode"])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("list"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_any_json_can_be_read(answer: Any) -> None:
    parse_server_info(answer, "w", "r")
