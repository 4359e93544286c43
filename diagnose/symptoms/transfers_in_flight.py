"""What waits on the decode side is KV in flight."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="transfers_in_flight",
    title="What waits on the decode side is KV in flight",
    kind="benign",
    severity="info",
    when="config_decode_role == 1 and waiting_deferred >= 1 and waiting_capacity == 0 and kv_usage_max < roomy",
    meaning="On a decode worker requests are set aside while their KV arrives. With room in the pool that is the pipeline, not a queue for capacity.",
    thresholds=(Threshold("roomy", 0.85, "ratio", 0.1, 1.0, "the pool has room"),),
    explains=("queue_growth", "batch_cap_bound", "offload_load_bound"),
    say="{waiting_deferred} deferred, none for capacity, KV usage {kv_usage_max}",
    missing="waiting by reason",
)
