"""Every replica queues at a full batch or KV cache."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="fleet_saturated",
    title="Every replica queues at a full batch or KV cache",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="ranks >= 2 and waiting_rank_spread >= even and waiting_rank_max >= queue and kv_rank_min >= busy unless client_closed_loop == 1 or client_offline == 1",
    meaning="All replicas are full and all of them queue: tuning one engine will not make room. Scale on queue depth.",
    thresholds=(
        Threshold("even", 0.5, "ratio", 0.1, 1.0, "the queues are alike, so balancing them moves nothing"),
        Threshold("queue", 5.0, "requests", 1.0, 10000.0, "a standing queue"),
        Threshold("busy", 0.8, "ratio", 0.3, 1.0, "even the emptiest replica is near the occupancy target"),
    ),
    moves=("4.3/scale-on-queue", "4.3/add-replica"),
    explains=("queue_growth",),
    confidence="medium",
    say="{ranks} replicas, up to {waiting_rank_max} waiting, emptiest KV cache at {kv_rank_min}",
    missing="scrapes of all replicas",
)
