"""The runs differ by prefill/decode disaggregation."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_disaggregation",
    title="The runs differ by prefill/decode disaggregation",
    kind="cause",
    severity="ticket",
    when="ab_3_3_gain > margin",
    meaning="Splitting prefill from decode decides between these runs.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("3.3/back-to-aggregated", "3.3/disaggregate"),
    say="{ab_3_3_gain} between the layouts",
    missing="the same benchmark on both layouts",
)
