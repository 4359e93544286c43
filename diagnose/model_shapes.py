"""What a `config.json` says about a KV cache: groups of layers, each with its own cost per token or sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diagnose.errors import ConfigError

Config = Mapping[str, Any]

_DTYPE_BYTES = {
    "float32": 4.0, "fp32": 4.0, "float16": 2.0, "half": 2.0, "fp16": 2.0, "bfloat16": 2.0, "bf16": 2.0,
    "fp8": 1.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "fp8_inc": 1.0, "float8_e4m3fn": 1.0, "float8_e5m2": 1.0, "int8": 1.0,
    "nvfp4": 0.5625, "fp4_e2m1": 0.5625,
}  # fmt: skip
_FULL = ("full_attention", "attention", "global_attention", "full")
_WINDOW = ("sliding_attention", "sliding", "local_attention", "chunked_attention")
_STATE = ("linear_attention", "mamba", "mamba2", "conv", "recurrent", "kda", "linear")
_BOTH = ("hybrid", "parallel_hybrid")


@dataclass(frozen=True)
class LayerGroup:
    """Layers that cost the same. ``kind`` is full, window (capped at ``window`` tokens), mla, or state (per sequence).

    ``key_dim`` and ``value_dim`` are elements per KV head; for mla ``key_dim`` is the latent width and ``kv_heads`` 1.
    ``conv_elements`` and ``state_elements`` are per layer and sequence before the TP split, in ``state_bytes`` each.
    """

    kind: str
    count: int
    kv_heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    window: int | None = None
    conv_elements: int = 0
    state_elements: int = 0
    state_bytes: float = 2.0


@dataclass(frozen=True)
class ModelShape:
    """A model as the KV cache sees it; ``layers`` counts all layers, ``dtype_bytes`` is the cache's default element."""

    name: str
    layers: int
    groups: tuple[LayerGroup, ...]
    dtype_bytes: float
    max_context: int | None = None
    notes: tuple[str, ...] = ()


def dtype_bytes(name: str | None, default: float | None = None) -> float:
    """Bytes per element of a dtype name; ``auto`` or None gives ``default``. Raises ConfigError for an unknown name."""
    key = (name or "auto").lower().removeprefix("torch.")
    if key == "auto" and default is not None:
        return default
    if key not in _DTYPE_BYTES:
        raise ConfigError(f"unknown dtype {name!r}", hint=f"Known: auto, {', '.join(sorted(_DTYPE_BYTES))}")
    return _DTYPE_BYTES[key]


def text_config(config: Config) -> Config:
    """The language part of a config: multimodal models nest it under ``text_config`` or alike."""
    outer = config
    for key in ("thinker_config", "text_config", "llm_config", "language_config"):
        nested = outer.get(key)
        if isinstance(nested, Mapping):
            outer = {
                **{k: v for k, v in outer.items() if k in ("torch_dtype", "dtype", "quantization_config")},
                **nested,
            }
    return outer


