"""PromQL of canonical metrics and signals: both engines, old and new spellings, both separators, ranks kept apart.

Every engine expression ends in one series per engine rank with ``ENGINE_LABELS``. Spellings are joined with ``or``
after aggregation, newest first, so that a target that exposes two of them counts once (a rolling upgrade included).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from diagnose.engines.catalog import METRICS, SIGNALS, Calc, Metric, Spelling
from diagnose.ranks import COPY_LABELS

ENGINE_LABELS = ("cluster", "namespace", "job", "instance", "pod", "model_name", "serving_engine", "rank")
MODEL_LABELS = ("cluster", "namespace", "model_name", "serving_engine")
WINDOW = "5m"
STALL_WINDOW = "1m"  # four scrapes at 15 s
_RANK_LABEL = {"vllm": "engine", "sglang": "dp_rank"}
_BY = ", ".join(label for label in ENGINE_LABELS if label != "serving_engine")
_COPIES = ", ".join(sorted(COPY_LABELS))
# bucket edges (s) at or next above the asked one; 0.3 is not an edge of SGLang's default buckets
_EDGES = {"vllm": {0.1: "0[.]10*", 0.3: "0[.]30*"}, "sglang": {0.1: "0[.]10*", 0.3: "0[.]40*"}}

# signals that are combinations of recorded ones
DERIVED = {
    "itl_tail_ratio": "engine:itl_p99 / (engine:itl_p50 > 0)",
    "waiting_over_running": "engine:requests_waiting / (engine:requests_running > 0)",
    "preemptions_per_running": "engine:preemptions / (engine:requests_running_max > 0)",
    "queue_share_of_ttft": "engine:queue_time_mean / (engine:ttft_mean > 0)",
    "bytes_per_descriptor": "engine:transfer_bytes_mean / (engine:transfer_descriptors_mean > 0)",
    "running_pinned": "quantile_over_time(0.5, engine:requests_running_last[15m])"
    " / (max_over_time(engine:requests_running_last[15m]) > 0)",
    "stalled_seconds": "60 * (engine:tokens_rate_1m == bool 0)",
    "spec_accept_length": "engine:spec_accept_length_counted or (engine:spec_accept_length_gauge > 0)",
    "graph_share": "engine:graph_decode_increase / ((engine:graph_decode_increase + engine:eager_decode_increase) > 0)"
    " or ((engine:graph_decode_increase > 0) * 0 + 1) or ((engine:eager_decode_increase > 0) * 0)",
    "graph_growth": "clamp_min(engine:graph_bytes - min_over_time(engine:graph_bytes[1h]), 0)",
    "reserved_gap_growth": "clamp_min(engine:reserved_gap - min_over_time(engine:reserved_gap[1h]), 0)",
}
# over the ranks and replicas of one model
FLEET = {
    "ranks": "count by ({by}) (engine:requests_running)",
    "waiting_rank_max": "max by ({by}) (engine:requests_waiting)",
    # of two ranks the shorter queue: their median is never below half of the longer
    "waiting_rank_spread": "((quantile by ({by}) (0.5, engine:requests_waiting)"
    " and count by ({by}) (engine:requests_waiting) > 2)"
    " or min by ({by}) (engine:requests_waiting)) / (max by ({by}) (engine:requests_waiting) > 0)",
    "kv_rank_spread": "max by ({by}) (engine:kv_usage) - min by ({by}) (engine:kv_usage)",
    "kv_rank_min": "min by ({by}) (engine:kv_usage)",
    "running_rank_spread": "min by ({by}) (engine:requests_running) / (max by ({by}) (engine:requests_running) > 0)",
    "prefix_hit_ratio_max": "max by ({by}) (engine:prefix_hit_ratio)",
}  # fmt: skip


def metric(metric_id: str, function: str, window: str = WINDOW, suffix: str = "", keep: str = "") -> str:
    """A metric of every engine that has it; ``function`` is rate, increase, avg_over_time, max_over_time or ""."""
    return join(_alternatives(metric_id, function, window, suffix, keep))


def join(parts: Iterable[str]) -> str:
    """Alternatives; the first that has a series wins."""
    return "\nor\n".join(parts)


def renderable(signal_id: str) -> bool:
    """Whether metrics alone give a signal."""
    if signal_id in DERIVED or signal_id in FLEET:
        return True
    calc = SIGNALS[signal_id].calc if signal_id in SIGNALS else None
    return calc is not None and all(set(METRICS[m].spellings) & set(_RANK_LABEL) for m in calc.metrics)


def signal(signal_id: str, window: str = WINDOW) -> str:
    """Expression of a signal. Raises KeyError when metrics alone cannot give it (see ``renderable``)."""
    if signal_id in DERIVED:
        return DERIVED[signal_id]
    if signal_id in FLEET:
        return FLEET[signal_id].format(by=", ".join(MODEL_LABELS))
    calc = SIGNALS[signal_id].calc
    if calc is None or not renderable(signal_id):
        raise KeyError(signal_id)
    return _CALCS[calc.op](calc, window)


def _alternatives(
    metric_id: str, function: str, window: str, suffix: str = "", keep: str = "", edge: float | None = None
) -> list[str]:
    declared = METRICS[metric_id]
    return [
        _spelling(
            declared,
            engine,
            spelling,
            name,
            function,
            window,
            suffix,
            keep,
            None if edge is None else _EDGES[engine][edge],
        )
        for engine, spellings in declared.spellings.items()
        if engine in _RANK_LABEL
        for spelling in spellings
        for name in _names(spelling.name)
    ]


def _gauge(function: str) -> Callable[[Calc, str], str]:
    return lambda calc, window: join(_alternatives(calc.metrics[0], function, window))


def _ratio(calc: Calc, window: str) -> str:
    top, bottom = (join(_alternatives(m, "increase", window)) for m in calc.metrics)
    return f"(\n{top}\n) / ((\n{bottom}\n) > 0)"


def _mean(calc: Calc, window: str) -> str:
    total, count = (join(_alternatives(calc.metrics[0], "increase", window, s)) for s in ("_sum", "_count"))
    return f"(\n{total}\n) / ((\n{count}\n) > 0)"


def _quantile(calc: Calc, window: str) -> str:
    parts = _alternatives(calc.metrics[0], "increase", window, "_bucket", keep="le")
    return join(f"histogram_quantile({calc.q:g}, {part})" for part in parts)


def _share_above(calc: Calc, window: str) -> str:
    below = join(_alternatives(calc.metrics[0], "increase", window, "_bucket", edge=calc.q))
    count = join(_alternatives(calc.metrics[0], "increase", window, "_count"))
    return f"1 - (\n{below}\n) / ((\n{count}\n) > 0)"


def share_beyond(metric_id: str, edges: dict[str, str], window: str) -> str:
    """Share of observations above a bucket edge, which each engine names by a regular expression of ``le``."""
    declared = METRICS[metric_id]
    parts = []
    for engine in (e for e in declared.spellings if e in _RANK_LABEL):
        spelt = [(s, n) for s in declared.spellings[engine] for n in _names(s.name)]
        below, count = (
            join(_spelling(declared, engine, s, n, "increase", window, suffix, "", regex) for s, n in spelt)
            for suffix, regex in (("_bucket", edges[engine]), ("_count", None))
        )
        parts.append(f"(1 - (\n{below}\n) / ((\n{count}\n) > 0))")
    return join(parts)


_CALCS: dict[str, Callable[[Calc, str], str]] = {
    "mean": _gauge("avg_over_time"),
    "max": _gauge("max_over_time"),
    "min": _gauge("min_over_time"),
    "last": _gauge(""),
    "rate": _gauge("rate"),
    "increase": _gauge("increase"),
    "ratio": _ratio,
    "hist_mean": _mean,
    "quantile": _quantile,
    "share_above": _share_above,
}


def _names(name: str) -> tuple[str, ...]:
    return (name, name.replace(":", "_", 1)) if ":" in name else (name,)


def _spelling(
    declared: Metric,
    engine: str,
    spelling: Spelling,
    name: str,
    function: str,
    window: str,
    suffix: str,
    keep: str,
    edge: str | None,
) -> str:
    inner = f"{name}{suffix}{_selector(engine, spelling, edge)}"
    inner = f"{function}({inner}[{window}])" if function else inner
    if engine == "sglang":  # ranks of one scheduler repeat its numbers
        inner = f"max without ({_COPIES}) ({inner})"
    ranked = f'label_replace({inner}, "rank", "$1", "{_RANK_LABEL[engine]}", "(.*)")'
    how = {"max": "max", "mean": "avg"}.get(declared.combine, "sum")
    by = f"{_BY}, {keep}" if keep else _BY
    scale = "" if spelling.scale == 1 else f" * {spelling.scale:g}"
    return f'label_replace({how} by ({by}) ({ranked}){scale}, "serving_engine", "{engine}", "", "")'


def _selector(engine: str, spelling: Spelling, edge: str | None) -> str:
    parts = ['model_name!=""'] if engine == "vllm" else ['priority=""']
    parts += [f'{label}=~"{"|".join(values)}"' for label, values in spelling.only.items()]
    for label, values in spelling.without.items():
        banned = [v for v in values if v]
        parts += [f'{label}!~"{"|".join(banned)}"'] if banned else []
        parts += [f'{label}!=""'] if "" in values else []
    if edge is not None:
        parts.append(f'le=~"{edge}"')
    return "{" + ", ".join(parts) + "}"
