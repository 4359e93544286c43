"""Series that must fire an alert and series that must not: rendered as one promtool test of all alerts.

Every case is an engine of its own whose model and instance are ``<alert>/<case>``, so that promtool evaluates all
of them in one run. Shapes are promtool's: ``start+step x samples`` at 15 s, over 45 minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SAMPLES = 180
EVALUATED_AT = "42m"
CASES = (
    "fires", "silent", "absent_metric", "idle_fleet", "counter_reset", "no_traffic", "old_spelling", "new_spelling",
    "dp_ranks",
)  # fmt: skip
FIRING = ("fires", "old_spelling", "new_spelling", "dp_ranks")
_RANK = {"vllm": "engine", "sglang": "dp_rank"}
Shapes = Mapping[str, str]

VLLM: Shapes = {
    "vllm:num_requests_running": "30",
    "vllm:num_requests_waiting": "0",
    "vllm:kv_cache_usage_perc": "0.4",
    "vllm:num_preemptions_total": "0+0",
    'vllm:request_success_total{finished_reason="stop"}': "0+15",
    "vllm:prompt_tokens_total": "0+9000",
    "vllm:generation_tokens_total": "0+4500",
}
SGLANG: Shapes = {
    "sglang:num_running_reqs": "30",
    "sglang:num_queue_reqs": "0",
    "sglang:token_usage": "0.4",
    "sglang:num_requests_total": "0+15",
    "sglang:prompt_tokens_total": "0+9000",
    "sglang:generation_tokens_total": "0+4500",
}
_KV_OLD = {"vllm:kv_cache_usage_perc": "vllm:gpu_cache_usage_perc"}
_ITL_OLD = {"vllm:inter_token_latency_seconds": "vllm:time_per_output_token_seconds"}


@dataclass(frozen=True)
class Sick:
    """What differs from a healthy engine when an alert fires, and which series it cannot do without."""

    shapes: Shapes
    needs: tuple[str, ...]
    near: Shapes = field(default_factory=dict)  # just on the healthy side of the thresholds
    old: Mapping[str, str] = field(default_factory=dict)
    engine: str = "vllm"
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    count: int = 1  # series that fire
    all_ranks: bool = False  # a comparison of ranks: every case has three of them
    labels: tuple[str, ...] = ("instance", "model_name")  # those of the alert that name the case


def _buckets(name: str, edge: str, below: int, count: int) -> dict[str, str]:
    return {
        f'{name}_bucket{{le="{edge}"}}': f"0+{below}",
        f'{name}_bucket{{le="+Inf"}}': f"0+{count}",
        f"{name}_count": f"0+{count}",
    }


ITL, TTFT = "vllm:inter_token_latency_seconds", "vllm:time_to_first_token_seconds"
SICK: dict[str, Sick] = {
    "LLMPreemptionStorm": Sick(
        {"vllm:num_preemptions_total": "0+3", 'vllm:request_success_total{finished_reason="stop"}': "0+25"},
        ("vllm:num_preemptions_total",),
        {"vllm:num_preemptions_total": "0+2", 'vllm:request_success_total{finished_reason="stop"}': "0+25"}, _KV_OLD),
    "LLMKVCachePressure": Sick(
        {"vllm:kv_cache_usage_perc": "0.96", "vllm:num_requests_waiting": "2"}, ("vllm:kv_cache_usage_perc",),
        {"vllm:kv_cache_usage_perc": "0.94", "vllm:num_requests_waiting": "2"}, _KV_OLD),
    "LLMQueueGrowth": Sick(
        {"vllm:num_requests_waiting": "6"}, ("vllm:num_requests_waiting",),
        {"vllm:num_requests_waiting": "4"}, _KV_OLD),
    "LLMBatchCapBound": Sick(
        {"vllm:num_requests_waiting": "32"}, ("vllm:num_requests_waiting",),
        {"vllm:num_requests_waiting": "28"}, _KV_OLD),
    "LLMEngineHung": Sick(
        {"vllm:num_requests_waiting": "3", "vllm:num_requests_running": "0", "vllm:prompt_tokens_total": "5+0",
         "vllm:generation_tokens_total": "5+0"},
        ("vllm:num_requests_waiting",), {"vllm:num_requests_waiting": "3", "vllm:generation_tokens_total": "0+10"},
        _KV_OLD),
    "LLMErrorRate": Sick(
        {'vllm:request_success_total{finished_reason="error"}': "0+1"},
        ('vllm:request_success_total{finished_reason="error"}',),
        {'vllm:request_success_total{finished_reason="error"}': "0+1",
         'vllm:request_success_total{finished_reason="stop"}': "0+24"}, _KV_OLD),
    "LLMPrefillStallsDecode": Sick(
        _buckets(ITL, "0.3", 994, 1000), (f'{ITL}_bucket{{le="0.3"}}',), _buckets(ITL, "0.3", 996, 1000), _ITL_OLD),
    "LLMTimeToFirstTokenBudgetBurn": Sick(
        _buckets(TTFT, "2.5", 83, 100), (f'{TTFT}_bucket{{le="2.5"}}',), _buckets(TTFT, "2.5", 95, 100), _KV_OLD,
        count=2),
    "LLMInterTokenLatencyBudgetBurn": Sick(
        _buckets(ITL, "0.2", 83, 100), (f'{ITL}_bucket{{le="0.2"}}',), _buckets(ITL, "0.2", 95, 100), _ITL_OLD,
        count=2),
    "LLMSpeculationUnprofitable": Sick(
        {"vllm:spec_decode_num_draft_tokens_total": "0+400", "vllm:spec_decode_num_accepted_tokens_total": "0+100",
         "vllm:spec_decode_num_drafts_total": "0+120"},
        ("vllm:spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_accepted_tokens_total"),
        {"vllm:spec_decode_num_draft_tokens_total": "0+400", "vllm:spec_decode_num_accepted_tokens_total": "0+130",
         "vllm:spec_decode_num_drafts_total": "0+140"}, _KV_OLD),
    "LLMAdapterChurn": Sick(
        {"sglang:lora_pool_utilization": "1", "sglang:lora_pool_slots_total": "8", "sglang:num_queue_reqs": "2"},
        ("sglang:lora_pool_utilization",),
        {"sglang:lora_pool_utilization": "0.9", "sglang:lora_pool_slots_total": "8", "sglang:num_queue_reqs": "2"},
        engine="sglang"),
    "LLMCudaGraphCoverageGap": Sick(
        {'sglang:cuda_graph_passes_total{mode="decode_cuda_graph"}': "0+40",
         'sglang:cuda_graph_passes_total{mode="decode_none"}': "0+60"},
        ('sglang:cuda_graph_passes_total{mode="decode_none"}',),
        {'sglang:cuda_graph_passes_total{mode="decode_cuda_graph"}': "0+60",
         'sglang:cuda_graph_passes_total{mode="decode_none"}': "0+40"}, engine="sglang"),
    "LLMGraphPoolGrowth": Sick(
        {"sglang:graph_memory_usage_gb": "1x40 1.3"}, ("sglang:graph_memory_usage_gb",),
        {"sglang:graph_memory_usage_gb": "1x40 1.2"}, engine="sglang"),
    "LLMKVTransferBound": Sick(
        {"sglang:num_prefill_inflight_queue_reqs": "25"}, ("sglang:num_prefill_inflight_queue_reqs",),
        {"sglang:num_prefill_inflight_queue_reqs": "18"},
        {"sglang:num_prefill_inflight_queue_reqs": "sglang:num_prefill_infight_queue_reqs"}, engine="sglang"),
    "LLMReplicaImbalance": Sick(
        {"vllm:num_requests_waiting": "40"}, ("vllm:num_requests_waiting",), {"vllm:num_requests_waiting": "7"},
        _KV_OLD, all_ranks=True, labels=("model_name",)),
    "LLMLowPrefixCacheHitRate": Sick(
        {"vllm:prefix_cache_queries_total": "0+9000", "vllm:prefix_cache_hits_total": "0+5400x40 216000+360"},
        ("vllm:prefix_cache_hits_total",),
        {"vllm:prefix_cache_queries_total": "0+9000", "vllm:prefix_cache_hits_total": "0+5400x40 216000+540"},
        {"vllm:prefix_cache_queries_total": "vllm:gpu_prefix_cache_queries_total",
         "vllm:prefix_cache_hits_total": "vllm:gpu_prefix_cache_hits_total"}),
    "LLMEngineDown": Sick(
        {"up": "1x40 0", **{name: f"{shape}x40 _" for name, shape in VLLM.items()}}, ("up",), {"up": "1"}, _KV_OLD,
        labels=("instance",)),
    "LLMSignalMissing": Sick(
        {"up": "1", **{name: f"{shape}x40 _" for name, shape in VLLM.items()}}, ("up",), {"up": "1"}, _KV_OLD,
        not_applicable={"dp_ranks": "counts targets, not ranks"}, labels=("instance",)),
}  # fmt: skip
# alerts that this test cannot make fire, and why
NOT_APPLICABLE = {
    "LLMUnusedHeadroom": "needs engine:config_max_num_seqs, which a configuration exporter records",
    "LLMWatchdog": "always fires",
}


def render(only: str = "") -> dict[str, object]:
    """The promtool test of all cases, or of those of one alert."""
    chosen = {alert: sick for alert, sick in SICK.items() if only in ("", alert)}
    checks = [
        {
            "expr": f'count by (instance, model_name) (ALERTS{{alertname="{alert}", alertstate="firing",'
            f' instance=~"({alert}/.+)?", model_name=~"({alert}/.+)?"}})',
            "eval_time": EVALUATED_AT,
            "exp_samples": [
                {"labels": _labels(dict.fromkeys(sick.labels, f"{alert}/{case}")), "value": sick.count}
                for case in FIRING
                if case not in sick.not_applicable
            ],
        }
        for alert, sick in chosen.items()
    ]
    checks.append({
        "expr": 'ALERTS{severity="page", alertstate="firing", instance=~".+/(idle_fleet|no_traffic)"}',
        "eval_time": EVALUATED_AT, "exp_samples": [],
    })  # fmt: skip
    if "LLMPrefillStallsDecode" in chosen:  # a quantile needs its buckets
        quantile = 'count(engine:itl_p99{instance="LLMPrefillStallsDecode/fires"} > 0.29 < 0.31)'
        checks.append({"expr": quantile, "eval_time": EVALUATED_AT, "exp_samples": [{"labels": "{}", "value": 1}]})
    every = [
        {"series": name, "values": values}
        for alert, sick in chosen.items()
        for case in CASES
        if case not in sick.not_applicable
        for name, values in series(alert, case)
    ]
    return {
        "rule_files": ["../llm-recording.rules.yaml", "../llm-alerts.rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{"interval": "15s", "input_series": every, "promql_expr_test": checks}],
    }


def series(alert: str, case: str) -> Iterator[tuple[str, str]]:
    """Input series of one case: name with labels, and values."""
    sick = SICK[alert]
    healthy = VLLM if sick.engine == "vllm" else SGLANG
    shapes = {**healthy, **(sick.shapes if case in (*FIRING, "absent_metric") else sick.near)}
    if case == "absent_metric":
        shapes = {name: shape for name, shape in shapes.items() if name not in sick.needs}
    ranks = [healthy] * (2 if sick.all_ranks else case == "dp_ranks") + [shapes]
    for rank, own in enumerate(ranks):
        for name, shape in own.items():
            where = {"job": "llm", "instance": f"{alert}/{case}"}
            if name != "up":
                where |= {"model_name": f"{alert}/{case}", _RANK[sick.engine]: str(rank)}
            spelt = _old(name, sick) if case == "old_spelling" else name
            yield _named(spelt, where), _values(_shaped(name, shape, case))


def _shaped(name: str, shape: str, case: str) -> str:
    counter = "+" in shape
    if name == "up" or case not in ("idle_fleet", "counter_reset", "no_traffic"):
        return shape
    if not counter:
        return shape if case == "counter_reset" else "0"
    if case == "counter_reset":
        step = shape.split()[-1].partition("+")[2]
        return f"{shape if ' ' not in shape else shape.rpartition(' ')[0]}{'' if ' ' in shape else 'x90'} 0+{step}"
    return "1000+0" if case == "idle_fleet" else "0+0"


def _values(shape: str) -> str:
    """The shape with its last part repeated up to the end."""
    parts = shape.split()
    used = sum(int(p.partition("x")[2]) + 1 for p in parts[:-1])
    return " ".join((*parts[:-1], f"{parts[-1]}x{SAMPLES - used}"))


def _old(name: str, sick: Sick) -> str:
    for new, old in sick.old.items():
        name = name.replace(new, old)
    return name.replace(":", "_", 1) if sick.engine == "sglang" else name


def _named(name: str, where: Mapping[str, str]) -> str:
    plain, _, own = name.partition("{")
    labels = ",".join(f'{k}="{v}"' for k, v in where.items())
    return f"{plain}{{{labels}{',' + own if own else '}'}"


def _labels(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{k}="{v}"' for k, v in values.items()) + "}"
