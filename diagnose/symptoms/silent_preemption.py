"""Running falls while the KV cache is full and the queue grows."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="silent_preemption",
    title="Running falls while the KV cache is full and the queue grows",
    kind="cause",
    severity="page",
    when="running_falls_at_full_kv >= falls unless preemptions == 0",
    meaning="The batch shrinks at a full KV cache while requests go back to the queue: V1 engines preempt without a log line. "
    "More concurrency would only add eviction.",
    thresholds=(
        Threshold(
            "falls",
            1.0,
            "intervals",
            1.0,
            10.0,
            "one such step is already a preemption, the log has no other word for it",
        ),
    ),
    moves=("2.1/fewer-sequences", "2.1/more-kv-memory", "2.3/kv-fp8"),
    explains=("kv_pressure", "queue_growth", "long_prefill_stall", "kv_nearly_full", "batch_cap_bound"),
    confidence="medium",
    say="running fell in {running_falls_at_full_kv} at KV usage {kv_usage_max} while the queue grew",
    missing="running, waiting and KV usage over several intervals",
)
