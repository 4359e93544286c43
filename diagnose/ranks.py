"""Labels of engine series: which are real data-parallel ranks, which are copies, which belong to a router."""

from __future__ import annotations

import math

from diagnose.engines.catalog import Spelling
from diagnose.model import Labels, Series

RANK_LABELS = ("engine", "dp_rank")  # data-parallel ranks: real replicas
COPY_LABELS = frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "ep_rank", "cp_rank", "attn_cp_rank", "pid"})

Key = tuple[tuple[str, str], ...]


def is_engine(labels: Labels) -> bool:
    """A router re-exports engine names with a ``server`` label and no model: those are not the engine's own."""
    return not ("server" in labels and not labels.get("model_name"))


def select(series: Series, spelling: Spelling) -> Series:
    """The series of an engine that a spelling means: not NaN, not a router's, not split by priority."""
    return [
        (labels, value)
        for labels, value in series
        if math.isfinite(value)
        and is_engine(labels)
        and not labels.get("priority")
        and all(labels.get(k, "") in allowed for k, allowed in spelling.only.items())
        and all(labels.get(k, "") not in banned for k, banned in spelling.without.items())
    ]


def key(labels: Labels) -> Key:
    """Identity of a series without the labels that only tell copies of one scheduler apart."""
    return tuple(sorted((k, v) for k, v in labels.items() if k not in COPY_LABELS))


def by_rank(series: Series, scale: float) -> dict[str, float]:
    """Value by data-parallel rank: copies of one scheduler count once, other labels (reason, stage, ...) add up."""
    once: dict[Key, float] = {}
    for labels, value in series:
        identity = key(labels)
        once[identity] = max(once.get(identity, value), value)
    out: dict[str, float] = {}
    for identity, value in once.items():
        rank = next((v for k, v in identity if k in RANK_LABELS), "")
        out[rank] = out.get(rank, 0.0) + value * scale
    return out


def by_label(series: Series, label: str) -> dict[str, float]:
    """Sum by the values of one label."""
    out: dict[str, float] = {}
    for labels, value in series:
        out[labels.get(label, "")] = out.get(labels.get(label, ""), 0.0) + value
    return out
