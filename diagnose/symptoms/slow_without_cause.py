"""Decode crawls and nothing that was seen explains it."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="slow_without_cause",
    title="Decode crawls and nothing that was seen explains it",
    kind="monitoring",
    severity="ticket",
    when="decode_tps_per_request < crawl and decode_tps_per_request > 0 and requests_waiting_max == 0 and kv_usage_max < roomy",
    meaning="A token every second or less with an empty cache is no scheduling matter. Offloaded weights, a slow link between ranks, eager mode or another process on the GPU fit equally.",
    thresholds=(
        Threshold("crawl", 1.5, "tokens/s", 0.1, 20.0, "per running request; slower than any GPU decodes"),
        Threshold("roomy", 0.5, "ratio", 0.05, 1.0, "KV is not what is short"),
    ),
    say="{decode_tps_per_request} per request",
    missing="the start-up log, the launch command, GPU utilization and the model",
)
