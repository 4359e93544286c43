"""Prefix hits count re-prefills of preempted requests."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="prefix_hits_inflated",
    title="Prefix hits count re-prefills of preempted requests",
    kind="info",
    severity="info",
    when="preemptions >= 1 and prefix_hit_ratio >= some and prompts_share == 0",
    meaning="Before vLLM 0.11.1 a preempted request finds its own blocks again and counts them as hits. The hit ratio says nothing about sharing.",
    thresholds=(Threshold("some", 0.05, "ratio", 0.001, 1.0, "more than chance"),),
    say="hit ratio {prefix_hit_ratio} on prompts that share nothing, with {preemptions} preemptions",
    missing="preemptions and what the prompts share",
)
