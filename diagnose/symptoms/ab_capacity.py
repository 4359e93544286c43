"""The runs differ by sequence or memory limits."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_capacity",
    title="The runs differ by sequence or memory limits",
    kind="cause",
    severity="ticket",
    when="ab_2_1_gain > margin",
    meaning="Max sequences, context or memory share decide between these runs.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("2.1/more-sequences", "2.1/fewer-sequences"),
    say="{ab_2_1_gain} between the runs",
    missing="the same benchmark with both settings",
)
