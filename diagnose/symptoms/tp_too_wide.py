"""A small model is spread over many GPUs that hardly work."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="tp_too_wide",
    title="A small model is spread over many GPUs that hardly work",
    kind="cause",
    severity="ticket",
    when="config_tp >= wide and billions_per_rank < small and gpu_utilization_max < busy and requests_running_max >= load",
    applies="config_tp >= 2",
    meaning="The weights fit on far fewer GPUs. Every step is mostly collectives and launches, so the GPUs idle under load. Use a narrower TP degree and run the freed GPUs as replicas.",
    thresholds=(
        Threshold("wide", 4.0, "ranks", 2.0, 64.0, "two ranks cost little"),
        Threshold("small", 3.0, "billions", 0.1, 100.0, "parameters per rank, in billions"),
        Threshold("busy", 0.7, "ratio", 0.1, 1.0, "busy GPUs would be a reason to keep them"),
        Threshold("load", 8.0, "requests", 1.0, 1024.0, "idle GPUs under a light load prove nothing"),
    ),
    moves=("3.1/narrower-tp",),
    explains=("batch_cap_bound", "queue_growth", "tp_comm_bound"),
    confidence="medium",
    say="tensor parallel {config_tp}, {billions_per_rank} billion parameters per rank, GPUs at most {gpu_utilization_max} busy",
    missing="GPU utilization under load and the model's size",
)
