"""Light load: nothing waits and the KV cache is mostly free."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="light_load",
    title="Light load: nothing waits and the KV cache is mostly free",
    kind="info",
    severity="info",
    when="kv_usage_max < low and requests_waiting_max == 0 and requests_running_max >= 1",
    meaning="KV usage follows the load. Filling the cache is not a goal.",
    thresholds=(Threshold("low", 0.5, "ratio", 0.05, 0.9, "the guide: below half there is headroom"),),
    say="KV usage at most {kv_usage_max} with {requests_running_max} running",
    missing="running, waiting and KV usage",
)
