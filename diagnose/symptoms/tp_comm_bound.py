"""Tensor-parallel ranks wait for each other."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="tp_comm_bound",
    title="Tensor-parallel ranks wait for each other",
    kind="opportunity",
    severity="ticket",
    when="config_tp >= 2 and (log_nccl_socket > 0 or log_custom_allreduce_disabled > 0 or log_p2p_disabled > 0 or gpu_utilization_spread >= spread and gpu_power_share_max < power)",
    applies="config_tp >= 2",
    meaning="Peer-to-peer copies or the custom all-reduce are off, so every layer's reduction goes through the host. Restore them, or use fewer ranks.",
    thresholds=(
        Threshold("spread", 0.25, "ratio", 0.05, 1.0, "ranks of one group should be equally busy"),
        Threshold("power", 0.9, "ratio", 0.2, 1.0, "far from the power cap: not compute bound"),
    ),
    moves=("3.1/fix-interconnect", "3.1/narrower-tp"),
    confidence="medium",
    say="tensor parallel {config_tp}; custom all-reduce off ({log_custom_allreduce_disabled}), P2P off ({log_p2p_disabled})",
    missing="start-up log and GPU utilization per rank",
)
