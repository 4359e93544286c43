"""The quantized run wins."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="quantization_gains",
    title="The quantized run wins",
    kind="cause",
    severity="ticket",
    when="ab_2_3_gain > margin and ab_2_3_off_wins == 0",
    meaning="The lower precision is faster on this load. Check quality on your own task before it goes live.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("2.3/weights-fp8", "2.3/kv-fp8", "2.3/weights-int4"),
    say="the quantized run is {ab_2_3_gain} faster",
    missing="the same benchmark in both precisions",
)
