"""A few preemptions, spread thin."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="preemption_mild",
    title="A few preemptions, spread thin",
    kind="benign",
    severity="info",
    when="preemptions >= 1 and preemptions_per_finished <= mild",
    meaning="Preemptions happen, but so rarely per finished request that recomputing costs little. A full KV cache is good packing.",
    thresholds=(Threshold("mild", 0.1, "ratio", 0.01, 10.0, "the same line as the storm's"),),
    explains=("kv_full_packed", "kv_nearly_full"),
    say="{preemptions} preemptions, {preemptions_per_finished} per finished request",
    missing="preemption and request counters",
)
