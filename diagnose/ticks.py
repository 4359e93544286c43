"""The course of a run as ticks, from scrapes or from periodic log lines alike, and the shapes that matter in it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from diagnose.model import LogStat, Value
from diagnose.series import Interval, TargetSeries

FULL_KV = 0.98
_BUSY_PROMPT_TPS = 500.0


@dataclass(frozen=True)
class Tick:
    """One interval: gauges at its end, token rates over it; None is missing. ``moved`` is False when no token came."""

    time: float
    running: float | None = None
    waiting: float | None = None
    kv: float | None = None
    generation: float | None = None
    prompt: float | None = None
    moved: bool | None = None
    preemptions: float | None = None
    seconds: float = 0.0
    kv_before: float | None = None


def from_series(target: TargetSeries) -> tuple[Tick, ...]:
    """Ticks of the usable intervals of a target's scrapes."""
    gauges = {m: target.values(m) for m in ("running", "waiting", "kv_usage")}
    rates = {
        m: {i: v / i.seconds for i, v in target.increases(m)}
        for m in ("generation_tokens", "prompt_tokens", "decode_tokens_live", "prefill_tokens_live", "preemptions")
    }
    return tuple(_tick(target, i, gauges, rates) for i in target.intervals)


def _tick(
    target: TargetSeries,
    span: Interval,
    gauges: dict[str, list[float | None]],
    rates: dict[str, dict[Interval, float]],
) -> Tick:
    generation = rates["decode_tokens_live"].get(span, rates["generation_tokens"].get(span))
    prompt = rates["prefill_tokens_live"].get(span, rates["prompt_tokens"].get(span))
    moving = [r[span] > 0 for n, r in rates.items() if n != "preemptions" and span in r]
    if target.engine == "sglang" and span not in rates["decode_tokens_live"]:
        # its token counters move when a request finishes: a running batch shows in the throughput gauge instead
        gauge, running = target.values("gen_throughput")[span.end], gauges["running"][span.end]
        if gauge is not None and running is not None:
            moving.append(bool(gauge and running))
    preempted = rates["preemptions"].get(span)
    return Tick(
        target.scrapes[span.end].time,
        gauges["running"][span.end],
        gauges["waiting"][span.end],
        gauges["kv_usage"][span.end],
        generation,
        prompt,
        any(moving) if moving else None,
        None if preempted is None else preempted * span.seconds,
        span.seconds,
        gauges["kv_usage"][span.start],
    )


def from_log(stats: Iterable[LogStat]) -> tuple[Tick, ...]:
    """Ticks of periodic log lines; lines of several ranks with one time stamp add up (usage: the fullest)."""
    groups: list[dict[str, LogStat]] = []
    last: float | None = None
    for stat in stats:
        if stat.kind not in ("vllm", "sglang_decode") or "running" not in stat.values:
            continue
        if not groups or stat.rank in groups[-1] or stat.time != last:
            groups.append({})
        groups[-1][stat.rank] = stat
        last = stat.time
    return tuple(_merge(n, list(g.values())) for n, g in enumerate(groups))


def _merge(index: int, lines: list[LogStat]) -> Tick:
    def total(name: str) -> float | None:
        known = [s.values[name] for s in lines if name in s.values]
        return sum(known) if known else None

    usage = [s.values["kv_usage"] for s in lines if "kv_usage" in s.values]
    generation, prompt = total("generation_tps"), total("prompt_tps")
    time = lines[0].time if lines[0].time is not None else index * 10.0
    known = [r for r in (generation, prompt) if r is not None]
    return Tick(
        time,
        total("running"),
        total("waiting"),
        max(usage) if usage else None,
        generation,
        prompt,
        any(r > 0 for r in known) if known else None,
        total("preemptions"),
    )


def gauge_signals(ticks: tuple[Tick, ...], source: str) -> dict[str, Value]:
    """The plain signals (running, waiting, usage, rates) of ticks: what a log says where there are no scrapes."""
    columns = {
        "requests_running": [t.running for t in ticks],
        "requests_waiting": [t.waiting for t in ticks],
        "kv_usage": [t.kv for t in ticks],
    }
    out: dict[str, float] = {}
    for name, column in columns.items():
        known = [v for v in column if v is not None]
        if known:
            out |= {name: sum(known) / len(known), f"{name}_max": max(known), f"{name}_last": known[-1]}
    if out.get("requests_running") and "requests_waiting" in out:
        out["waiting_over_running"] = out["requests_waiting"] / out["requests_running"]
    for name, column in {
        "generation_tps": [t.generation for t in ticks],
        "prompt_tps": [t.prompt for t in ticks],
    }.items():
        known = [v for v in column if v is not None]
        if known:
            out[name] = sum(known) / len(known)
    preempted = [t.preemptions for t in ticks if t.preemptions is not None]
    if preempted:
        out["preemptions"] = sum(preempted)
        if out.get("requests_running_max"):
            out["preemptions_per_running"] = sum(preempted) / out["requests_running_max"]
    if len(ticks) > 1:
        out["tokens_moved"] = (out.get("generation_tps", 0.0) + out.get("prompt_tps", 0.0)) * (
            ticks[-1].time - ticks[0].time
        )
    return {k: Value(v, source, _span(ticks)) for k, v in out.items()}


