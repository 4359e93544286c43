"""An offline batch keeps its queue on purpose."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="offline_batch_queue",
    title="An offline batch keeps its queue on purpose",
    kind="benign",
    severity="info",
    when="client_offline == 1 and requests_waiting >= 1 and (generation_tps > 0 or tokens_moved > 0) unless preemptions_per_finished > storm or running_falls_at_full_kv >= 1",
    meaning="A batch job hands over everything at once; a queue of hundreds is wanted, and nobody waits for a first token. There is nothing to scale for.",
    thresholds=(Threshold("storm", 0.1, "ratio", 0.01, 10.0, "even a batch job should not compute requests twice"),),
    explains=("queue_growth", "kv_pressure", "batch_cap_bound", "high_ttft", "fleet_saturated", "client_overdrive"),
    say="{requests_waiting} queued by an offline batch",
    missing="how the load is generated",
)
