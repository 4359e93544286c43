"""The next step in full: the move's flags for this engine and version, with the number from the sizing functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from diagnose import sizing
from diagnose.engines.catalog import signal_title
from diagnose.guide import Entry, Flag, Move
from diagnose.model import NextStep
from diagnose.sizing_terms import Sizing
from diagnose.subjects import Subject
from diagnose.versions import in_range

_ORDER = ("high", "medium", "low")


def next_step(entry: Entry, move: Move, subject: Subject, why: tuple[str, ...], confidence: str = "medium") -> NextStep:
    """The step for one subject; where the number cannot be computed the move's own words stand in for it."""
    sized = size(move, subject)
    lines = [_fill(flag.text, move, sized) for flag in _flags(move, subject)]
    if sized is not None and sized.formula:
        lines.append(sized.formula)
    assumed = _assumed(move, subject)
    lines += [f"assumes {title}, this version's default: check the start-up log" for title in assumed]
    if assumed:
        confidence = _ORDER[min(len(_ORDER) - 1, _ORDER.index(confidence) + 1)]
    notes = (move.note,) if move.note else ()
    return NextStep(
        id=entry.id,
        move=move.id,
        direction=move.direction,
        title=f"{entry.title}: {move.title}",
        change=tuple(lines),
        why=why,
        expect=move.expect,
        measure=move.measure,
        undo=move.undo,
        confidence=confidence,
        then=(*move.then, *notes),
    )


def _assumed(move: Move, subject: Subject) -> list[str]:
    """What the move takes for granted and only a version's default says, in words."""
    text = f"{move.requires} {move.applied}"
    facts = {"config_chunked_prefill": "chunked_prefill", "config_prefix_caching": "prefix_caching"}
    used = [s for s, f in facts.items() if s in text and f in subject.facts and subject.facts[f].source == "default"]
    return [f"{signal_title(s)} {'on' if subject.signals[s].value else 'off'}" for s in used if s in subject.signals]


def size(move: Move, subject: Subject) -> Sizing | None:
    """The number that a move needs, None when it needs none or an input is missing."""
    if not move.sizing:
        return None
    values = subject.values
    function = _SIZINGS.get(move.sizing)
    return function(values) if function else None


def _flags(move: Move, subject: Subject) -> list[Flag]:
    """Flags of the subject's engine that exist in its version; of both engines when the engine is not known."""
    if subject.engine not in {f.engine for f in move.flags}:
        return [
            next(f for f in move.flags if f.engine == engine) for engine in dict.fromkeys(f.engine for f in move.flags)
        ]
    own = [f for f in move.flags if f.engine == subject.engine]
    fitting = [f for f in own if in_range(subject.version, f.since, f.until)]
    return fitting if subject.version else own[:1]


def _fill(text: str, move: Move, sized: Sizing | None) -> str:
    if "{value}" not in text:
        return text
    return text.replace(
        "{value}", sized.text() if sized is not None and sized.value is not None else move.fallback or "N"
    )


def _context(values: Mapping[str, float]) -> float | None:
    """Tokens of a whole request: prompt and output of the finished ones."""
    if "prompt_len_mean" not in values:
        return None
    return values["prompt_len_mean"] + values.get("output_len_mean", 0.0)


def _kv_tokens(values: Mapping[str, float]) -> float | None:
    return values.get("kv_capacity_tokens", values.get("config_kv_tokens"))


def _fewer(v: Mapping[str, float]) -> Sizing | None:
    """The smaller of two answers: from lengths of finished requests, and from what ran when the cache overflowed."""
    bounds = [b for b in (v.get("config_max_num_seqs"), v.get("requests_running_max")) if b]
    by_length = sizing.max_sequences(_kv_tokens(v), _context(v), current=min(bounds, default=None))
    found = [s for s in (by_length, _by_gauge(v)) if s is not None and s.value is not None]
    return min(found, key=lambda s: s.value or 0.0, default=None)


def _by_gauge(v: Mapping[str, float]) -> Sizing | None:
    """What ran at the peak, scaled to the target occupancy: holds where lengths or KV tokens are not known."""
    running, usage = v.get("requests_running_max"), v.get("kv_usage_max")
    if not running or not usage or usage <= sizing.OCCUPANCY:
        return None
    value = max(1, math.floor(running * sizing.OCCUPANCY / usage))
    formula = f"{running:g} running x {sizing.OCCUPANCY:g} / {usage:.0%} of the KV cache = {value}"
    return Sizing((), value=float(value), unit="sequences", formula=formula)


def _more(v: Mapping[str, float]) -> Sizing | None:
    cap = v.get("config_max_num_seqs") or v.get("requests_running_max")
    usage = v.get("kv_usage_max")
    return sizing.raise_max_sequences(
        cap, v.get("requests_running_max"), v.get("requests_waiting_max"), usage, _kv_tokens(v), _context(v)
    )


_SIZINGS: dict[str, Callable[[Mapping[str, float]], Sizing | None]] = {
    "max_sequences": _fewer,
    "raise_max_sequences": _more,
    "chunk_budget": lambda v: sizing.chunk_budget(
        v.get("prompt_len_mean"),
        v.get("computed_prompt_tps"),
        current=v.get("config_chunk_budget"),
        at_least=v.get("config_max_num_seqs"),
    ),
    "chunk_budget_up": lambda v: sizing.chunk_budget(
        v.get("prompt_len_mean"), current=v.get("config_chunk_budget"), up=True
    ),
    "graph_batch": lambda v: sizing.graph_batch(
        v.get("requests_running_max"), v.get("config_max_num_seqs"), v.get("config_graph_max_batch")
    ),
    "kv_fp8_gain": lambda v: sizing.kv_fp8_gain(_kv_tokens(v), _context(v)),
    "replicas": lambda v: sizing.replicas(
        v.get("requests_running", 0.0) + v.get("requests_waiting", 0.0), v.get("requests_running"), v.get("ranks", 1.0)
    ),
    "lora_slots": lambda v: sizing.lora_slots(v.get("lora_adapters"), v.get("lora_slots", v.get("config_max_loras"))),
    "speculative_tokens": lambda v: sizing.speculative_tokens(
        tuple(v[k] for k in ("spec_first_position", "spec_second_position") if k in v) or None,
        v.get("spec_acceptance"),
        v.get("config_spec_tokens"),
    ),
    "fit_context": lambda v: sizing.fit_context(
        _kv_tokens(v), v.get("config_kv_block_size"), v.get("config_max_model_len")
    ),
    "client_in_flight": lambda v: sizing.client_in_flight(v.get("config_max_num_seqs"), v.get("ranks", 1.0)),
}
