"""An autoscaler is configured, yet requests stand in the queue."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="autoscaler_asleep",
    title="An autoscaler is configured, yet requests stand in the queue",
    kind="cause",
    severity="ticket",
    when="config_autoscaled == 1 and requests_waiting >= queue unless client_offline == 1",
    meaning="The scaler does not react to the queue that is there: its query names a metric that is gone, a threshold that is never reached, or a utilization. Scale on waiting requests.",
    thresholds=(Threshold("queue", 8.0, "requests", 1.0, 10000.0, "a standing queue"),),
    moves=("4.3/scale-on-queue", "4.3/fix-load-signal"),
    explains=(
        "queue_growth",
        "batch_cap_bound",
        "kv_pressure",
        "scaled_on_utilization",
        "prefill_bound",
        "fleet_saturated",
    ),
    confidence="medium",
    say="{requests_waiting} waiting beside a configured autoscaler",
    missing="the autoscaler's manifest and the queue",
)
