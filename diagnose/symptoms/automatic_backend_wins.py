"""The automatic attention backend is the faster one."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="automatic_backend_wins",
    title="The automatic attention backend is the faster one",
    kind="benign",
    severity="info",
    when="ab_1_3_gain > 0 and ab_1_3_automatic_wins == 1",
    meaning="The override was measured and loses where it counts: keep what the engine chooses.",
    say="the automatic choice is {ab_1_3_gain} faster",
    missing="the same benchmark with each backend",
    explains=("slow_attention_backend", "attention_fallback", "backend_override"),
)
