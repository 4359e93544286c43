"""The engine cannot start: the KV cache does not hold one request of full length."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="startup_failure",
    title="The engine cannot start: the KV cache does not hold one request of full length",
    kind="cause",
    severity="page",
    when="log_kv_too_small > 0 or log_pool_too_small_sglang > 0 or log_memory_busy > 0 or log_seqs_exceed_state > 0",
    meaning="What is left after weights and graphs is less than one request of max-model-len needs. Shorten the context, give the KV cache more memory or make the weights smaller.",
    moves=("2.1/shorter-context", "2.1/more-kv-memory", "2.3/kv-fp8"),
    explains=("engine_dead", "memory_exhausted"),
    say="the start-up log says that the KV cache is too small",
    missing="start-up log",
)
