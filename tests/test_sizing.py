"""The KV formula against numbers that engines really printed, and the numbers behind moves."""

from __future__ import annotations

import math
from typing import Any

import pytest

from diagnose import sizing
from diagnose.errors import ConfigError, UsageError
from diagnose.kv_formula import Hardware, bytes_per_sequence, kv_sizing
from diagnose.model_shapes import layer_kinds, model_shape
from diagnose.model_weights import bytes_of_parameters, estimate_weights, quantized_bits
from diagnose.units import GIB

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
}  # fmt: skip
QWEN3_8B: dict[str, Any] = {
    "model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
    "torch_dtype": "bfloat16", "sliding_window": None, "use_sliding_window": False, "max_window_layers": 36,
}  # fmt: skip
DEEPSEEK_V3: dict[str, Any] = {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
    "num_key_value_heads": 128, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
    "moe_intermediate_size": 2048, "intermediate_size": 18432, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "vocab_size": 129280, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"},
}  # fmt: skip
# A hybrid multimodal model: every fourth layer is attention, the language part is nested.
HYBRID_9B: dict[str, Any] = {
    "model_type": "qwen3_5",
    "text_config": {
        "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 16, "num_key_value_heads": 4,
        "head_dim": 256, "intermediate_size": 12288, "vocab_size": 248320, "full_attention_interval": 4,
        "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32",
        "attn_output_gate": True,
    },
}  # fmt: skip
GPT_OSS_20B: dict[str, Any] = {
    "model_type": "gpt_oss", "num_hidden_layers": 24, "hidden_size": 2880, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12, "num_local_experts": 32, "intermediate_size": 2880,
    "vocab_size": 201088, "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip


def bare(kv_gib: float, **more: Any) -> Hardware:
    """Hardware whose whole memory is KV: for numbers that an engine printed after its own subtraction."""
    return Hardware(kv_bytes=kv_gib * GIB, **more)


def term(result: sizing.Sizing, name: str) -> float:
    return next(t.value for t in result.terms if t.name == name)


def test_gqa_bytes_per_token() -> None:
    assert kv_sizing(model_shape(LLAMA_8B), bare(10)).per_token_bytes == 2 * 32 * 8 * 128 * 2


def test_fp8_cache_doubles_tokens_as_an_engine_logged() -> None:
    # logged: 389,872 tokens with the default cache, 779,760 with fp8 (Qwen3-8B on one GPU)
    kv_gib = 389_872 * 147_456 / GIB
    assert kv_sizing(model_shape(QWEN3_8B), bare(kv_gib)).kv_tokens == 389_872
    assert kv_sizing(model_shape(QWEN3_8B), bare(kv_gib), "fp8").kv_tokens == pytest.approx(779_760, rel=1e-4)


def test_hybrid_concurrency_as_an_engine_logged() -> None:
    # logged: 45.9 GiB available, "Maximum concurrency for 262,144 tokens per request: 5.70x"
    result = kv_sizing(model_shape(HYBRID_9B), bare(45.9), context=262_144, occupancy=1.0)
    assert result.kv_tokens is not None
    assert result.kv_tokens / 262_144 == pytest.approx(5.70, abs=0.01)
    assert result.max_sequences == 5


def test_mla_is_not_divided_by_tp_but_gqa_is() -> None:
    for tp in (1, 2, 8):
        assert kv_sizing(model_shape(DEEPSEEK_V3), bare(10, tp=tp)).per_token_bytes == 61 * 576 * 2
        assert kv_sizing(model_shape(LLAMA_8B), bare(10, tp=tp)).per_token_bytes == 131_072 / tp


def test_tp_beyond_kv_heads_copies_them() -> None:
    result = kv_sizing(model_shape(LLAMA_8B), bare(10, tp=16))
    assert result.per_token_bytes == 131_072 / 8
    assert any("exceeds" in note for note in result.notes)


def test_window_layers_stop_at_the_window() -> None:
    shape = model_shape(GPT_OSS_20B)
    short, long = (bytes_per_sequence(shape, tokens, 2.0, bare(10)) for tokens in (100_000, 200_000))
    assert long - short == 12 * 100_000 * 2 * 8 * 64 * 2  # only the twelve full layers grow
    assert bytes_per_sequence(shape, 64, 2.0, bare(10)) == 24 * 64 * 2 * 8 * 64 * 2


def test_state_is_constant_per_sequence_and_split_over_tp() -> None:
    shape = model_shape(HYBRID_9B)
    one = bytes_per_sequence(shape, 16, 2.0, bare(10)) - 16 * 32_768
    assert one == 24 * (32 * 128 * 128 * 4 + 8192 * 3 * 2)
    two = bytes_per_sequence(shape, 16, 2.0, bare(10, tp=2)) - 16 * 16_384
    assert two == one / 2


def test_formula_with_every_term() -> None:
    hw = Hardware(80 * GIB, 0.9, 15 * GIB, activation_bytes=2 * GIB, graph_bytes=1 * GIB)
    result = kv_sizing(model_shape(LLAMA_8B), hw, context=2000)
    assert term(result, "available KV memory") == 54 * GIB
    assert result.kv_tokens == 54 * GIB // 131_072 == 442_368
    assert result.max_sequences == math.floor(442_368 * 0.85 / 2000) == 188
    assert all(t.unit and t.source for t in result.terms)
    assert "442,368 KV tokens x 0.85 / 2,000 tokens per request = 188.0" in result.formula


def test_weights_are_sharded_over_tp_and_pp() -> None:
    hw = Hardware(80 * GIB, 1.0, 64 * GIB, tp=2, pp=2, activation_bytes=0, graph_bytes=0)
    result = kv_sizing(model_shape(LLAMA_8B), hw)
    assert term(result, "weight shard") == 16 * GIB
    assert result.per_token_bytes == 16 * 2 * 4 * 128 * 2


def test_sglang_fraction_leaves_reserves_outside() -> None:
    result = kv_sizing(model_shape(LLAMA_8B), Hardware(80 * GIB, 0.8, 16 * GIB, engine="sglang"))
    assert term(result, "available KV memory") == 48 * GIB


def test_weights_that_do_not_fit_say_so() -> None:
    result = kv_sizing(model_shape(DEEPSEEK_V3), Hardware(80 * GIB, 0.9, 600 * GIB), context=1000)
    assert result.max_sequences == 0
    assert any("do not fit" in note for note in result.notes)


def test_mixed_model_without_context_asks_for_it() -> None:
    result = kv_sizing(model_shape(GPT_OSS_20B), bare(10))
    assert result.kv_tokens is None
    assert any("--context" in note for note in result.notes)


@pytest.mark.parametrize("change", [{"utilization": 90.0}, {"utilization": 0.0}, {"gpu_bytes": math.nan}, {"tp": 0}])
def test_impossible_hardware_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        kv_sizing(
            model_shape(LLAMA_8B),
            Hardware(**{"gpu_bytes": 80 * GIB, "utilization": 0.9, "weight_bytes": GIB, **change}),
        )


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        ({"full_attention_interval": 4}, "state state state full state state state full"),
        ({"layers_block_type": ["mamba", "attention"] * 4}, "state full state full state full state full"),
        ({"hybrid_override_pattern": "M-M*-M*-"}, "state none state full none state full none"),
        ({"attn_layer_period": 8, "attn_layer_offset": 4}, "state state state state full state state state"),
        ({"attn_type_list": [0, 0, 0, 1] * 2}, "state state state full state state state full"),
        ({"sliding_window": 1024, "sliding_window_pattern": 4}, "window window window full window window window full"),
        ({"sliding_window": 4096, "model_type": "gemma2"}, "window full window full window full window full"),
        ({"sliding_window": 4096}, "window window window window window window window window"),
        ({"sliding_window": 4096, "use_sliding_window": False}, "full full full full full full full full"),
        ({"sliding_window": 9, "use_sliding_window": True, "max_window_layers": 6}, "full " * 6 + "window window"),
        ({"linear_attn_config": {"full_attn_layers": [4, 8]}}, "state state state full state state state full"),
        ({"attn_layer_indices": [0]}, "full state state state state state state state"),
        ({"model_type": "falcon_h1"}, "both both both both both both both both"),
        ({}, "full full full full full full full full"),
    ],
)
def test_layer_kinds(config: dict[str, Any], kinds: str) -> None:
    assert " ".join(layer_kinds(config, 8)) == kinds


