"""The router averages ratios, the worker divides sums."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ratio_aggregation",
    title="The router averages ratios, the worker divides sums",
    kind="benign",
    severity="info",
    when="router_worker_hit_gap >= gap",
    meaning="A mean of per-request ratios gives a one-block request the weight of a hundred-block one. By tokens the worker's figure is right; routing is not wrong.",
    thresholds=(Threshold("gap", 0.1, "ratio", 0.01, 1.0, "a difference that looks like an error"),),
    explains=("low_prefix_hit_rate", "cache_unaware_routing"),
    say="the worker hits {router_worker_hit_gap} more than the router says",
    missing="hit counters of router and worker",
)
