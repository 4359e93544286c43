"""Signals from models over many scrapes: what ITL follows, whether memory grows, which replica is unlike its peers.

scikit-learn is loaded only where a cheap threshold says that there is something to ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import median

from diagnose import peers, trends
from diagnose.model import Value
from diagnose.series import TargetSeries

_STALLS_THAT_MATTER = 0.002  # share of inter-token gaps above 0.3 s: below it nobody asks why
_MIN_POINTS = 8
_PEER_FLOORS = {
    "itl_mean": 0.02,
    "ttft_mean": 0.5,
    "kv_usage": 0.2,
    "requests_running": 4.0,
    "requests_waiting": 4.0,
    "generation_tps": 50.0,
}
_SHARES = {
    "prefill_tps": "itl_follows_prefill",
    "preemption_rate": "itl_follows_preemptions",
    "running": "itl_follows_batch",
}


def course_signals(target: TargetSeries, signals: Mapping[str, Value]) -> dict[str, Value]:
    """What ITL follows (when it stalls enough to matter) and growth of graph memory (when there are enough scrapes)."""
    out: dict[str, float] = {}
    stalls = signals.get("itl_stall_share")
    if stalls is not None and stalls.value > _STALLS_THAT_MATTER and len(target.intervals) >= trends.MIN_INTERVALS:
        cause = trends.explain_itl(_itl_intervals(target))
        if cause is not None:
            out |= {_SHARES[name]: share for name, share in cause.contributions.items()}
    out |= _host_memory(target)
    for name, points in _levels(target).items():
        if len(points) >= _MIN_POINTS and max(points.values()) > 1.05 * min(points.values()):
            growth = trends.growth(list(points), list(points.values()))
            if growth is not None:
                out[name] = growth.rise if growth.growing else 0.0
    return {k: Value(v, "regression", target.window) for k, v in out.items()}


def _host_memory(target: TargetSeries) -> dict[str, float]:
    """Growth of the process's memory, from five scrapes on; 0 when it is a step, a plateau or noise."""
    points = target.gauge("resident_memory")
    values = [v for _, v in points]
    if len(points) < 5 or values[-1] < 1.2 * values[0]:
        return {}
    steps = [b - a for a, b in pairwise(values)]
    half = len(steps) // 2
    steady = all(s > 0 for s in steps) and sum(steps[half:]) >= 0.6 * sum(steps) * (len(steps) - half) / len(steps)
    return {
        "host_memory_growth": values[-1] - values[0] if steady else 0.0,
        "host_memory_ratio": values[-1] / values[0],
    }


def unlike_peers(signals: Mapping[str, Mapping[str, Value]]) -> tuple[str, ...]:
    """Names of replicas unlike their peers; () for fewer than three, or when no signal is twice its median anywhere."""
    rows = {n: {s: v[s].value if s in v else None for s in _PEER_FLOORS} for n, v in signals.items()}
    if len(rows) < peers.MIN_PEERS or not any(
        _uneven([r[s] for r in rows.values()], f) for s, f in _PEER_FLOORS.items()
    ):
        return ()
    return peers.outliers(rows, _PEER_FLOORS)


def _uneven(column: list[float | None], floor: float) -> bool:
    known = [v for v in column if v is not None]
    return len(known) >= peers.MIN_PEERS and max(known) - median(known) > max(floor, median(known))


def _itl_intervals(target: TargetSeries) -> list[trends.ItlInterval]:
    prompt, preempted = dict(target.increases("prompt_tokens")), dict(target.increases("preemptions"))
    running = target.values("running")
    rows = []
    for span in target.intervals:
        hist = target.histogram("itl", span)
        mean = hist.total / hist.count if hist and hist.count else None
        rates = [None if span not in c else c[span] / span.seconds for c in (prompt, preempted)]
        rows.append(trends.ItlInterval(mean, rates[0], rates[1], running[span.end]))
    return rows


def _levels(target: TargetSeries) -> dict[str, dict[float, float]]:
    graph = dict(target.gauge("graph_memory"))
    reserved, allocated = dict(target.gauge("reserved_memory")), dict(target.gauge("allocated_memory"))
    gap = {t: reserved[t] - allocated[t] for t in sorted(reserved.keys() & allocated.keys())}
    return {name: points for name, points in (("graph_growth", graph), ("reserved_gap_growth", gap)) if points}
