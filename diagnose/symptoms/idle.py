"""Idle: no request and no token."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="idle",
    title="Idle: no request and no token",
    kind="benign",
    severity="info",
    when="requests_running_max == 0 and requests_waiting_max == 0 and tokens_moved == 0",
    meaning="Nothing runs, nothing waits, no token moved. Nothing can be concluded about speed.",
    say="no request in the window",
    missing="scrapes under load",
    explains=(
        "graph_coverage_gap",
        "prefix_caching_off",
        "graphs_disabled",
        "graph_mode_downgraded",
        "tp_comm_bound",
        "attention_fallback",
        "chunked_prefill_disabled",
        "quant_kernel_slow",
    ),
)
