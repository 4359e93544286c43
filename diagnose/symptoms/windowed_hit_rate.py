"""The log's hit rate covers other requests than the counters."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="windowed_hit_rate",
    title="The log's hit rate covers other requests than the counters",
    kind="benign",
    severity="info",
    when="hit_log_gap >= gap",
    meaning="The log line averages the last 1,000 requests, the counters the window between two scrapes, the gauge of SGLang only the last batch. They may differ; the counters are the measure.",
    thresholds=(Threshold("gap", 0.15, "ratio", 0.02, 1.0, "a difference that looks like a contradiction"),),
    say="log and counters are {hit_log_gap} apart",
    missing="hit rate in the log and by counters",
)
