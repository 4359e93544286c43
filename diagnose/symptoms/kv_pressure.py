"""KV cache full with requests waiting for it."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="kv_pressure",
    title="KV cache full with requests waiting for it",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="kv_usage_max >= full and requests_waiting >= queue unless waiting_capacity == 0",
    meaning="The KV cache is the limit: what waits does not fit. A full cache without a queue would be good packing.",
    thresholds=(
        Threshold("full", 0.95, "ratio", 0.5, 1.0, "the guide reduces max sequences when usage regularly exceeds 95 %"),
        Threshold("queue", 1.0, "requests", 0.1, 10000.0, "full without a queue is healthy"),
    ),
    moves=("2.1/fewer-sequences", "2.1/more-kv-memory", "2.3/kv-fp8", "4.3/add-replica"),
    explains=("queue_growth", "high_ttft", "kv_nearly_full", "client_overdrive"),
    say="KV cache at {kv_usage_max}, {requests_waiting} waiting",
    missing="KV usage and waiting requests",
    alert="LLMKVCachePressure",
)
