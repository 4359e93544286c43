"""Signals that logs, per-request records and host tools give: speculation, graphs, caches, transfers, GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from diagnose import facts as facts_module
from diagnose.model import Fact, LogEvent, LogStat, Value

_START_EVENTS = {"engine_config", "non_default_args", "server_args", "ready_sglang", "kv_size", "kv_blocks"}

_CAPTURING = {"graph_capture_begin", "graph_memory_estimate", "kv_size"}  # what follows is capture and warm-up
_CAPTURED = {"graph_capture_end", "server_started", "ready_sglang"}
_DEATHS = {"engine_dead", "traceback_error"}


def log_signals(stats: Iterable[LogStat], events: Iterable[LogEvent], facts: dict[str, Fact]) -> dict[str, Value]:
    """All signals of the given log lines; what the lines do not say is absent."""
    stats, events = tuple(stats), tuple(events)
    out: dict[str, float | None] = {
        **_speculation(stats),
        **_graphs(stats, events, facts),
        **_caches(stats),
        **_disaggregation(stats),
        **_host(stats, events),
        **_event_counts(events),
        **_evictions(events),
    }
    deferred = [s.values.get("deferred", 0.0) for s in stats if s.kind == "vllm"]
    if any(deferred):  # printed only when not zero
        out["waiting_deferred"] = _mean(deferred)
    periodic = [s for s in stats if s.kind in ("vllm", "sglang_decode", "sglang_prefill")]
    if periodic:
        out["log_intervals"] = float(len(periodic))
    return {k: Value(v, "log") for k, v in out.items() if v is not None}


def _column(stats: Iterable[LogStat], kinds: tuple[str, ...], name: str) -> list[float]:
    return [s.values[name] for s in stats if s.kind in kinds and name in s.values]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _speculation(stats: tuple[LogStat, ...]) -> dict[str, float | None]:
    kinds = ("spec", "sglang_decode")
    lengths, rates = _column(stats, kinds, "accept_length"), _column(stats, kinds, "accept_rate")
    accepted, drafted = (
        sum(_column(stats, ("spec",), "accepted_tokens")),
        sum(_column(stats, ("spec",), "drafted_tokens")),
    )
    positions = [s.per_position for s in stats if s.per_position]
    first, second = ([p[n] for p in positions if len(p) > n] for n in (0, 1))
    half = len(lengths) // 2
    return {
        "spec_acceptance": accepted / drafted if drafted else _mean(rates),
        "spec_drafted": drafted or None,
        "spec_accept_length": _mean(lengths),
        "spec_accept_length_peak": max(lengths, default=None),
        "spec_accept_length_last": _mean(lengths[-2:]),
        "spec_decay": _mean(lengths[half:]) / _mean(lengths[:half]) if half >= 2 and _mean(lengths[:half]) else None,  # type: ignore[operator]
        "spec_first_position": _mean(first),
        "spec_second_position": _mean(second),
    }


def _graphs(
    stats: tuple[LogStat, ...], events: tuple[LogEvent, ...], facts: dict[str, Fact]
) -> dict[str, float | None]:
    flags = [s.values["cuda_graph"] for s in stats if s.kind == "sglang_decode" and "cuda_graph" in s.values]
    taken, left = _largest(events, "graph_capture_end", "bytes"), _smallest(events, "graph_capture_end", "avail")
    before = _smallest(events, "graph_capture_begin", "avail")
    if left is None and before and taken:
        left = before - taken
    estimate = _largest(events, "graph_memory_estimate", "bytes")
    actual, guessed = (
        _largest(events, "graph_pool_actual", "actual"),
        _largest(events, "graph_pool_actual", "estimated"),
    )
    kv = facts_module.number(facts.get("kv_bytes"))
    size = actual or taken or estimate
    return {
        "graph_share": _mean(flags),
        "graph_bytes": size,
        "graph_over_left": taken / left if taken and left else None,
        "graph_over_kv": size / kv if size and kv else None,
        "graph_estimate_error": actual / guessed if actual and guessed else None,
    }


def _largest(events: tuple[LogEvent, ...], ident: str, field: str) -> float | None:
    return max(_fields(events, ident, field), default=None)


def _smallest(events: tuple[LogEvent, ...], ident: str, field: str) -> float | None:
    return min(_fields(events, ident, field), default=None)


def _fields(events: tuple[LogEvent, ...], ident: str, field: str) -> list[float]:
    found = []
    for event in events:
        match = re.match(r"-?[\d.]+", event.fields.get(field, "").replace(",", "")) if event.id == ident else None
        if match:
            found.append(float(match[0]))
    return found


def _caches(stats: tuple[LogStat, ...]) -> dict[str, float | None]:
    hit = _column(stats, ("vllm",), "prefix_hit_ratio")
    external = _column(stats, ("vllm",), "external_hit_ratio")
    new, cached = (
        sum(_column(stats, ("sglang_prefill",), "new_tokens")),
        sum(_column(stats, ("sglang_prefill",), "cached_tokens")),
    )
    requests = [s for s in stats if s.kind == "request" and s.values.get("prompt_tokens")]
    over = [s.values["cached_tokens"] / s.values["prompt_tokens"] for s in requests if "cached_tokens" in s.values]
    loads = [s for s in stats if s.kind == "lmcache"]
    return {
        "prefix_hit_log": hit[-1] if hit else None,
        "prefix_hit_ratio": cached / (new + cached) if new + cached > 0 else hit[-1] if hit else None,
        "prefix_queries": new + cached or None,
        "external_hit_ratio": external[-1] if external else None,
        "cached_over_prompt": max(over, default=None),
        "lmcache_requests": float(len(loads)) or None,
        "lmcache_hit_ratio": _share(loads, "hit_tokens", "total_tokens"),
        "lmcache_total_max": max(_column(loads, ("lmcache",), "total_tokens"), default=None),
        "lmcache_negative_loads": float(sum(s.values.get("need_to_load", 0.0) < 0 for s in loads)) if loads else None,
    }


def _share(stats: list[LogStat], top: str, bottom: str) -> float | None:
    below = sum(s.values.get(bottom, 0.0) for s in stats)
    return sum(s.values.get(top, 0.0) for s in stats) / below if below else None


def _disaggregation(stats: tuple[LogStat, ...]) -> dict[str, float | None]:
    prefill, decode, nixl = ("sglang_prefill",), ("sglang_decode",), ("kv_transfer",)
    scores = _column(stats, ("score",), "score")
    return {
        "pd_bootstrap_queue": _mean(_column(stats, prefill, "bootstrap_queue")),
        "pd_inflight_queue": _mean(_column(stats, prefill, "inflight_queue")),
        "pd_prealloc_queue": _mean(_column(stats, decode, "prealloc_queue")),
        "pd_transfer_queue": _mean(_column(stats, decode, "transfer_queue")),
        "prefill_queue": _mean(_column(stats, prefill, "waiting")),
        "transfer_throughput": _mean(_column(stats, ("transfer_engine", "kv_transfer"), "throughput")),
        "transfer_time_mean": _mean(_column(stats, nixl, "xfer_time")),
        "transfer_post_mean": _mean(_column(stats, nixl, "post_time")),
        "transfer_bytes_mean": _mean(_column(stats, nixl, "bytes_per_transfer")),
        "transfer_descriptors_mean": _mean(_column(stats, nixl, "descriptors")),
        "bytes_per_descriptor": _share(
            [s for s in stats if s.kind == "kv_transfer"], "bytes_per_transfer", "descriptors"
        ),
        "router_scores": float(len(scores)) or None,
        "router_score_max": max(scores, default=None),
        "consecutive_prefills": _prefill_run(stats),
    }


def _prefill_run(stats: tuple[LogStat, ...]) -> float | None:
    longest = run = 0
    for stat in stats:
        if stat.kind == "sglang_prefill":
            run += 1
            longest = max(longest, run)
        elif stat.kind == "sglang_decode":
            run = 0
    return float(longest) or None


def _host(stats: tuple[LogStat, ...], events: tuple[LogEvent, ...]) -> dict[str, float | None]:
    by_gpu: dict[float, list[float]] = {}
    for n, stat in enumerate(s for s in stats if s.kind == "gpu" and "utilization" in s.values):
        by_gpu.setdefault(stat.values.get("index", float(n) if "index" in stat.values else 0.0), []).append(
            stat.values["utilization"]
        )
    means = [sum(v) / len(v) for v in by_gpu.values()]
    draw = [
        s.values["power"] / s.values["power_limit"]
        for s in stats
        if s.kind == "gpu" and s.values.get("power_limit") and "power" in s.values
    ]
    return {
        "gpu_utilization_min": min(means, default=None),
        "gpu_utilization_max": max(means, default=None),
        "gpu_utilization_spread": max(means) - min(means) if len(means) > 1 else None,
        "gpu_power_share_max": max(draw, default=None),
        "worker_cpu": max(_column(stats, ("cpu",), "cpu"), default=None),
        "busy_poll": float(sum(e.id == "busy_poll" for e in events)) or None,
    }


def _evictions(events: tuple[LogEvent, ...]) -> dict[str, float | None]:
    """Preemptions and retractions that the log tells of, and out-of-memory errors by phase."""
    warned = [e for e in events if e.id == "preempted_v0"]
    totals = _fields(events, "preempted_v0", "total")
    thrown = [e for e in events if e.id == "retracted"]
    times = [e.time for e in events if e.time is not None]
    retracted = sum(_fields(events, "retracted", "count")) or float(len(thrown))
    minutes = (max(times) - min(times)) / 60 if len(times) > 1 else 0.0
    capturing = out_of_memory = False
    for event in events:
        if event.id in _CAPTURING or event.id in _CAPTURED:
            capturing = event.id in _CAPTURING
        elif event.id == "oom_cuda":
            out_of_memory = out_of_memory or capturing or "captur" in event.text.lower()
    return {
        "logged_preemptions": max(totals) if totals else float(len(warned)) or None,
        "logged_retractions": retracted or None,
        "retractions_per_minute": retracted / minutes if thrown and minutes >= 0.5 else None,
        "oom_in_capture": 1.0 if out_of_memory else None,
        "log_attention_fallback": float(
            sum(
                e.id == "backend_unsupported" and bool(re.search("not found|not installed|package", e.text))
                for e in events
            )
        )
        or None,
    }


def _event_counts(events: tuple[LogEvent, ...]) -> dict[str, float | None]:
    """``log_<event>``: how often; absent when it was not seen (an excerpt proves nothing about what it leaves out)."""
    counts: dict[str, float | None] = {}
    stopped: set[str] = set()
    for event in events:
        if event.id == "shutdown":
            stopped.add(event.run)
        if event.id in _DEATHS and event.run in stopped:
            continue  # a server that is being stopped ends its processes: no fault
        name = f"log_{event.id}"
        counts[name] = (counts.get(name) or 0.0) + 1.0
    if any(e.id in _START_EVENTS for e in events):
        counts["log_has_start"] = 1.0
    return counts
