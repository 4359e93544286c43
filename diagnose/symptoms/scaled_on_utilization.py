"""Autoscaling follows GPU utilization."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="scaled_on_utilization",
    title="Autoscaling follows GPU utilization",
    kind="opportunity",
    severity="ticket",
    when="config_scales_on_utilization == 1",
    meaning="GPU utilization reads high while requests queue and stays high when they do not: it trails demand. Scale on waiting requests.",
    moves=("4.3/scale-on-queue",),
    confidence="medium",
    say="the autoscaler watches utilization",
    missing="the autoscaler's manifest",
)
