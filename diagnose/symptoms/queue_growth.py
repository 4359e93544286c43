"""Requests wait."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="queue_growth",
    title="Requests wait",
    kind="effect",
    severity="ticket",
    hold=300.0,
    when="requests_waiting >= queue",
    meaning="More requests wait than one step admits. By itself it does not say why: look for the cause beside it.",
    thresholds=(Threshold("queue", 5.0, "requests", 1.0, 100000.0, "above what one scheduling step takes in"),),
    say="{requests_waiting} waiting",
    missing="waiting requests",
    alert="LLMQueueGrowth",
)
