"""CUDA graph capture ran out of memory."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="capture_out_of_memory",
    title="CUDA graph capture ran out of memory",
    kind="cause",
    severity="page",
    when="oom_in_capture >= 1",
    meaning="The engine failed while it captured graphs: what the KV cache left free is less than the graphs need. Capture fewer or smaller sizes, or leave more memory.",
    moves=("2.2/trim-captures", "2.1/less-kv-memory"),
    explains=("engine_dead", "memory_exhausted"),
    say="out of memory during graph capture",
    missing="start-up log",
)
