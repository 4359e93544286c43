"""CUDA graphs are off."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="graphs_disabled",
    title="CUDA graphs are off",
    kind="opportunity",
    severity="info",
    when="config_enforce_eager == 1 or log_graphs_disabled_eager > 0 unless config_cpu == 1",
    applies="config_cpu == 0",
    meaning="Every decode step launches its kernels one by one. Wrappers inject --enforce-eager; read the resolved arguments.",
    moves=("2.2/enable",),
    explains=("slow_without_cause",),
    say="the engine runs eagerly",
    missing="launch flags or the start-up log",
)
