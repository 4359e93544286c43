"""A metric is impossible."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="wrong_metric",
    title="A metric is impossible",
    kind="fault",
    severity="ticket",
    when="generation_tps_min < 0",
    meaning="A throughput below zero cannot be: the engine's statistics are defective, and old versions die on it. "
    "Upgrade; nothing can be tuned by such numbers.",
    say="generation throughput of {generation_tps_min}",
    missing="throughput in the log or token counters",
)
