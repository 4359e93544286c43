"""CUDA graphs take as much memory as the KV cache keeps."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="graph_memory_high",
    title="CUDA graphs take as much memory as the KV cache keeps",
    kind="cause",
    severity="ticket",
    when="graph_over_kv >= large or graph_over_left >= left",
    meaning="Captured graphs (or the engine's estimate of them) take memory that the KV cache needs. Capture fewer or smaller sizes, or correct the estimate, before touching sequence limits.",
    thresholds=(
        Threshold("large", 0.5, "ratio", 0.05, 5.0, "graphs usually take a few percent of the KV cache"),
        Threshold("left", 1.0, "ratio", 0.1, 10.0, "capture took more than it left free"),
    ),
    moves=("2.2/trim-captures",),
    explains=("kv_pressure", "small_kv_pool", "startup_failure"),
    confidence="medium",
    say="graphs take {graph_bytes}: {graph_over_kv} of the KV cache, {graph_over_left} of what was left",
    missing="graph and KV memory of the start-up log",
)
