"""Canonical signals of one target from its metrics: declared calculations first, then those that combine several."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping

from diagnose import histograms
from diagnose.engines.catalog import METRICS, SIGNALS, Calc
from diagnose.model import Value
from diagnose.series import TargetSeries

SINCE_START = "since start"
_GAUGE: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda v: sum(v) / len(v), "max": max, "min": min, "last": lambda v: v[-1],
}  # fmt: skip


def metric_signals(target: TargetSeries, given: Mapping[str, Value] | None = None) -> dict[str, Value]:
    """Every signal that the target's metrics give; a signal that they do not give is absent from the result.

    ``given`` are signals that somebody else measured: others are derived from them too; they are not in the result.
    """
    if not target.scrapes:
        return {}
    found: dict[str, Value] = dict(given or {})
    single = len(target.scrapes) == 1
    for signal in SIGNALS.values():
        if single and signal.id in found:
            continue
        if signal.calc is not None and all(target.present(m) for m in signal.calc.metrics):
            value = _calculate(target, signal.calc)
            if value is not None and math.isfinite(value):
                found[signal.id] = Value(value, "metrics", target.window, _is_since_start(target, signal.calc))
    found |= _derived(target, found)
    return {k: v for k, v in found.items() if (given or {}).get(k) is not v}


def _is_since_start(target: TargetSeries, calc: Calc) -> bool:
    return len(target.scrapes) == 1 and calc.op in ("ratio", "hist_mean", "quantile", "share_above")


def _calculate(target: TargetSeries, calc: Calc) -> float | None:
    if calc.op in _GAUGE:
        points = [v for _, v in target.gauge(calc.metrics[0])]
        return _GAUGE[calc.op](points) if points else None
    if METRICS[calc.metrics[0]].kind == "histogram":
        return _from_histogram(target, calc)
    if calc.op == "ratio":
        return _ratio(target, *calc.metrics)
    increase = target.increase(calc.metrics[0])
    if increase is None or calc.op == "increase":
        return increase
    return increase / target.window if target.window else None


def _ratio(target: TargetSeries, top: str, bottom: str) -> float | None:
    """Increase over increase; lifetime over lifetime when there is one scrape; None for 0/0."""
    if len(target.scrapes) == 1:
        above, below = target.lifetime(top), target.lifetime(bottom)
    else:
        above, below = target.increase(top), target.increase(bottom)
    return None if above is None or not below else above / below


def _from_histogram(target: TargetSeries, calc: Calc) -> float | None:
    hist = target.histogram(calc.metrics[0])
    if hist is None or hist.count <= 0:
        return None
    if calc.op == "hist_mean":
        return hist.total / hist.count
    return histograms.quantile(calc.q, hist) if calc.op == "quantile" else histograms.share_above(calc.q, hist)


def _derived(target: TargetSeries, found: dict[str, Value]) -> dict[str, Value]:
    """Signals that combine others; each is left out when an input is missing."""
    out: dict[str, float | None] = {
        "scrapes": float(len(target.scrapes)),
        "resets": float(target.resets),
        "usable_intervals": float(len(target.intervals)),
        "running_pinned": _pinned(target),
        "clock_steps": float(target.clock_steps),
        "engine_series": float(sum(len(v) for v in target.scrapes[-1].samples.values())) if target.engine else 0.0,
        "kv_capacity_tokens": _kv_capacity(target),
        "kv_max_concurrency": _label_number(target, "kv_cache_max_concurrency"),
        "itl_tail_ratio": _over(found, "itl_p99", "itl_p50"),
        "tokens_moved": _sum(target.increase("prompt_tokens"), target.increase("generation_tokens")),
        "spec_accept_length": _accept_length(target, found),
        "graph_share": _graph_share(target),
        "duplicate_ranks": float(target.copies("running")),
        "bytes_per_descriptor": _over(found, "transfer_bytes_mean", "transfer_descriptors_mean"),
        "queue_share_of_ttft": _over(found, "queue_time_mean", "ttft_mean"),
        "preemptions_per_running": _over(found, "preemptions", "requests_running_max"),
        "waiting_over_running": _over(found, "requests_waiting", "requests_running"),
        "graph_growth": _growth(target.gauge("graph_memory")),
        "reserved_gap_growth": _gap_growth(target),
        "lora_slots": _lora_slots(target),
        "lora_adapters": _lora_adapters(target),
        "throughput_gauge_ratio": _over_gauge(target, found),
        **_spec_positions(target),
    }
    if "spec_acceptance" not in found and target.present("spec_rate_gauge"):
        out["spec_acceptance"] = _positive_mean(target, "spec_rate_gauge") or None  # 0: speculation is off
    if "prefix_hit_ratio" not in found and target.engine == "vllm" and target.present("prefix_hit_gauge"):
        out["prefix_hit_ratio"] = _positive_mean(target, "prefix_hit_gauge")
    if "queue_time_mean" not in found and target.present("queue_time_gauge"):
        out["queue_time_mean"] = _positive_mean(target, "queue_time_gauge")
    if "preemptions" not in found and target.present("retracted_now"):
        out["preemptions"] = sum(v for _, v in target.gauge("retracted_now")) or None
    if "ttft_mean" in found and ("queue_time_mean" in found or "prefill_time_mean" in found):
        known = [found[s].value for s in ("queue_time_mean", "prefill_time_mean") if s in found]
        out["ttft_unexplained"] = found["ttft_mean"].value - sum(known)
    return {k: Value(v, "metrics", target.window) for k, v in out.items() if v is not None and math.isfinite(v)}


def _over(found: dict[str, Value], top: str, bottom: str) -> float | None:
    if top not in found or bottom not in found or not found[bottom].value:
        return None
    return found[top].value / found[bottom].value


def _sum(*parts: float | None) -> float | None:
    known = [p for p in parts if p is not None]
    return sum(known) if known else None


def _positive_mean(target: TargetSeries, metric: str) -> float | None:
    """Mean of a gauge that engines overwrite with 0 between reports: zeros count only when nothing else was seen."""
    points = [v for _, v in target.gauge(metric)]
    positive = [v for v in points if v > 0]
    return sum(positive) / len(positive) if positive else 0.0 if points else None


def _label_number(target: TargetSeries, label: str) -> float | None:
    labels = target.info("cache_config") or {}
    try:
        return float(labels[label])
    except (KeyError, ValueError):
        return None


def _kv_capacity(target: TargetSeries) -> float | None:
    """Tokens that one rank's KV cache holds: SGLang's gauge, vLLM's label, or blocks times block size."""
    gauge = target.gauge("kv_capacity")
    if gauge:
        return gauge[-1][1]
    tokens = _label_number(target, "kv_cache_size_tokens")
    if tokens is not None:
        return tokens
    blocks, size = _label_number(target, "num_gpu_blocks"), _label_number(target, "block_size")
    if blocks is None:
        blocks, size = _label_number(target, "num_pages"), _label_number(target, "page_size")
    return blocks * size if blocks and size else None


