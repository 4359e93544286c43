"""First tokens are late."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="high_ttft",
    title="First tokens are late",
    kind="info",
    severity="info",
    when="ttft_p99 >= late",
    meaning="Many first tokens come late. Queue, prefill and front end add up to it; the cause stands beside it.",
    thresholds=(Threshold("late", 5.0, "s", 0.05, 3600.0, "no chat user waits longer for a first word"),),
    say="TTFT p99 {ttft_p99}, mean {ttft_mean}",
    missing="time to first token",
)
