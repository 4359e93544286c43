"""The guide's KV formula from hardware, a model's shape and the parallel layout: every term with unit and source.

    available KV memory = GPU memory x utilization - weight shard - activation reserve - graph pool
    KV tokens           = available KV memory / KV bytes per token (of one rank)
    max sequences       = KV tokens x target occupancy / average context length

All memory is per rank (one GPU). Layers that keep a window or a state cost per sequence, not per token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from diagnose.errors import UsageError
from diagnose.model_shapes import LayerGroup, ModelShape, dtype_bytes
from diagnose.sizing import OCCUPANCY
from diagnose.sizing_terms import Sizing, Term, number, positive, tenths
from diagnose.units import GIB

ASSUMED_ACTIVATION = 2 * GIB
ASSUMED_GRAPHS = 1 * GIB


@dataclass(frozen=True)
class Hardware:
    """One rank's memory and how it is shared out. Bytes; ``None`` reserves are assumed and labelled so.

    ``kv_bytes`` is what an engine's log says it left for KV: the memory terms are then not needed.
    ``engine`` decides what the fraction covers: vLLM's --gpu-memory-utilization covers weights, activations, graphs
    and KV; SGLang's --mem-fraction-static covers weights and KV only.
    """

    gpu_bytes: float = 0.0
    utilization: float = 1.0
    weight_bytes: float = 0.0
    weight_source: str = "given"
    utilization_source: str = "given"
    tp: int = 1
    pp: int = 1
    activation_bytes: float | None = None
    graph_bytes: float | None = None
    engine: str = "vllm"
    block: int = 16
    kv_bytes: float | None = None


def bytes_per_token(group: LayerGroup, element: float, tp: int) -> float:
    """Bytes that one token takes in one layer of the group on one rank; 0 for state layers.

    KV heads are split over TP down to one per rank; MLA's latent is the same on every rank and is not split.
    """
    if group.kind == "state":
        return 0.0
    if group.kind == "mla":
        return group.key_dim * element
    return heads_per_rank(group.kv_heads, tp) * (group.key_dim + group.value_dim) * element


def heads_per_rank(kv_heads: int, tp: int) -> int:
    """KV heads on one rank: at least one, so TP beyond the KV heads copies them."""
    return max(1, math.ceil(kv_heads / tp))


def bytes_per_sequence(shape: ModelShape, context: float, element: float, hw: Hardware) -> float:
    """Bytes that one sequence of ``context`` tokens takes on one rank, in whole blocks, states included."""
    total = 0.0
    for group in shape.groups:
        count = math.ceil(group.count / hw.pp)
        if group.kind == "state":
            total += count * state_bytes(group, shape.dtype_bytes, hw.tp)
            continue
        blocks = math.ceil(context / hw.block)
        if group.window is not None and group.window < context:
            blocks = min(blocks, math.ceil(group.window / hw.block) + 1)  # the window rarely starts on a block
        total += count * bytes_per_token(group, element, hw.tp) * blocks * hw.block
    return total


def state_bytes(group: LayerGroup, element: float, tp: int) -> float:
    """Bytes of the constant state that one sequence keeps in one state layer of one rank; split over TP."""
    return (group.conv_elements * element + group.state_elements * group.state_bytes) / tp


def kv_sizing(
    shape: ModelShape, hw: Hardware, kv_dtype: str = "auto", context: float | None = None, occupancy: float = OCCUPANCY
) -> Sizing:
    """The whole formula. Without ``context`` there is no ``max_sequences``, and no KV tokens for models that keep
    a window or a state (their cost per token depends on the length). Raises UsageError on impossible input."""
    _check(hw, occupancy, context)
    element = dtype_bytes(kv_dtype, shape.dtype_bytes)
    memory, available = _memory(hw)
    growing = sum(
        math.ceil(g.count / hw.pp) * bytes_per_token(g, element, hw.tp)
        for g in shape.groups
        if g.window is None and g.kind != "state"
    )
    terms = [
        *memory,
        *_layer_terms(shape, hw, element, kv_dtype),
        Term("KV bytes per token", growing, "bytes", "computed"),
    ]
    notes = [*shape.notes, *_notes(shape, hw, available)]
    uniform = all(g.window is None and g.kind != "state" for g in shape.groups)
    if available <= 0:
        terms.append(Term("KV tokens", 0.0, "tokens", "computed"))
        return Sizing(tuple(terms), 0.0, 0, growing, tuple(notes), 0, "sequences", "no memory left for KV")
    uniform = all(g.window is None and g.kind != "state" for g in shape.groups)
    if context is None:
        return _without_context(terms, notes, growing, math.floor(available / growing) if uniform else None)
    per_sequence = bytes_per_sequence(shape, context, element, hw)
    tokens = math.floor(available / growing if uniform else available / per_sequence * context)
    exact = tokens * occupancy / context
    fits = math.floor(exact + 1e-9)
    terms += [
        Term("average context", context, "tokens", "given"),
        Term("KV bytes per sequence", per_sequence, "bytes", "computed"),
        Term("KV tokens", float(tokens), "tokens", "computed"),
        Term("target occupancy", occupancy, "ratio", "guide 2.1"),
        Term("max sequences", float(fits), "sequences", "computed"),
    ]
    formula = f"{number(tokens)} KV tokens x {occupancy:g} / {number(context)} tokens per request = {tenths(exact)}"
    return Sizing(tuple(terms), float(tokens), fits, growing, tuple(notes), fits, "sequences", formula)


def _without_context(terms: list[Term], notes: list[str], growing: float, tokens: int | None) -> Sizing:
    """KV tokens alone, or neither where a token's cost depends on the length of its sequence."""
    if tokens is None:
        notes = [*notes, "give --context: this model's cost per token depends on the length of the sequence"]
        return Sizing(tuple(terms), None, None, growing, tuple(notes))
    terms = [*terms, Term("KV tokens", float(tokens), "tokens", "computed")]
    return Sizing(tuple(terms), float(tokens), None, growing, tuple(notes), tokens, "tokens")


