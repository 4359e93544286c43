"""The run without speculation is at least as fast."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="speculation_loses",
    title="The run without speculation is at least as fast",
    kind="cause",
    severity="ticket",
    when="ab_3_2_off_wins == 1 and ab_3_2_gain > margin",
    meaning="A short step leaves nothing for speculation to save; acceptance alone does not show it. Switch it off for this deployment.",
    thresholds=(
        Threshold("margin", 0.02, "ratio", 0.0, 0.5, "speculation costs memory: not gaining is reason enough"),
    ),
    moves=("3.2/off", "3.2/load-aware"),
    explains=("ab_parallelism",),
    say="without speculation {ab_3_2_gain} faster",
    missing="the same benchmark with and without speculation",
)
