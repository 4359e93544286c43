"""CUDA out of memory."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="memory_exhausted",
    title="CUDA out of memory",
    kind="cause",
    severity="page",
    when="log_oom_cuda > 0",
    meaning="The engine asked for GPU memory that was not there: KV cache, graphs and activations together exceed the device. Leave more room, or capture fewer graphs.",
    moves=("2.1/less-kv-memory", "2.2/trim-captures"),
    explains=("engine_dead",),
    confidence="medium",
    say="CUDA out of memory {log_oom_cuda} times in the log",
    missing="engine log",
)