def _memory(hw: Hardware) -> tuple[list[Term], float]:
    """The memory terms and what they leave for KV on one rank (may be negative)."""
    if hw.kv_bytes is not None:
        ranks = [Term("TP degree", float(hw.tp), "ranks", "given"), Term("PP degree", float(hw.pp), "ranks", "given")]
        return [*ranks, Term("available KV memory", hw.kv_bytes, "bytes", "the engine's log")], hw.kv_bytes
    shard = hw.weight_bytes / (hw.tp * hw.pp)
    inside = hw.engine != "sglang"
    activation = (ASSUMED_ACTIVATION if hw.activation_bytes is None else hw.activation_bytes) if inside else 0.0
    graphs = (ASSUMED_GRAPHS if hw.graph_bytes is None else hw.graph_bytes) if inside else 0.0
    outside = "outside SGLang's fraction"
    available = hw.gpu_bytes * hw.utilization - shard - activation - graphs
    return [
        Term("GPU memory", hw.gpu_bytes, "bytes", "given"),
        Term("utilization", hw.utilization, "ratio", hw.utilization_source),
        Term("weights", hw.weight_bytes, "bytes", hw.weight_source),
        Term("TP degree", float(hw.tp), "ranks", "given"),
        Term("PP degree", float(hw.pp), "ranks", "given"),
        Term("weight shard", shard, "bytes", "weights / (TP x PP)"),
        Term(
            "activation reserve",
            activation,
            "bytes",
            _source(hw.activation_bytes, "--activation") if inside else outside,
        ),
        Term("graph pool", graphs, "bytes", _source(hw.graph_bytes, "--graph-pool") if inside else outside),
        Term("available KV memory", available, "bytes", "computed"),
    ], available


def _source(value: float | None, option: str) -> str:
    return "given" if value is not None else f"assumed, set {option}"


def _layer_terms(shape: ModelShape, hw: Hardware, element: float, kv_dtype: str) -> list[Term]:
    terms = [Term("bytes per KV element", element, "bytes", f"KV dtype {kv_dtype}")]
    for group in shape.groups:
        label = {"full": "attention", "window": "window attention", "mla": "MLA", "state": "state"}[group.kind]
        terms.append(Term(f"{label} layers", float(math.ceil(group.count / hw.pp)), "layers per rank", "the model"))
        if group.kind == "state":
            each = state_bytes(group, shape.dtype_bytes, hw.tp)
            terms.append(Term("state per layer", each, "bytes per sequence", "computed"))
        elif group.kind == "mla":
            terms.append(Term("latent width", float(group.key_dim), "elements", "kv_lora_rank + qk_rope_head_dim"))
        else:
            split = f"max(1, {group.kv_heads} / TP)"
            terms.append(Term("KV heads per rank", float(heads_per_rank(group.kv_heads, hw.tp)), "heads", split))
            terms.append(Term("head size K + V", float(group.key_dim + group.value_dim), "elements", "the model"))
        if group.window is not None:
            terms.append(Term("window", float(group.window), "tokens", "the model"))
    return terms


def _notes(shape: ModelShape, hw: Hardware, available: float) -> list[str]:
    notes = []
    if any(g.kind == "mla" for g in shape.groups) and hw.tp > 1:
        notes.append(
            "MLA: every TP rank keeps the whole latent; data-parallel attention adds KV room, wider TP does not"
        )
    narrow = [g for g in shape.groups if g.kind in ("full", "window") and hw.tp > g.kv_heads]
    if narrow:
        notes.append(f"TP {hw.tp} exceeds the {narrow[0].kv_heads} KV heads: ranks keep copies")
    if any(g.kind == "state" for g in shape.groups):
        notes.append(
            "hybrid model: the engine may use blocks of hundreds of tokens and pad pages; expect a little less"
        )
    if available <= 0:
        notes.append("weights and reserves do not fit: more ranks, quantized weights or a higher utilization")
    return notes


def _check(hw: Hardware, occupancy: float, context: float | None) -> None:
    stated = hw.kv_bytes is not None
    checks = (
        (not stated or positive(hw.kv_bytes), "available KV memory", hw.kv_bytes, "a size such as 45.9GiB"),
        (0 < hw.utilization <= 1, "utilization", hw.utilization, "a ratio above 0 up to 1 (0.9, not 90)"),
        (0 < occupancy <= 1, "occupancy", occupancy, "a ratio above 0 up to 1 (0.85, not 85)"),
        (stated or positive(hw.gpu_bytes), "GPU memory", hw.gpu_bytes, "a size such as 80GiB"),
        (stated or positive(hw.weight_bytes), "weights", hw.weight_bytes, "a size such as 16GiB"),
        (hw.tp >= 1 and hw.pp >= 1, "TP and PP", f"{hw.tp} and {hw.pp}", "whole numbers from 1"),
        (hw.block >= 1, "block size", hw.block, "tokens from 1"),
        (context is None or context >= 1, "context", context, "tokens from 1"),
    )
    for fine, what, value, expected in checks:
        if not fine:
            raise UsageError(f"{what} is {value}", hint=f"Expected {expected}")
