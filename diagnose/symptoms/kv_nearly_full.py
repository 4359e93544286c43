"""KV usage climbs towards full, and preemptions are not visible."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="kv_nearly_full",
    title="KV usage climbs towards full, and preemptions are not visible",
    kind="monitoring",
    severity="info",
    when="kv_usage_last >= near and kv_rising > 0 and requests_waiting_max == 0 and not known(preemptions)",
    meaning="Nothing is wrong yet in what is seen: usage is high and rising, nothing waits. Whether it will preempt depends on how long the running requests go on.",
    thresholds=(
        Threshold("near", 0.88, "ratio", 0.5, 1.0, "close enough to reach the limit within the requests' lives"),
    ),
    say="KV usage {kv_usage_last} and rising by {kv_rising}, nothing waits",
    missing="the preemption counter (vllm:num_preemptions_total), or log lines from when usage reaches 100 %",
)
