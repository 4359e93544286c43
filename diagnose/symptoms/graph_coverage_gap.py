"""Decode runs outside the captured CUDA graphs."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="graph_coverage_gap",
    title="Decode runs outside the captured CUDA graphs",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="graph_share < covered and requests_running_max >= 1 or running_over_graph_max > 1 and graph_cliff_ratio < cliff "
    "unless config_enforce_eager == 1 or config_cpu == 1",
    applies="config_cpu == 0",
    meaning="The batch is larger than the largest captured one, so steps run eagerly. Slower steps enlarge the batch further: "
    "a slow state that feeds itself. Capture the batch sizes that the load uses.",
    thresholds=(
        Threshold("covered", 0.5, "ratio", 0.05, 1.0, "most decode steps should replay a graph"),
        Threshold("cliff", 0.75, "ratio", 0.1, 1.0, "throughput per request above the captured batch against below it"),
    ),
    moves=("2.2/cover-batch", "2.2/enable"),
    explains=("high_itl", "batch_cap_bound", "queue_growth"),
    say="{graph_share} of decode steps used a graph; batch at {running_over_graph_max} of the largest captured",
    missing="CUDA-graph use (sglang:cuda_graph_passes_total, decode lines) or captured sizes and throughput",
    alert="LLMCudaGraphCoverageGap",
)
