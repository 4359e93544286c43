"""Signals across data-parallel ranks and across replicas: spread, copies, and views of one load that disagree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from diagnose.model import LogStat, Value
from diagnose.series import TargetSeries

_STALL = 20.0  # seconds: a rank with requests decodes many times in it


def rank_signals(target: TargetSeries) -> dict[str, Value]:
    """Spread over the data-parallel ranks of one target; {} with fewer than two ranks."""
    means = {m: _means(target.ranks(m)) for m in ("running", "waiting", "kv_usage")}
    spread = _spread(means["running"], means["waiting"], means["kv_usage"])
    stalled = _stalled_ranks(target)
    return {**spread, **({} if stalled is None else {"stalled_ranks": Value(stalled, "metrics", target.window)})}


def _stalled_ranks(target: TargetSeries) -> float | None:
    """Ranks that held requests all the time and produced no token while another rank did; None in short windows."""
    tokens, running, waiting = (target.ranks(m) for m in ("generation_tokens", "running", "waiting"))
    if len(tokens) < 2 or target.resets or (target.window or 0.0) < _STALL or not tokens[0] or not tokens[-1]:
        return None
    moved = {r: v - (tokens[0] or {}).get(r, 0.0) for r, v in (tokens[-1] or {}).items()}
    busy = {
        r
        for r in moved
        if all((p or {}).get(r, 0.0) + (w or {}).get(r, 0.0) > 0 for p, w in zip(running, waiting, strict=True))
    }
    return float(sum(moved[r] == 0 for r in busy)) if len(moved) > 1 and any(moved.values()) else None


def replica_signals(targets: Iterable[TargetSeries], signals: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Spread over replicas of one model (each combined over its ranks); {} with fewer than two replicas."""
    names = [t.name for t in targets]

    def column(name: str) -> dict[str, float]:
        return {n: signals[n][name].value for n in names if name in signals[n]}

    out = _spread(column("requests_running"), column("requests_waiting"), column("kv_usage"))
    hits = column("prefix_hit_ratio")
    falls = column("prefix_hit_course")
    if len(falls) > 1:
        out["prefix_hit_fall"] = Value(max(falls.values()), "metrics")
    if len(hits) > 1:
        out["prefix_hit_ratio_max"] = Value(max(hits.values()), "metrics")
        out["prefix_hit_ratio_min"] = Value(min(hits.values()), "metrics")
    return out


def log_rank_signals(stats: Iterable[LogStat]) -> dict[str, Value]:
    """Spread over the ranks that periodic log lines name; {} with fewer than two ranks."""
    columns: dict[str, dict[str, list[float]]] = {"running": {}, "waiting": {}, "kv_usage": {}}
    for stat in stats:
        if stat.kind in ("vllm", "sglang_decode") and stat.rank:
            for name, ranks in columns.items():
                if name in stat.values:
                    ranks.setdefault(stat.rank, []).append(stat.values[name])
    means = {name: {r: sum(v) / len(v) for r, v in ranks.items()} for name, ranks in columns.items()}
    return _spread(means["running"], means["waiting"], means["kv_usage"])


def view_signals(targets: Iterable[TargetSeries]) -> dict[str, Value]:
    """Where a router's view of a worker differs from the worker's own: load (blocks) and hit rate."""
    targets = tuple(targets)
    seen = _block_share(targets, "router_blocks_active", "router_blocks_total")
    real = _block_share(targets, "worker_blocks_active", "worker_blocks_total")
    out: dict[str, float] = {}
    if seen and real:
        out["load_view_ratio"] = real / seen
        out["worker_block_usage"] = real
    router = _lifetime_mean(targets, "router_hit_rate")
    hits, queries = _lifetime(targets, "prefix_hits"), _lifetime(targets, "prefix_queries")
    if router is not None and queries:
        out["router_worker_hit_gap"] = (hits or 0.0) / queries - router
    queue = [v for t in targets for _, v in t.gauge("router_queue")[-1:]]
    if queue:
        out["router_queue"] = sum(queue)
    return {k: Value(v, "metrics") for k, v in out.items()}


def _means(ranks: list[dict[str, float] | None]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for point in ranks:
        for rank, value in (point or {}).items():
            columns.setdefault(rank, []).append(value)
    return {rank: sum(v) / len(v) for rank, v in columns.items()}


def _spread(running: dict[str, float], waiting: dict[str, float], kv: dict[str, float]) -> dict[str, Value]:
    members = max(len(running), len(waiting), len(kv))
    if members < 2:
        return {}
    out: dict[str, float] = {"ranks": float(members)}
    if len(waiting) > 1:
        ordered = sorted(waiting.values())
        out["waiting_rank_max"] = ordered[-1]
        middle = ordered[len(ordered) // 2] if len(ordered) > 2 else ordered[0]
        out["waiting_rank_spread"] = middle / ordered[-1] if ordered[-1] else 1.0
    if len(kv) > 1:
        out["kv_rank_spread"] = max(kv.values()) - min(kv.values())
        out["kv_rank_min"] = min(kv.values())
    if len(running) > 1:
        out["running_rank_spread"] = min(running.values()) / max(running.values()) if max(running.values()) else 1.0
    return {k: Value(v, "metrics") for k, v in out.items()}


def _block_share(targets: tuple[TargetSeries, ...], active: str, total: str) -> float | None:
    shares = []
    for target in targets:
        a, t = target.gauge(active), target.gauge(total)
        if a and t and t[-1][1]:
            shares.append(a[-1][1] / t[-1][1])
    return max(shares, default=None)


def _lifetime(targets: tuple[TargetSeries, ...], metric: str) -> float | None:
    known = [v for t in targets if (v := t.lifetime(metric)) is not None]
    return sum(known) if known else None


def _lifetime_mean(targets: tuple[TargetSeries, ...], metric: str) -> float | None:
    """Mean of a histogram over its lifetime, over all targets that have it."""
    total = count = 0.0
    for target in targets:
        hist = target.histogram(metric)
        if hist is not None and len(target.scrapes) == 1:
            total, count = total + hist.total, count + hist.count
    return total / count if count else None
