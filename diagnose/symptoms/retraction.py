"""Requests are retracted and prefilled again."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="retraction",
    title="Requests are retracted and prefilled again",
    kind="cause",
    severity="ticket",
    when="cached_over_prompt > over or log_retracted >= often",
    meaning="SGLang took running requests back to the queue because the KV pool was full. A request that reports more cached than "
    "prompt tokens was prefilled more than once: that is exhaustion, not caching.",
    thresholds=(
        Threshold(
            "over", 1.05, "ratio", 1.0, 10.0, "one prefill can never find more cached tokens than the prompt has"
        ),
        Threshold("often", 3.0, "lines", 1.0, 100.0, "an occasional retraction is good packing"),
    ),
    moves=("2.1/fewer-sequences", "2.1/conservativeness", "2.1/more-kv-memory"),
    explains=("kv_pressure", "queue_growth", "batch_cap_bound"),
    confidence="medium",
    say="{cached_over_prompt} cached tokens per prompt token, {log_retracted} retraction lines",
    missing="per-request usage or retraction lines of the log",
)
