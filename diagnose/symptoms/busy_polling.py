"""Idle workers poll at full CPU."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="busy_polling",
    title="Idle workers poll at full CPU",
    kind="benign",
    severity="info",
    when="worker_cpu >= busy and requests_running_max == 0 or busy_poll > 0 and requests_running_max == 0",
    meaning="Workers of an idle engine spin on shared memory at 100 % of a core. It is harmless; a sleep-when-idle setting exists.",
    thresholds=(Threshold("busy", 0.9, "ratio", 0.3, 1.0, "one core of a polling loop"),),
    explains=("frontend_bound",),
    say="an idle worker at {worker_cpu} of a core",
    missing="CPU use of the engine processes",
)
