"""The runs differ by prefix caching."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_prefix_caching",
    title="The runs differ by prefix caching",
    kind="cause",
    severity="ticket",
    when="ab_1_2_gain > margin",
    meaning="Prefix caching (or its mode) decides between these runs.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("1.2/enable", "1.2/fix-reuse"),
    say="{ab_1_2_gain} between the runs",
    missing="the same benchmark with both settings",
)
