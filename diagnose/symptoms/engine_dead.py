"""Engine dead: its loop or a worker process failed."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="engine_dead",
    title="Engine dead: its loop or a worker process failed",
    kind="fault",
    severity="page",
    when="log_engine_dead > 0 unless log_memory_busy > 0 or log_seqs_exceed_state > 0 or log_oom_cuda > 0 or log_kv_too_small > 0 or log_pool_too_small_sglang > 0",
    meaning="The log shows that the engine's background loop, the engine core or a scheduler stopped with an exception. "
    "No flag of the guide repairs that: restart, then upgrade or report it.",
    say="the log reports a dead engine {log_engine_dead} times",
    missing="engine log",
)