def test_mamba2_and_pure_mamba_shapes() -> None:
    bamba = {
        "num_hidden_layers": 2, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "attn_layer_indices": [1], "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1,
        "mamba_d_conv": 4,
    }  # fmt: skip
    state = next(g for g in model_shape(bamba).groups if g.kind == "state")
    assert (state.conv_elements, state.state_elements) == ((8192 + 256) * 3, 8192 * 128)
    pure = model_shape(
        {"model_type": "mamba", "num_hidden_layers": 4, "hidden_size": 64, "state_size": 16, "expand": 2}
    )
    assert [g.kind for g in pure.groups] == ["state"]
    assert kv_sizing(pure, bare(1), context=1000).max_sequences is not None


def test_shared_kv_layers_are_not_counted() -> None:
    shape = model_shape({**LLAMA_8B, "num_kv_shared_layers": 12})
    assert shape.groups[0].count == 20


def test_config_without_layers_names_the_key() -> None:
    with pytest.raises(ConfigError, match="num_hidden_layers"):
        model_shape({"hidden_size": 1})
    with pytest.raises(ConfigError, match="unknown dtype"):
        kv_sizing(model_shape(LLAMA_8B), bare(1), "int3")


@pytest.mark.parametrize(("config", "billions"), [(LLAMA_8B, 8.03), (QWEN3_8B, 8.19), (DEEPSEEK_V3, 671.0)])
def test_parameter_estimate(config: dict[str, Any], billions: float) -> None:
    assert estimate_weights(config).parameters / 1e9 == pytest.approx(billions, rel=0.01)


