"""Recording rules: ``engine:<signal>`` per engine rank, ``model:<signal>`` per model, ``engine:threshold``."""

from __future__ import annotations

from collections.abc import Iterator

from diagnose.engines.catalog import METRICS, SIGNALS
from diagnose.generate import promql
from diagnose.settings import Settings
from diagnose.symptoms import all_symptoms

Rule = dict[str, object]
Group = dict[str, object]

# how engines of one model add up; signals that are not here have no model: record
MODEL_SUM = (
    "requests_running", "requests_waiting", "prompt_tps", "generation_tps", "preemption_rate", "preemptions",
    "requests_finished", "finish_rate", "waiting_capacity", "waiting_deferred",
)  # fmt: skip
MODEL_MAX = ("kv_usage", "kv_usage_max", "ttft_p99", "itl_p99", "queue_time_mean")
_HELPERS = {
    "tokens_rate_1m": "tokens of any kind per second over one minute, 0 when the engine stands still",
    "graph_decode_increase": "decode steps that replayed a CUDA graph",
    "eager_decode_increase": "decode steps that ran eagerly",
    "spec_accept_length_counted": "tokens per verification step by counters",
    "spec_accept_length_gauge": "tokens per verification step by the engine's gauge",
    "reserved_gap": "reserved less allocated GPU memory of the engine's allocator",
}


def groups(settings: Settings) -> list[Group]:
    """All recording groups in dependency order: signals, then what combines them, then models and thresholds."""
    base = [s for s in SIGNALS if s not in promql.DERIVED and s not in promql.FLEET and promql.renderable(s)]
    return [
        {"name": "llm-engine-signals", "interval": "60s", "rules": [_engine(s) for s in base]},
        {"name": "llm-engine-combined", "interval": "60s", "rules": [*_helpers(), *map(_engine, promql.DERIVED)]},
        {"name": "llm-slow-shares", "interval": "60s", "rules": list(_slow())},
        {"name": "llm-model-signals", "interval": "60s", "rules": list(_models())},
        {"name": "llm-thresholds", "interval": "60s", "rules": list(_thresholds(settings))},
    ]


def _engine(signal: str) -> Rule:
    return {"record": f"engine:{signal}", "expr": promql.signal(signal)}


def _helpers() -> Iterator[Rule]:
    moved = [
        promql.metric(m, "rate", promql.STALL_WINDOW)
        for m in ("prompt_tokens", "generation_tokens", "decode_tokens_live")
    ]
    gauge = "(" + promql.metric("gen_throughput", "") + ")"
    running = f"(({gauge}) > 0) and on ({', '.join(promql.ENGINE_LABELS)}) (engine:requests_running_last > 0)"
    total = " + ".join(f"(\n{part}\n)" for part in moved[:2])
    yield {"record": "engine:tokens_rate_1m", "expr": f"({running})\nor\n({moved[2]})\nor\n({total})"}
    for name in ("graph_decode", "eager_decode"):
        yield {"record": f"engine:{name}_increase", "expr": promql.metric(name, "increase")}
    accepted, drafts = promql.metric("spec_accepted", "increase"), promql.metric("spec_drafts", "increase")
    yield {"record": "engine:spec_accept_length_counted", "expr": f"1 + (\n{accepted}\n) / ((\n{drafts}\n) > 0)"}
    yield {"record": "engine:spec_accept_length_gauge", "expr": promql.metric("spec_length_gauge", "max_over_time")}
    by = ", ".join(label for label in promql.ENGINE_LABELS if label not in ("serving_engine", "rank"))
    reserved, allocated = (
        next(iter(METRICS[m].spellings["allocator"])).name for m in ("reserved_memory", "allocated_memory")
    )
    yield {"record": "engine:reserved_gap", "expr": f"max by ({by}) ({reserved}) - max by ({by}) ({allocated})"}


def _slow() -> Iterator[Rule]:
    from diagnose.generate.handwritten import slow_records

    return slow_records()


def _models() -> Iterator[Rule]:
    by = ", ".join(promql.MODEL_LABELS)
    for how, names in (("sum", MODEL_SUM), ("max", MODEL_MAX)):
        for name in names:
            yield {"record": f"model:{name}", "expr": f"{how} by ({by}) (engine:{name})"}
    for name in promql.FLEET:
        yield {"record": f"model:{name}", "expr": promql.signal(name)}


def _thresholds(settings: Settings) -> Iterator[Rule]:
    for symptom in all_symptoms().values():
        bounds = settings.bounds(symptom.id)
        for threshold in symptom.thresholds:
            if symptom.alert:
                labels = {"symptom": symptom.id, "name": threshold.name, "unit": threshold.unit}
                yield {"record": "engine:threshold", "labels": labels, "expr": f"vector({bounds[threshold.name]:g})"}
