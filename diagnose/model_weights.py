"""Weight bytes of a model from its ``config.json`` alone: a count of the large matrices, good to a few per cent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diagnose.model_shapes import (
    Config,
    dtype_bytes,
    layer_kinds,
    need_int,
    read_int,
    read_word,
    text_config,
)

# Bits per quantized weight with its scales: group size 128 with 16-bit scale and zero, or 16/32-wide blocks.
_METHOD_BITS = {
    "fp8": 8.0,
    "fbgemm_fp8": 8.0,
    "awq": 4.25,
    "gptq": 4.25,
    "mxfp4": 4.25,
    "nvfp4": 4.5,
    "bitsandbytes": 8.0,
}


@dataclass(frozen=True)
class WeightEstimate:
    """Parameters and bytes of the whole model, and how they were found (``how`` is for people)."""

    parameters: float
    bytes: float
    how: str


def estimate_weights(config: Config) -> WeightEstimate:
    """Parameters and bytes from the matrix sizes. Embeddings stay in the model's dtype when layers are quantized."""
    c = text_config(config)
    layers = need_int(c, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
    hidden = need_int(c, "hidden_size", "n_embd", "d_model")
    tied = 1 if c.get("tie_word_embeddings", config.get("tie_word_embeddings", False)) else 2
    embedding = float(read_int(c, "vocab_size", "padded_vocab_size") or 0) * hidden * tied
    kinds = layer_kinds(c, layers)
    body = sum(_mixer(c, kind, hidden) + _feed_forward(c, i, kind, hidden) for i, kind in enumerate(kinds))
    full_bits = 8 * dtype_bytes(read_word(c, "torch_dtype", "dtype"), 2.0)
    bits = quantized_bits(c) or quantized_bits(config) or full_bits
    how = f"estimated from config.json: {(embedding + body) / 1e9:.2f} B parameters at {bits:g} bits"
    return WeightEstimate(embedding + body, (embedding * full_bits + body * bits) / 8, how)


def bytes_of_parameters(parameters: float, config: Config | None) -> float:
    """Weight bytes of a given parameter count, at the quantization that the config states (16 bits without one)."""
    if not config:
        return parameters * 2.0
    c = text_config(config)
    bits = quantized_bits(c) or quantized_bits(config) or 8 * dtype_bytes(read_word(c, "torch_dtype", "dtype"), 2.0)
    return parameters * bits / 8


def quantized_bits(config: Config) -> float | None:
    """Bits per quantized weight, or None when the config states no quantization that is known."""
    quant = config.get("quantization_config") or config.get("compression_config")
    if not isinstance(quant, Mapping):
        return None
    method = str(quant.get("quant_method", "")).lower()
    algorithm = str(quant.get("quant_algo", "")).lower()
    if algorithm in ("fp8", "nvfp4"):
        return _METHOD_BITS[algorithm]
    if method == "bitsandbytes" and quant.get("load_in_4bit"):
        return 4.5
    groups = quant.get("config_groups")
    if isinstance(groups, Mapping):  # compressed-tensors
        weights = next((g.get("weights") for g in groups.values() if isinstance(g, Mapping)), None)
        bits = read_int(weights, "num_bits") if isinstance(weights, Mapping) else None
        return None if not bits else bits + 0.25 if bits < 8 else float(bits)
    stated = read_int(quant, "bits", "w_bit")
    return stated + 0.25 if stated and stated < 8 else float(stated) if stated else _METHOD_BITS.get(method)


def _mixer(c: Config, kind: str, hidden: int) -> float:
    """Parameters of the attention or state part of one layer."""
    total = 0.0
    if kind in ("full", "window", "both"):
        total += _latent(c, hidden) if read_int(c, "kv_lora_rank") else _grouped(c, hidden)
    if kind in ("state", "both"):
        total += _recurrent(c, hidden)
    return total


def _grouped(c: Config, hidden: int) -> float:
    heads = need_int(c, "num_attention_heads", "n_head", "n_heads")
    kv_heads = read_int(c, "num_key_value_heads", "num_kv_heads") or heads
    dim = read_int(c, "head_dim") or hidden // heads
    gate = 1 if c.get("attn_output_gate") or str(c.get("model_type", "")).startswith("qwen3_next") else 0
    return float(hidden) * dim * ((2 + gate) * heads + 2 * kv_heads)


def _latent(c: Config, hidden: int) -> float:
    heads, latent = need_int(c, "num_attention_heads"), need_int(c, "kv_lora_rank")
    rope, nope = read_int(c, "qk_rope_head_dim") or 0, read_int(c, "qk_nope_head_dim") or 128
    value, low = read_int(c, "v_head_dim") or 128, read_int(c, "q_lora_rank")
    query = low * (hidden + heads * (nope + rope)) if low else hidden * heads * (nope + rope)
    return float(query + hidden * (latent + rope) + latent * heads * (nope + value) + heads * value * hidden)


def _recurrent(c: Config, hidden: int) -> float:
    heads = read_int(c, "linear_num_value_heads")
    if heads:
        value = heads * need_int(c, "linear_value_head_dim")
        key = need_int(c, "linear_num_key_heads") * need_int(c, "linear_key_head_dim")
        return float(hidden) * (2 * key + 3 * value + 2 * heads)
    state = read_int(c, "mamba_d_state", "ssm_state_size", "state_size")
    if state:
        n, dim = read_int(c, "mamba_n_heads", "mamba_num_heads"), read_int(c, "mamba_d_head", "mamba_head_dim")
        inner = n * dim if n and dim else (read_int(c, "mamba_expand", "expand") or 2) * hidden
        return float(hidden) * (3 * inner + 2 * (read_int(c, "mamba_n_groups", "n_groups") or 1) * state)
    return 4.0 * hidden * hidden


def _feed_forward(c: Config, index: int, kind: str, hidden: int) -> float:
    """Parameters of the MLP or the experts of layer ``index``; state layers of pure Mamba models have none."""
    experts = read_int(c, "num_experts", "n_routed_experts", "num_local_experts") or 0
    dense = read_int(c, "intermediate_size", "ffn_hidden_size", "n_inner") or 0
    width = read_int(c, "moe_intermediate_size", "expert_intermediate_size") or dense
    if experts and _is_sparse(c, index):
        shared = read_int(c, "shared_expert_intermediate_size") or (read_int(c, "n_shared_experts") or 0) * width
        return 3.0 * hidden * (experts * width + shared) + hidden * experts
    if kind == "state" and not dense:
        return 0.0
    return 3.0 * hidden * dense


def _is_sparse(c: Config, index: int) -> bool:
    if index < (read_int(c, "first_k_dense_replace") or 0) or index in (c.get("mlp_only_layers") or ()):
        return False
    step = read_int(c, "decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step") or 1
    return (index + 1) % step == 0 if step > 1 else True