@pytest.mark.parametrize(
    ("quant", "bits"),
    [
        ({"quant_method": "fp8"}, 8), ({"quant_method": "awq", "bits": 4}, 4.25),
        ({"quant_method": "gptq", "bits": 8}, 8),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5), ({"quant_method": "unheard-of"}, None),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8}}}}, 8),
    ],
)  # fmt: skip
def test_quantized_bits(quant: dict[str, Any], bits: float | None) -> None:
    assert quantized_bits({"quantization_config": quant}) == bits


def test_weight_bytes_of_given_parameters() -> None:
    assert bytes_of_parameters(8e9, None) == 16e9
    assert bytes_of_parameters(8e9, {"quantization_config": {"quant_method": "fp8"}}) == 8e9


# the numbers behind moves


def test_storm_gets_three_sequences() -> None:
    result = sizing.max_sequences(4096, 1014)
    assert result is not None
    assert (result.value, result.text()) == (3, "3")
    assert result.formula == "4,096 KV tokens x 0.85 / 1,014 tokens per request = 3.4"


def test_a_cap_is_only_sized_down() -> None:
    assert sizing.max_sequences(4096, 1014, current=64) is not None
    assert sizing.max_sequences(4096, 1014, current=3) is None
    assert sizing.max_sequences(500, 1014).value == 1  # type: ignore[union-attr]


def test_raise_covers_the_demand_within_the_room() -> None:
    roomy = sizing.raise_max_sequences(2, running=2, waiting=28, kv_usage=0.001)
    tight = sizing.raise_max_sequences(16, running=16, waiting=100, kv_usage=0.5)
    unknown = sizing.raise_max_sequences(16, running=16, kv_usage=0.1)
    assert roomy is not None and roomy.value == 32
    assert tight is not None and tight.value == 27  # 16 x 0.85 / 0.5
    assert unknown is not None and unknown.value == 32
    assert sizing.raise_max_sequences(16, running=16, waiting=9, kv_usage=0.9) is None
    assert sizing.raise_max_sequences(16, running=4, waiting=2, kv_usage=0.1) is None  # the cap is not the limit
    assert sizing.raise_max_sequences(16, waiting=9) is None  # no view of the room


