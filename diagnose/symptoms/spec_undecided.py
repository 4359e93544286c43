"""Middling acceptance at a large batch, and no run without speculation."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="spec_undecided",
    title="Middling acceptance at a large batch, and no run without speculation",
    kind="monitoring",
    severity="info",
    when="spec_acceptance < half and requests_running >= busy and spec_accept_length >= short",
    applies="config_spec == 1",
    meaning="Below 50 % acceptance speculation usually loses at this batch size, but each step still gains tokens: only throughput at the same batch without speculation decides.",
    thresholds=(
        Threshold("half", 0.5, "ratio", 0.1, 0.95, "the guide: below 50 % speculation hurts"),
        Threshold("busy", 16.0, "requests", 1.0, 1024.0, "from here on verification competes with the batch"),
        Threshold("short", 1.5, "tokens", 1.0, 8.0, "below it the answer is known"),
    ),
    say="{spec_acceptance} accepted, {spec_accept_length} tokens per step at {requests_running} running",
    missing="tokens per second of the same load without speculation",
)