def _accept_length(target: TargetSeries, found: dict[str, Value]) -> float | None:
    """1 + accepted / drafts (the bonus token is included), or SGLang's gauge, which includes it already."""
    accepted, drafts = target.increase("spec_accepted"), target.increase("spec_drafts")
    if accepted is not None and drafts:
        return 1.0 + accepted / drafts
    return _positive_mean(target, "spec_length_gauge") or None  # 0: speculation is off


def _graph_share(target: TargetSeries) -> float | None:
    graph, eager = target.increase("graph_decode"), target.increase("eager_decode")
    steps = (graph or 0.0) + (eager or 0.0)
    if steps > 0:
        return (graph or 0.0) / steps
    running = [v for _, v in target.gauge("running")]
    flags = [v for _, v in target.gauge("is_graph")]
    if len(flags) != len(running):
        return None
    busy = [f for f, r in zip(flags, running, strict=True) if r > 0]
    return sum(busy) / len(busy) if busy else None


def _spec_positions(target: TargetSeries) -> dict[str, float | None]:
    drafts, accepted = target.increase("spec_drafts"), target.by_label("spec_position")
    if not drafts or not accepted:
        return {}
    second = accepted.get("1")
    return {
        "spec_first_position": accepted.get("0", 0.0) / drafts,
        "spec_second_position": None if second is None else second / drafts,
    }


def _pinned(target: TargetSeries) -> float | None:
    """Median over peak of the batch while requests queued; None with fewer than two such scrapes."""
    pairs = zip(target.values("running")[target.segment :], target.values("waiting")[target.segment :], strict=True)
    queued = [running for running, waiting in pairs if running is not None and (waiting or 0.0) > 0]
    if len(queued) < 2 or max(queued) == 0:
        return None
    return min(1.0, (statistics.median(queued) + 0.5) / max(queued))  # half a request of slack for small caps


def _growth(points: list[tuple[float, float]]) -> float | None:
    return points[-1][1] - points[0][1] if len(points) > 1 else None


def _gap_growth(target: TargetSeries) -> float | None:
    reserved, allocated = dict(target.gauge("reserved_memory")), dict(target.gauge("allocated_memory"))
    return _growth([(t, reserved[t] - allocated[t]) for t in sorted(reserved.keys() & allocated.keys())])


def _lora_slots(target: TargetSeries) -> float | None:
    gauge = target.gauge("lora_slots")
    if gauge:
        return gauge[-1][1]
    try:
        return float((target.info("lora_info") or {})["max_lora"]) or None
    except (KeyError, ValueError):
        return None


def _lora_adapters(target: TargetSeries) -> float | None:
    """Adapters that ran or waited at any time: vLLM lists them in labels, and old label sets stay in the exposition."""
    names = {
        name.strip()
        for labels in target.infos("lora_info")
        for key in ("running_lora_adapters", "waiting_lora_adapters")
        for name in labels.get(key, "").split(",")
    }
    return float(len(names - {""})) or None


def _over_gauge(target: TargetSeries, found: dict[str, Value]) -> float | None:
    """Generation rate by token counters over the engine's own throughput gauge (mean of positive values)."""
    gauge = _positive_mean(target, "gen_throughput")
    rate = found.get("generation_tps")
    return rate.value / gauge if rate and gauge and (target.window or 0) >= 20 else None
