"""The runs differ by CUDA graphs."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="ab_graphs",
    title="The runs differ by CUDA graphs",
    kind="cause",
    severity="ticket",
    when="ab_2_2_gain > margin",
    meaning="Graph capture (its sizes, mode or memory estimate) decides between these runs, in speed or in the KV cache that is left.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("2.2/trim-captures", "2.2/cover-batch", "2.2/enable"),
    explains=("small_kv_pool", "graph_memory_high", "graphs_disabled"),
    say="{ab_2_2_gain} between the runs",
    missing="the same benchmark with both settings",
)
