"""Which source of configuration wins, what counts as a conflict, and configuration as numbers."""

from __future__ import annotations

import pytest
from test_series import series

from diagnose import facts
from diagnose.model import Fact, FactValue


def fact(ident: str, value: FactValue, source: str = "launch", run: str = "server") -> Fact:
    return Fact(ident, value, source, f"{source} {ident}", run)


def config(*given: Fact) -> dict[str, float]:
    return {k: v.value for k, v in facts.config_signals(facts.best(given)).items()}


def one(ident: str, value: FactValue) -> dict[str, float]:
    return config(fact(ident, value))


@pytest.mark.parametrize("weaker", range(1, len(facts.TRUST)))
def test_the_more_trusted_source_wins_in_any_order(weaker: int) -> None:
    strong, weak = fact("max_num_seqs", 64, facts.TRUST[weaker - 1]), fact("max_num_seqs", 256, facts.TRUST[weaker])
    assert facts.best([strong, weak]) == facts.best([weak, strong]) == {"max_num_seqs": strong}


def test_trust_falls_from_what_runs_to_what_is_usual() -> None:
    assert facts.TRUST == ("metric", "server_info", "log", "launch", "default")


def test_among_equals_the_last_one_read_wins() -> None:
    first, second = fact("kv_tokens", 100, "log"), fact("kv_tokens", 200, "log")
    assert facts.best([first, second])["kv_tokens"] is second


def test_conflicts_are_told_and_the_resolved_value_is_used() -> None:
    asked, resolved = fact("prefix_caching", True, "launch"), fact("prefix_caching", False, "log")
    (found,) = facts.conflicts([asked, resolved])
    assert (found.id, found.first, found.second) == ("prefix_caching", resolved, asked)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (fact("max_num_seqs", 64, "log"), fact("max_num_seqs", 64.0, "launch")),
        (fact("gpu_memory_utilization", 0.9, "log"), fact("gpu_memory_utilization", 0.9001, "launch")),
        (fact("attention_backend", "FLASHINFER", "log"), fact("attention_backend", "flashinfer", "launch")),
        (fact("max_num_seqs", 64, "log"), fact("max_num_seqs", 256, "default")),
        (fact("max_num_seqs", 64, "log"), fact("max_num_seqs", 256, "log")),
        (fact("dtype", "auto", "launch"), fact("dtype", "bfloat16", "log")),
        (fact("flag.seed", 1, "launch"), fact("flag.seed", 2, "log")),
        (fact("client_concurrency", 8, "launch"), fact("client_concurrency", 9, "log")),
    ],
)
def test_no_conflict(a: Fact, b: Fact) -> None:
    assert facts.conflicts([a, b]) == ()


def test_facts_in_labels_are_typed_and_none_is_missing() -> None:
    labels = (
        'enable_prefix_caching="False",cache_dtype="auto",block_size="128",'
        'num_gpu_blocks="None",gpu_memory_utilization="0.92"'
    )
    target = series(f"vllm:cache_config_info{{N,{labels}}} 1.0; vllm:num_requests_running{{N}} 0")
    found = {f.id: f.value for f in facts.from_metrics(target)}
    assert found == {
        "prefix_caching": False,
        "kv_cache_dtype": "auto",
        "kv_block_size": 128,
        "gpu_memory_utilization": 0.92,
        "engine": "vllm",
    }


@pytest.mark.parametrize(
    ("ident", "value", "signal", "number"),
    [
        ("chunked_prefill", False, "config_chunked_prefill", 0.0),
        ("chunk_budget", -1, "config_chunked_prefill", 0.0),
        ("chunk_budget", 8192, "config_chunked_prefill", 1.0),
        ("prefix_caching", True, "config_prefix_caching", 1.0),
        ("spec_method", "eagle", "config_spec", 1.0),
        ("spec_method", "None", "config_spec", 0.0),
        ("spec_tokens", 3, "config_spec", 1.0),
        ("kv_cache_dtype", "fp8_e5m2", "config_kv_fp8", 1.0),
        ("kv_cache_dtype", "auto", "config_kv_fp8", 0.0),
        ("quantization", "awq", "config_weights_quantized", 1.0),
        ("model", "org/Model-70B-AWQ", "config_weights_quantized", 1.0),
        ("device", "cpu", "config_cpu", 1.0),
        ("device", "cuda", "config_cpu", 0.0),
        ("engine_version", "0.32.0+cpu", "config_cpu", 1.0),
        ("model", "deepseek-ai/DeepSeek-R1", "config_mla", 1.0),
        ("model", "meta-llama/Llama-3.1-8B", "config_mla", 0.0),
        ("disaggregation", "decode", "config_decode_role", 1.0),
        ("kv_role", "kv_producer", "config_decode_role", 0.0),
        ("graph_sizes", (1, 2, 48), "config_graph_max_batch", 48.0),
        ("graph_max_batch", 160, "config_graph_max_batch", 160.0),
        ("k8s.hpa_metric", "DCGM_FI_DEV_GPU_UTIL", "config_scales_on_utilization", 1.0),
        ("k8s.keda_query", "sum(vllm:num_requests_waiting)", "config_scales_on_utilization", 0.0),
        ("client_request_rate", float("inf"), "client_request_rate", float("inf")),
    ],
)
def test_configuration_as_numbers(ident: str, value: FactValue, signal: str, number: float) -> None:
    assert one(ident, value)[signal] == number


def test_the_flag_of_chunked_prefill_beats_the_budget() -> None:
    assert config(fact("chunked_prefill", False), fact("chunk_budget", 2048))["config_chunked_prefill"] == 0.0


def test_unknown_configuration_is_missing() -> None:
    found = config()
    for name in (
        "config_chunked_prefill",
        "config_prefix_caching",
        "config_enforce_eager",
        "config_max_num_seqs",
        "config_tp",
        "config_spec",
        "config_kv_fp8",
        "config_cpu",
        "config_mla",
        "config_weights_quantized",
        "config_lora",
        "config_kv_connector",
        "config_disaggregated",
        "config_decode_role",
        "client_offline",
    ):
        assert name not in found
    assert config(fact("max_num_seqs", "auto")) == config()


def test_a_version_default_alone_is_not_switched_off() -> None:
    assert config(fact("prefix_caching", False, "default"))["config_prefix_switched_off"] == 0.0
    assert config(fact("prefix_caching", False, "launch"))["config_prefix_switched_off"] == 1.0
    assert config(fact("prefix_caching", True, "launch"))["config_prefix_switched_off"] == 0.0
    assert config(fact("chunk_budget", -1, "log"))["config_chunked_switched_off"] == 1.0
    assert "config_prefix_switched_off" not in config()
