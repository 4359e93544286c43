"""The runs differ by chunked prefill or its budget."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_chunking",
    title="The runs differ by chunked prefill or its budget",
    kind="cause",
    severity="ticket",
    when="ab_1_1_gain > margin",
    meaning="The chunk budget decides between these runs.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("1.1/lower-budget", "1.1/enable", "1.1/raise-budget"),
    say="{ab_1_1_gain} between the runs",
    missing="the same benchmark with both settings",
)
