"""Requests wait in the router while engines have room."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="router_queue",
    title="Requests wait in the router while engines have room",
    kind="cause",
    severity="ticket",
    when="router_queue >= queue and waiting_rank_max < 2 and kv_rank_spread >= 0",
    meaning="The queue stands in front of the engines, not in them: the router holds requests back or sends them to few workers.",
    thresholds=(Threshold("queue", 8.0, "requests", 1.0, 10000.0, "more than a passing burst"),),
    moves=("4.2/balance-load",),
    confidence="medium",
    explains=("high_ttft",),
    say="{router_queue} waiting in the router, at most {waiting_rank_max} in an engine",
    missing="queue of the router and of the engines",
)
