"""CUDA graphs took far more memory than was set aside."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="graph_memory_underestimated",
    title="CUDA graphs took far more memory than was set aside",
    kind="cause",
    severity="ticket",
    when="graph_estimate_error >= error",
    meaning="The profiler reserved less than the graphs took, so the KV cache was sized too large: the next allocation can fail.",
    thresholds=(Threshold("error", 1.5, "ratio", 1.1, 20.0, "the estimate should hold within half"),),
    moves=("2.2/trim-captures",),
    say="graphs took {graph_estimate_error} times the estimate",
    missing="the line 'CUDA graph pool memory' of the start-up log",
)
