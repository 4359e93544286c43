"""The cache tier costs more than computing again."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="offload_slower_than_recompute",
    title="The cache tier costs more than computing again",
    kind="cause",
    severity="ticket",
    when="ab_4_2_gain > margin and ab_4_2_off_wins == 1",
    meaning="A high hit rate from a slow tier can cost time: the same job is faster without it. Change the tier or its prefetch policy, or drop it.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("4.2/drop-slow-tier",),
    say="without the tier the job is {ab_4_2_gain} faster",
    missing="the same benchmark with and without the tier",
)
