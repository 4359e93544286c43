"""Gauges show the last step, nothing runs any more."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="stale_gauge",
    title="Gauges show the last step, nothing runs any more",
    kind="benign",
    severity="info",
    when="stalled_seconds >= still and requests_running_last > 0 and requests_waiting_last == 0 and (aborted > 0 or log_aborted > 0)",
    meaning="Gauges are refreshed by engine steps. After the last request was cancelled no step follows, so usage and running keep their last value while no token counter moves. The engine is idle.",
    thresholds=(Threshold("still", 30.0, "s", 10.0, 3600.0, "no decode step takes that long"),),
    explains=(
        "nothing_moves",
        "kv_pressure",
        "kv_nearly_full",
        "kv_full_packed",
        "replica_imbalance",
        "queue_growth",
        "graph_coverage_gap",
        "graphs_disabled",
        "prefix_caching_off",
    ),
    say="{requests_running_last} running by the gauge, but no token for {stalled_seconds}",
    missing="token counters in two scrapes",
)
