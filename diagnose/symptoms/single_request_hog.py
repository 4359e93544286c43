"""One long request holds most of the KV cache while others wait."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="single_request_hog",
    title="One long request holds most of the KV cache while others wait",
    kind="cause",
    severity="ticket",
    when="requests_running_max <= few and kv_usage_max >= large and requests_waiting >= 1 and generation_tps > 0",
    meaning="The engine is alive but one or two very long requests pin the pool; the waiters do not fit beside them. "
    "Bound the context or the output, or enlarge the pool. It is not demand.",
    thresholds=(
        Threshold("few", 2.0, "requests", 1.0, 8.0, "one or two holders"),
        Threshold("large", 0.5, "ratio", 0.2, 1.0, "half of the pool in so few hands"),
    ),
    moves=("2.1/shorter-context", "2.1/more-kv-memory"),
    explains=("queue_growth", "high_ttft", "kv_pressure", "batch_cap_bound"),
    confidence="medium",
    say="{requests_running_max} running at KV usage {kv_usage_max}, {requests_waiting} waiting",
    missing="running, waiting and KV usage",
)
