"""Requests are there, but no token moved in the window."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="nothing_moves",
    title="Requests are there, but no token moved in the window",
    kind="monitoring",
    severity="ticket",
    when="tokens_moved == 0 and stalled_seconds > 0 and (requests_running_last > 0 or requests_waiting_last > 0)",
    meaning="Either one very long step filled the window or the engine stands still; the window is too short to tell. Look again for longer before changing anything.",
    explains=(
        "batch_cap_bound",
        "kv_pressure",
        "queue_growth",
        "single_request_hog",
        "mamba_slots_bound",
        "replica_imbalance",
        "silent_preemption",
        "prefix_caching_off",
        "graphs_disabled",
        "kv_nearly_full",
        "adapter_churn",
        "fleet_saturated",
        "light_load",
    ),
    say="{requests_running_last} running, {requests_waiting_last} waiting, no token in {stalled_seconds}",
    missing="a longer look: scrapes over 30 s or more (--window 30s)",
)
