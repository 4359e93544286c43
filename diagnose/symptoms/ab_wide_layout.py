"""More GPUs bring hardly more throughput."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_wide_layout",
    title="More GPUs bring hardly more throughput",
    kind="cause",
    severity="ticket",
    when="ab_3_1_scaling < poor",
    meaning="The wider layout uses several times the GPUs for little more. Run replicas of the narrow one instead and compare per GPU.",
    thresholds=(Threshold("poor", 0.5, "ratio", 0.05, 1.0, "less than half of what the added GPUs should bring"),),
    moves=("3.1/narrower-tp",),
    explains=("ab_no_difference", "ab_parallelism"),
    say="{ab_3_1_scaling} of the throughput that the added GPUs should bring",
    missing="the same benchmark on both layouts",
)
