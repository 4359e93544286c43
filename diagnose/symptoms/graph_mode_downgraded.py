"""Full CUDA graphs fell back to piecewise ones."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="graph_mode_downgraded",
    title="Full CUDA graphs fell back to piecewise ones",
    kind="opportunity",
    severity="info",
    when="log_graph_mode_downgraded > 0 unless config_cpu == 1",
    applies="config_cpu == 0",
    meaning="The attention backend or another feature does not support full graphs, so part of every step runs eagerly.",
    moves=("2.2/full-mode",),
    confidence="low",
    say="the log reports a lower CUDA-graph mode than configured",
    missing="start-up log",
)
