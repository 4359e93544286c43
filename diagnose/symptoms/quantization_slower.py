"""The quantized run loses."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="quantization_slower",
    title="The quantized run loses",
    kind="cause",
    severity="ticket",
    when="ab_2_3_gain > margin and ab_2_3_off_wins == 1",
    meaning="Weights or KV in the lower precision are slower on this load, and there is no need for the memory at this size. Go back.",
    thresholds=(Threshold("margin", 0.04, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("2.3/kv-default", "2.3/undo-weights", "2.3/change-kernel"),
    say="the run in full precision is {ab_2_3_gain} faster",
    missing="the same benchmark in both precisions",
)