def model_shape(config: Config, name: str = "") -> ModelShape:
    """The shape from a Hugging Face ``config.json``. Raises ConfigError that names the first missing key."""
    c = text_config(config)
    layers = need_int(c, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
    element = dtype_bytes(read_word(c, "torch_dtype", "dtype"), 2.0)
    kinds = layer_kinds(c, layers)
    shared = read_int(c, "num_kv_shared_layers") or 0
    if shared:  # the last layers read the KV of earlier ones and own none
        kinds = kinds[: layers - shared]
    groups = tuple(g for g in _groups(c, kinds, element) if g.count)
    if not groups:
        raise ConfigError(
            "no attention and no state layer found", where=name, hint="Is this a language model's config?"
        )
    context = read_int(c, "max_position_embeddings", "model_max_length", "seq_length", "n_positions")
    return ModelShape(
        name or str(c.get("model_type", "model")), layers, groups, element, context, _notes(c, kinds, shared)
    )


def layer_kinds(c: Config, layers: int) -> list[str]:
    """One kind per layer: full, window, state, both (attention and state in one layer) or none (no cache at all)."""
    listed = c.get("layer_types") or c.get("layers_block_type")
    if isinstance(listed, list) and listed:
        return [_listed_kind(str(kind)) for kind in listed[:layers]]
    pattern = c.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return [{"M": "state", "*": "full"}.get(letter, "none") for letter in pattern[:layers]]
    return _kinds_by_rule(c, layers)


def _listed_kind(kind: str) -> str:
    if kind in _FULL:
        return "full"
    if kind in _WINDOW:
        return "window"
    return "state" if kind in _STATE else "both" if kind in _BOTH else "none"


def _kinds_by_rule(c: Config, layers: int) -> list[str]:
    """Kinds from the older keys that say it by index or period; plain attention when none is there."""
    linear = c.get("linear_attn_config")
    if isinstance(linear, Mapping) and isinstance(linear.get("full_attn_layers"), list):  # 1-based
        return ["full" if i + 1 in linear["full_attn_layers"] else "state" for i in range(layers)]
    flags, indices = c.get("attn_type_list"), c.get("attn_layer_indices")
    if isinstance(flags, list) and flags:
        return ["full" if flag == 1 else "state" for flag in flags[:layers]]
    if isinstance(indices, list) and indices:
        return ["full" if i in indices else "state" for i in range(layers)]
    if interval := read_int(c, "full_attention_interval"):
        return ["full" if (i + 1) % interval == 0 else "state" for i in range(layers)]
    if period := read_int(c, "attn_layer_period"):
        offset = read_int(c, "attn_layer_offset") or 0
        return ["full" if i % period == offset else "state" for i in range(layers)]
    if str(c.get("model_type", "")).startswith(("mamba", "falcon_mamba")):
        return ["state"] * layers
    if str(c.get("model_type", "")) == "falcon_h1":
        return ["both"] * layers
    return _window_kinds(c, layers)


def _window_kinds(c: Config, layers: int) -> list[str]:
    if not read_int(c, "sliding_window") or c.get("use_sliding_window") is False:
        return ["full"] * layers
    if period := read_int(c, "sliding_window_pattern", "_sliding_window_pattern"):
        return ["full" if (i + 1) % period == 0 else "window" for i in range(layers)]
    if str(c.get("model_type", "")).startswith("gemma2"):
        return ["window" if i % 2 == 0 else "full" for i in range(layers)]
    if c.get("use_sliding_window") and (first := read_int(c, "max_window_layers")) is not None:
        return ["full" if i < first else "window" for i in range(layers)]
    return ["window"] * layers


def _groups(c: Config, kinds: list[str], element: float) -> list[LayerGroup]:
    full = sum(kind in ("full", "both") for kind in kinds)
    window = kinds.count("window")
    state = sum(kind in ("state", "both") for kind in kinds)
    groups = []
    if full:
        groups.append(_attention(c, full))
    if window:
        size = read_int(c, "sliding_window", "attention_chunk_size", "window_size")
        groups.append(_attention(c, window, size))
    if state:
        groups.append(_state(c, state, element))
    return groups


def _attention(c: Config, count: int, window: int | None = None) -> LayerGroup:
    latent = read_int(c, "kv_lora_rank")
    if latent:
        return LayerGroup("mla", count, 1, latent + (read_int(c, "qk_rope_head_dim") or 0))
    heads = need_int(c, "num_attention_heads", "n_head", "n_heads")
    kv_heads = read_int(c, "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num") or heads
    if c.get("multi_query") is True and not read_int(c, "num_key_value_heads", "num_kv_heads"):
        kv_heads = 1
    dim = (
        read_int(c, "head_dim", "attention_head_dim", "kv_channels")
        or need_int(c, "hidden_size", "n_embd", "d_model") // heads
    )
    if window is None and read_int(c, "global_head_dim"):  # a model whose unbounded layers are shaped differently
        dim = read_int(c, "global_head_dim") or dim
        kv_heads = read_int(c, "num_global_key_value_heads") or kv_heads
    value = read_int(c, "v_head_dim") or dim
    return LayerGroup("window" if window else "full", count, kv_heads, dim, value, window)


def _state(c: Config, count: int, element: float) -> LayerGroup:
    """The state group: conv window and recurrent state per layer, sizes before the TP split."""
    conv, state = _delta_net(c) or _kda(c) or _mamba(c) or _short_conv(c) or _lightning(c) or (0, 0)
    if not conv and not state:
        raise ConfigError(
            "state layers without known sizes", hint="Known: linear_*, linear_attn_config, mamba_*, conv_L_cache"
        )
    per_state = dtype_bytes(read_word(c, "mamba_ssm_dtype", "mamba_ssm_cache_dtype"), 4.0 if _kda(c) else element)
    return LayerGroup("state", count, conv_elements=conv, state_elements=state, state_bytes=per_state)


def _delta_net(c: Config) -> tuple[int, int] | None:
    heads = read_int(c, "linear_num_value_heads")
    if not heads:
        return None
    key, value = need_int(c, "linear_key_head_dim"), need_int(c, "linear_value_head_dim")
    width = 2 * key * need_int(c, "linear_num_key_heads") + value * heads
    return width * ((read_int(c, "linear_conv_kernel_dim") or 4) - 1), heads * key * value


def _kda(c: Config) -> tuple[int, int] | None:
    linear = c.get("linear_attn_config")
    if not isinstance(linear, Mapping) or not read_int(linear, "num_heads"):
        return None
    heads, dim = need_int(linear, "num_heads"), need_int(linear, "head_dim")
    return 3 * heads * dim * ((read_int(linear, "short_conv_kernel_size") or 4) - 1), heads * dim * dim


def _mamba(c: Config) -> tuple[int, int] | None:
    size = read_int(c, "mamba_d_state", "ssm_state_size", "state_size")
    if not size:
        return None
    kernel = read_int(c, "mamba_d_conv", "conv_kernel", "d_conv") or 4
    heads, dim = read_int(c, "mamba_n_heads", "mamba_num_heads"), read_int(c, "mamba_d_head", "mamba_head_dim")
    inner = heads * dim if heads and dim else read_int(c, "mamba_d_ssm", "intermediate_size_mamba")
    inner = inner or (read_int(c, "mamba_expand", "expand") or 2) * need_int(c, "hidden_size")
    groups = (read_int(c, "mamba_n_groups", "n_groups", "mamba_ngroups") or 1) if heads else 0  # mamba 1 has no groups
    return (inner + 2 * groups * size) * (kernel - 1), inner * size


def _short_conv(c: Config) -> tuple[int, int] | None:
    kernel = read_int(c, "conv_L_cache")
    return ((read_int(c, "conv_dim") or need_int(c, "hidden_size")) * (kernel - 1), 0) if kernel else None


def _lightning(c: Config) -> tuple[int, int] | None:
    if not isinstance(c.get("attn_type_list"), list):
        return None
    heads = need_int(c, "num_attention_heads")
    dim = read_int(c, "head_dim") or need_int(c, "hidden_size") // heads
    return 0, heads * dim * dim


def _notes(c: Config, kinds: list[str], shared: int) -> tuple[str, ...]:
    notes = []
    if read_int(c, "index_head_dim"):
        notes.append("the sparse-attention index keeps extra bytes per token that are not counted")
    if shared:
        notes.append(f"{shared} layers reuse the KV of earlier layers and are not counted")
    if "state" in kinds and not read_word(c, "mamba_ssm_dtype", "mamba_ssm_cache_dtype") and not _kda(c):
        notes.append(
            "recurrent state assumed in the model's dtype; an engine that keeps it in float32 needs twice that"
        )
    if "window" in kinds:
        notes.append(
            "window layers keep the window only where the engine frees older blocks (vLLM's hybrid KV manager)"
        )
    return tuple(notes)


def read_int(c: Config, *keys: str) -> int | None:
    for key in keys:
        value = c.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            return int(value)
    return None


def need_int(c: Config, *keys: str) -> int:
    value = read_int(c, *keys)
    if not value:
        raise ConfigError(f"model config has no {keys[0]}", hint="Give the config.json of the served model")
    return value


def read_word(c: Config, *keys: str) -> str | None:
    return next((str(c[key]) for key in keys if c.get(key)), None)
