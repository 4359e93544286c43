"""CUDA graph memory grows while serving."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="graph_pool_growth",
    title="CUDA graph memory grows while serving",
    kind="cause",
    severity="page",
    hold=600.0,
    when="graph_growth > grown or reserved_gap_growth > grown and not known(graph_growth)",
    meaning="New shapes are captured while serving, so graph memory grows towards an out-of-memory error. Capture the shapes at start-up and stop the rest.",
    thresholds=(
        Threshold("grown", 268435456.0, "bytes", 1048576.0, 1e12, "one captured shape takes 100-300 MB by the guide"),
    ),
    moves=("2.2/warm-up", "2.2/trim-captures"),
    say="graph memory grew by {graph_growth}, reserved less allocated by {reserved_gap_growth}",
    missing="graph memory (sglang:graph_memory_usage_gb or the allocator probe)",
    alert="LLMGraphPoolGrowth",
)