def test_chunk_budget() -> None:
    start = sizing.chunk_budget(prompt_len=6000)
    timed = sizing.chunk_budget(prompt_len=6000, prefill_tps=20_000, target_itl=0.05, current=8192)
    assert start is not None and start.value == 512
    assert timed is not None and timed.value == 768  # 1,000 tokens fit, in steps of 256
    assert sizing.chunk_budget(prompt_len=6000, current=512).value == 256  # type: ignore[union-attr]
    assert sizing.chunk_budget(prompt_len=6000, current=256) is None
    assert sizing.chunk_budget(prompt_len=6000, current=8192, at_least=1000).value == 1024  # type: ignore[union-attr]
    assert sizing.chunk_budget(prompt_len=6000, current=1024, at_least=1024) is None
    assert sizing.chunk_budget(prompt_len=3000, current=2048, up=True).value == 3072  # type: ignore[union-attr]
    assert sizing.chunk_budget(prompt_len=1000, current=2048, up=True) is None  # a prompt fits already
    assert sizing.chunk_budget(prompt_len=1000, up=True) is None
    assert sizing.chunk_budget(prefill_tps=1, target_itl=0.01).value == 256  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("running", "cap", "size"), [(3, None, 4), (9, None, 16), (60, 64, 64), (257, None, 272), (60, 50, 56)]
)
def test_graph_batch(running: float, cap: float | None, size: int) -> None:
    result = sizing.graph_batch(running, cap)
    assert result is not None and result.value == size


def test_graph_batch_that_is_covered() -> None:
    assert sizing.graph_batch(60, 64, captured=512) is None


def test_replicas_slots_and_drafts() -> None:
    assert sizing.replicas(100, 32).value == 4  # type: ignore[union-attr]
    assert sizing.replicas(20, 32) is None
    assert sizing.lora_slots(3, 1).value == 3  # type: ignore[union-attr]
    assert sizing.lora_slots(3, 4) is None
    assert sizing.speculative_tokens((0.9, 0.7, 0.4, 0.2), current=4).value == 2  # type: ignore[union-attr]
    assert sizing.speculative_tokens(acceptance=0.8, current=5).value == 3  # type: ignore[union-attr]
    assert sizing.speculative_tokens((0.3, 0.1), current=2) is None
    assert sizing.speculative_tokens((0.9, 0.8), current=8).value == 5  # type: ignore[union-attr]  # 0.9 x 0.889 ** k
    assert sizing.speculative_tokens((0.95, 0.93), current=5) is None  # the unmeasured positions hold as well
    assert sizing.fit_context(44_032, 1600, 262_144).value == 43_200  # type: ignore[union-attr]
    assert sizing.client_in_flight(64, 2).value == 128  # type: ignore[union-attr]
    assert sizing.kv_fp8_gain(1000, 10).max_sequences == 170  # type: ignore[union-attr]
    assert sizing.kv_fp8_gain(1000, element_bytes=1) is None
    assert sizing.kv_budget_tokens(131_072 * 10.5, 131_072).value == 10  # type: ignore[union-attr]


@pytest.mark.parametrize("bad", [None, 0, -1, math.nan, math.inf])
def test_missing_and_broken_input_gives_none(bad: float | None) -> None:
    assert sizing.max_sequences(bad, 1000) is None
    assert sizing.max_sequences(1000, bad) is None
    assert sizing.raise_max_sequences(bad, 1, 1, 0.1) is None
    assert sizing.raise_max_sequences(4, bad, 9, 0.1) is None
    assert sizing.chunk_budget(current=bad, up=True) is None
    assert sizing.graph_batch(bad) is None
    assert sizing.kv_fp8_gain(bad) is None
    assert sizing.replicas(bad, 4) is None and sizing.replicas(4, bad) is None
    assert sizing.lora_slots(bad) is None
    assert sizing.fit_context(bad) is None
    assert sizing.client_in_flight(bad) is None
    assert sizing.kv_budget_tokens(bad, 2) is None
