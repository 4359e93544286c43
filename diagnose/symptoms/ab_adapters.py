"""The runs differ by adapter slots or ranks."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_adapters",
    title="The runs differ by adapter slots or ranks",
    kind="cause",
    severity="ticket",
    when="ab_4_1_gain > margin",
    meaning="Slots or the largest adapter rank decide between these runs: every slot is padded to the largest rank and takes memory from the KV cache. Set both to what is used.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("4.1/more-slots", "4.1/adapter-routing"),
    say="{ab_4_1_gain} between the runs",
    missing="the same benchmark with both settings",
)
