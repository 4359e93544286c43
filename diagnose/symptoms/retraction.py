"""Requests are retracted and prefilled again."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="retraction",
    title="Requests are retracted and prefilled again",
    kind="cause",
    severity="ticket",
    when="cached_over_prompt > over or retractions_per_minute > often or logged_retractions >= many and not known(retractions_per_minute)",
    meaning="SGLang took running requests back to the queue because the KV pool was full. A request that reports more cached than "
    "prompt tokens was prefilled more than once: that is exhaustion, not caching.",
    thresholds=(
        Threshold(
            "over", 1.05, "ratio", 1.0, 10.0, "one prefill can never find more cached tokens than the prompt has"
        ),
        Threshold("often", 2.0, "1/min", 0.1, 1000.0, "about one a minute is good packing"),
        Threshold("many", 5.0, "requests", 1.0, 1000.0, "where the log has no times: more than an occasional one"),
    ),
    moves=("2.1/fewer-sequences", "2.1/conservativeness", "2.1/more-kv-memory"),
    explains=("kv_pressure", "queue_growth", "batch_cap_bound"),
    confidence="medium",
    say="{cached_over_prompt} cached tokens per prompt token, {logged_retractions} retractions in the log",
    missing="per-request usage or retraction lines of the log",
)
