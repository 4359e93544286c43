"""Tokens come slowly."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="high_itl",
    title="Tokens come slowly",
    kind="info",
    severity="info",
    when="itl_p99 >= slow",
    meaning="Tokens come slower than people read. Batch size, prefills, eager steps or preemptions add up to it.",
    thresholds=(Threshold("slow", 0.2, "s", 0.005, 60.0, "five tokens a second is slower than reading"),),
    say="inter-token latency p99 {itl_p99}, mean {itl_mean}",
    missing="inter-token latency",
)
