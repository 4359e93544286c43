"""The KV cache is full and nobody waits."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="kv_full_packed",
    title="The KV cache is full and nobody waits",
    kind="benign",
    severity="info",
    when="kv_usage_max >= full and requests_waiting_max == 0 and preemptions == 0",
    meaning="Full without a queue and without preemptions is good packing.",
    thresholds=(Threshold("full", 0.9, "ratio", 0.5, 1.0, "usage that looks alarming"),),
    explains=("kv_nearly_full",),
    say="KV usage {kv_usage_max}, nothing waits, nothing was preempted",
    missing="waiting requests and preemptions",
)
