"""Kernels are compiled while serving."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="recompile_while_serving",
    title="Kernels are compiled while serving",
    kind="cause",
    severity="ticket",
    when="log_recompile_serving >= often",
    meaning="Shapes that were not warmed up are compiled in the middle of a request: latency spikes, and growing memory. Add them to the warm-up.",
    thresholds=(Threshold("often", 3.0, "lines", 1.0, 1000.0, "one compilation after start-up is normal"),),
    moves=("2.2/warm-up",),
    confidence="medium",
    say="{log_recompile_serving} compilations while serving",
    missing="engine log",
)
