"""The client keeps far more requests in flight than the engine can run."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="client_overdrive",
    title="The client keeps far more requests in flight than the engine can run",
    kind="info",
    severity="info",
    when="client_closed_loop == 1 and requests_waiting >= queue",
    meaning="The queue is made by the load generator (a fixed number in flight, or everything at once). It says nothing about demand and is no reason to scale out.",
    thresholds=(Threshold("queue", 10.0, "requests", 1.0, 100000.0, "more than a passing queue"),),
    moves=("2.1/cap-client",),
    explains=("queue_growth",),
    say="{requests_waiting} waiting behind a closed-loop client",
    missing="how the load is generated (a launch/client.txt)",
)
