"""What to ask a Prometheus for, signal by signal, and where the rules that it has loaded differ from the thresholds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from diagnose.engines.catalog import METRICS, SIGNALS
from diagnose.generate import promql, records
from diagnose.settings import Settings, resolve
from diagnose.sources.prometheus import Query
from diagnose.symptoms import all_symptoms

THRESHOLDS = "engine:threshold"
_RECORDED_ONLY = ("reserved_gap_growth",)  # needs a subquery, which is too costly as a raw expression of a fleet
# derived signals that the walk derives itself from their parts
_DERIVED_HERE = (
    "itl_tail_ratio", "waiting_over_running", "preemptions_per_running", "queue_share_of_ttft", "bytes_per_descriptor",
)  # fmt: skip
_DERIVED_RANKS = {"stalled_seconds": "min", "graph_growth": "max", "reserved_gap_growth": "max"}
_WHOLE = ("ratio", "hist_mean", "quantile", "share_above")


def plan(window: str) -> tuple[Query, ...]:
    """One query per signal that metrics give; raw expressions look back for ``window``."""
    base = [s for s in SIGNALS if promql.renderable(s) and s not in promql.DERIVED and s not in promql.FLEET]
    derived = [s for s in promql.DERIVED if s not in _DERIVED_HERE]
    scrapes = Query("scrapes", "", promql.metric("running", "count_over_time", window), "max")
    return (scrapes, *(_base(s, window) for s in base), *(_derived(s, window) for s in derived))


def _base(signal: str, window: str) -> Query:
    calc = SIGNALS[signal].calc
    assert calc is not None
    raw, whole = promql.signal(signal, window), calc.op in _WHOLE
    combine = "mean" if whole else METRICS[calc.metrics[0]].combine
    return Query(signal, f"engine:{signal}", _of_engine(raw) if whole else raw, combine, whole)


def _derived(signal: str, window: str) -> Query:
    raw = "" if signal in _RECORDED_ONLY else _raw(signal, window)
    return Query(signal, f"engine:{signal}", raw, _DERIVED_RANKS.get(signal, "mean"), True)


def _raw(signal: str, window: str) -> str:
    """A derived signal from raw metrics; over the window itself where the rule looks back with a subquery."""
    if signal == "running_pinned":
        most = promql.metric("running", "max_over_time", window)
        middle = most.replace("max_over_time(", "quantile_over_time(0.5, ")
        return f"clamp_max(((\n{middle}\n) + 0.5) / ((\n{most}\n) > 0), 1)"  # slack for small batches, as in ticks
    if signal == "graph_growth":
        least = promql.metric("graph_memory", "min_over_time", window)
        return f"(\n{promql.metric('graph_memory', '')}\n) - (\n{least}\n)"
    return _of_engine(_inlined(promql.DERIVED[signal], window))


def _of_engine(expression: str) -> str:
    """The expression over all ranks of an engine instead of by rank."""
    return expression.replace(", rank, le)", ", le)").replace(", rank)", ")")


_NAME = re.compile(r"\bengine:\w+")


def _inlined(expression: str, window: str) -> str:
    """The expression without recorded series."""
    rules = [rule for group in records.groups(resolve()) for rule in group["rules"] if "labels" not in rule]  # type: ignore[attr-defined]
    raw: Mapping[str, str] = {str(rule["record"]): str(rule["expr"]) for rule in rules}

    def expand(text: str) -> str:
        return _NAME.sub(lambda m: f"({expand(raw[m[0]])})", text)

    return expand(expression).replace(f"[{promql.WINDOW}]", f"[{window}]")


def drift(rows: Iterable[Mapping[str, object]], settings: Settings) -> tuple[str, ...]:
    """A note for every threshold of the loaded rules (``engine:threshold``) that is not the user's."""
    notes = []
    symptoms = all_symptoms()
    for row in rows:
        labels, value = row["metric"], float(row["value"][1])  # type: ignore[index]
        symptom, name = labels.get("symptom", ""), labels.get("name", "")  # type: ignore[attr-defined]
        known = settings.bounds(symptom).get(name) if symptom in symptoms else None
        if known is not None and not math.isclose(known, value, rel_tol=1e-4, abs_tol=1e-12):
            notes.append(f"loaded rules differ: {symptom}.{name} is {value:g} there, {known:g} here")
    return tuple(sorted(set(notes)))
