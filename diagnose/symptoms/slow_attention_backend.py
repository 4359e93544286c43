"""Another attention backend is faster on this load."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="slow_attention_backend",
    title="Another attention backend is faster on this load",
    kind="cause",
    severity="ticket",
    when="ab_1_3_gain > margin unless ab_1_3_off_wins == 1 and ab_1_3_automatic_wins == 1",
    meaning="Two runs that differ only in the attention backend (chosen, or forced by the KV dtype) differ in speed. Take the faster one; judge at your context length.",
    thresholds=(Threshold("margin", 0.04, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("1.3/choose-backend", "1.3/match-kv-dtype", "1.3/remove-override"),
    explains=("quantization_gains", "quantization_slower", "ab_no_difference"),
    say="{ab_1_3_gain} between the backends",
    missing="the same benchmark with each backend",
)