def shape_signals(ticks: tuple[Tick, ...], source: str) -> dict[str, Value]:
    """Signals about the course: stalls, full KV with shrinking batches, prefill against decode, pinned batches."""
    out: dict[str, float | None] = {
        "stalled_seconds": _stalled(ticks),
        "kv_moved_in_stall": _kv_moved(ticks),
        "running_falls_at_full_kv": _running_falls(ticks),
        "kv_rising": _kv_rising(ticks),
        "prefill_stall_ratio": _prefill_stall(ticks),
        "prefill_saturated": _prefill_saturated(ticks),
        "running_pinned": _pinned(ticks),
        "generation_tps_min": min((t.generation for t in ticks if t.generation is not None), default=None),
        "load_seen": float(sum(t.running is not None and t.waiting is not None for t in ticks) >= 1),
        "trough_recovers": _trough(ticks),
    }
    return {k: Value(v, source, _span(ticks)) for k, v in out.items() if v is not None}


def _span(ticks: tuple[Tick, ...]) -> float | None:
    return ticks[-1].time - ticks[0].time if len(ticks) > 1 else None


def _stalled(ticks: tuple[Tick, ...]) -> float | None:
    """Seconds at the end without a token; None when no tick says whether tokens moved."""
    if not ticks or ticks[-1].moved is None:
        return None
    last_moving = next((n for n in range(len(ticks) - 1, -1, -1) if ticks[n].moved is not False), None)
    if last_moving is None:  # never moved: the first tick's own interval counts too
        return ticks[-1].time - ticks[0].time + ticks[0].seconds
    return ticks[-1].time - ticks[last_moving].time


def _kv_moved(ticks: tuple[Tick, ...]) -> float | None:
    """Range of KV usage over the ticks at the end without a token: a long prefill fills the cache, a hang does not."""
    still: list[float] = []
    for tick in reversed(ticks):
        if tick.moved is not False:
            still += [tick.kv] if tick.kv is not None else []
            break
        still += [v for v in (tick.kv, tick.kv_before) if v is not None]
    return max(still) - min(still) if len(still) > 1 else None


def _running_falls(ticks: tuple[Tick, ...]) -> float | None:
    if len(ticks) < 2:
        return None
    falls = 0
    for a, b in pairwise(ticks):
        if None in (a.running, b.running, a.waiting, b.waiting, b.kv):
            return None
        falls += bool(b.kv >= FULL_KV and b.running < a.running and b.waiting > a.waiting)  # type: ignore[operator]
    return float(falls)


def _kv_rising(ticks: tuple[Tick, ...]) -> float | None:
    usage = [t.kv for t in ticks if t.kv is not None]
    if len(usage) < 3:
        return None
    return usage[-1] - usage[0] if all(b >= a for a, b in pairwise(usage)) else 0.0


def _prefill_stall(ticks: tuple[Tick, ...]) -> float | None:
    """Decode speed per running request while prefilling over the speed without prefill; None without both states."""
    known = [t for t in ticks if t.running and t.prompt is not None and t.generation is not None]
    peak = max((t.prompt or 0.0 for t in known), default=0.0)
    if peak < _BUSY_PROMPT_TPS:
        return None
    quiet = [t for t in known if (t.prompt or 0.0) < 0.05 * peak and (t.generation or 0.0) > 0]
    busy = [t for t in known if (t.prompt or 0.0) >= 0.5 * peak]
    if not quiet or not busy:
        return None
    return statistics.median([_per_running(t) for t in busy]) / statistics.median([_per_running(t) for t in quiet])


def _per_running(tick: Tick) -> float:
    return (tick.generation or 0.0) / (tick.running or 1.0)


def _prefill_saturated(ticks: tuple[Tick, ...]) -> float | None:
    """1 when prompt throughput is flat (within 5 %) under a queue while the batch still grows or decode starves."""
    known = [t for t in ticks if None not in (t.running, t.waiting, t.prompt, t.generation)]
    if len(known) < 3:
        return None
    prompt = [t.prompt or 0.0 for t in known]
    mean = sum(prompt) / len(prompt)
    flat = mean > _BUSY_PROMPT_TPS and max(prompt) - min(prompt) <= 0.1 * mean
    queue = all((t.waiting or 0.0) >= 5 for t in known)
    starved = statistics.median([_per_running(t) for t in known]) < 5.0
    return float(flat and queue and starved)


def _pinned(ticks: tuple[Tick, ...]) -> float | None:
    """Median over peak of the batch while requests queued; None without two ticks with a queue."""
    queued = [t.running for t in ticks if t.running is not None and (t.waiting or 0.0) > 0]
    if len(queued) < 2 or max(queued) == 0:
        return None
    return min(1.0, (statistics.median(queued) + 0.5) / max(queued))  # half a request of slack for small caps


def _trough(ticks: tuple[Tick, ...]) -> float | None:
    """1 when the batch emptied under a full KV cache and filled again: mass preemption, not a dead engine."""
    full = False
    emptied = False
    for tick in ticks:
        if tick.kv is None or tick.running is None:
            return None
        full = full or tick.kv >= FULL_KV
        emptied = emptied or (full and tick.running == 0 and (tick.waiting or 0.0) > 0)
        if emptied and tick.running > 0:
            return 1.0
    return 0.0 if ticks else None
