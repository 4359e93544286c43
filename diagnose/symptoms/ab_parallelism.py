"""The runs differ by parallel layout."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_parallelism",
    title="The runs differ by parallel layout",
    kind="cause",
    severity="ticket",
    when="ab_3_1_gain > margin unless ab_3_1_scaling >= poor",
    meaning="The number of ranks, or how they are used, decides between these runs. Compare per GPU, not per server.",
    thresholds=(
        Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),
        Threshold("poor", 0.5, "ratio", 0.05, 1.0, "from here on added GPUs bring what they should"),
    ),
    moves=("3.1/narrower-tp", "3.1/wider-tp", "3.1/dp-attention"),
    confidence="medium",
    say="{ab_3_1_gain} between the layouts",
    missing="the same benchmark on both layouts",
)
