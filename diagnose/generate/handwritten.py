"""Alerts that the grammar cannot say: absence, burn rates over two windows, hits against yesterday's, the dead man's switch."""

from __future__ import annotations

from collections.abc import Iterator

from diagnose.generate import promql
from diagnose.generate.records import Rule
from diagnose.settings import Settings
from diagnose.symptoms import all_symptoms

_MODEL = ", ".join(promql.MODEL_LABELS)
_TARGET = "cluster, namespace, job, instance"
# share of slow requests or gaps that the objective allows, and how much faster than that it may burn (page, ticket)
OBJECTIVE = 0.99
BURNS = ((14.4, "1h", "5m", "2m", "page"), (6.0, "6h", "30m", "15m", "ticket"))
# default service levels in words, with the bucket edge at or next above it per engine, as regular expressions
SLOW = {
    "ttft": ("2.5 s (SGLang: 4 s, its next bucket edge)", {"vllm": "2[.]50*", "sglang": "4([.]0*)?"}),
    "itl": ("0.2 s", {"vllm": "0?[.]20*", "sglang": "0?[.]20*"}),
}


def rules(settings: Settings) -> Iterator[Rule]:
    """The hand-written alerts with literal thresholds of the settings."""
    low = settings.bounds("low_prefix_hit_rate")
    yield _rule(
        "LLMLowPrefixCacheHitRate", "15m", "ticket",
        f"(engine:prefix_hit_ratio < {low['low']:g} and engine:prefix_queries >= {low['floor']:g})\n"
        f"and on ({_MODEL}) (max_over_time(model:prefix_hit_ratio_max[1d]) > 0.3)",
        "Prefix cache hits fell to almost nothing on {{ $labels.instance }}",
        "Hit ratio {{ $value | humanizePercentage }}, while this model hit well within the last day: something breaks the match or the routing.",
        "low_prefix_hit_rate",
    )  # fmt: skip
    yield _rule(
        "LLMEngineDown", "5m", "page",
        f"up == 0 and on ({_TARGET}) (max by ({_TARGET}) (present_over_time(engine:requests_running_last[1h])))",
        "Engine {{ $labels.instance }} cannot be scraped",
        "It answered within the last hour and does not any more. A pod that was scaled away disappears from discovery and does not fire.",
    )  # fmt: skip
    yield _rule(
        "LLMErrorRate", "5m", "page",
        "engine:error_share > 0.05 and engine:requests_finished >= 20",
        "{{ $value | humanizePercentage }} of requests end in an error on {{ $labels.instance }}",
        "More than one request in twenty ended with finished_reason=error in the last five minutes.",
    )  # fmt: skip
    yield _rule(
        "LLMSignalMissing", "10m", "ticket",
        f"(max by ({_TARGET}) (present_over_time(engine:requests_running_last[6h]))\n"
        f"unless on ({_TARGET}) max by ({_TARGET}) (engine:requests_running_last))\nand on ({_TARGET}) (up == 1)",
        "{{ $labels.instance }} answers without engine series",
        "It exported running requests within six hours and does not now: an alert on a vanished metric is silent. "
        "vLLM: --disable-log-stats was added or a name was removed; SGLang: --enable-metrics is gone. Try diagnose lint on your rules.",
    )  # fmt: skip
    yield from _burns()
    yield _rule(
        "LLMWatchdog", "0m", "info", "vector(1)", "Alerting works",
        "Always firing: when it stops arriving, the path from Prometheus to you is broken.",
    )  # fmt: skip


def slow_records() -> Iterator[Rule]:
    """``engine:<latency>_slow_share_<window>``: share of observations above the service level, per window."""
    for name, (_, edges) in SLOW.items():
        for window in sorted({w for _, long, short, _, _ in BURNS for w in (long, short)}):
            yield {"record": f"engine:{name}_slow_share_{window}", "expr": promql.share_beyond(name, edges, window)}


def _burns() -> Iterator[Rule]:
    names = {"ttft": "LLMTimeToFirstTokenBudgetBurn", "itl": "LLMInterTokenLatencyBudgetBurn"}
    titles = {"ttft": "first tokens", "itl": "token gaps"}
    for latency, alert in names.items():
        level, _ = SLOW[latency]
        for factor, long, short, hold, severity in BURNS:
            limit = factor * (1 - OBJECTIVE)
            shares = [f"engine:{latency}_slow_share_{w} > {limit:.4g}" for w in (long, short)]
            yield _rule(
                alert, hold, severity, f"({shares[0]}) and ({shares[1]})",
                f"{{{{ $value | humanizePercentage }}}} of {titles[latency]} are slow on {{{{ $labels.instance }}}}",
                f"More than {limit:.1%} of {titles[latency]} took longer than {level} over {long} and over {short}: the budget of "
                f"{1 - OBJECTIVE:.0%} burns {factor:g} times too fast. The cause stands in the other alerts and in diagnose now.",
                labels={"window": long},
            )  # fmt: skip


def _rule(
    name: str,
    hold: str,
    severity: str,
    expr: str,
    summary: str,
    description: str,
    symptom: str = "",
    labels: dict[str, str] | None = None,
) -> Rule:
    from diagnose.generate.alerts import DASHBOARD, RUNBOOKS, step

    declared = all_symptoms().get(symptom)
    return {
        "alert": name,
        "expr": expr,
        "for": hold,
        "labels": {"severity": severity, **({"symptom": symptom} if symptom else {}), **(labels or {})},
        "annotations": {
            "summary": summary,
            "description": description,
            "next_step": step(declared)
            if declared
            else "Run: diagnose now URL; it names the next step with its numbers.",
            "guide_entry": declared.moves[0].partition("/")[0] if declared and declared.moves else "none",
            "runbook_url": f"{RUNBOOKS}/{name}.md",
            "dashboard_url": DASHBOARD,
        },
    }
