"""Requests queue at the cap on running sequences while KV is free."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="batch_cap_bound",
    title="Requests queue at the cap on running sequences while KV is free",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="requests_waiting >= queue and waiting_over_running >= share and kv_usage_max < roomy and (running_over_cap >= at_cap or (running_pinned >= at_cap and waiting_over_running >= 1 unless running_over_cap < below_cap)) "
    "unless waiting_deferred >= deferred or prefill_saturated == 1",
    meaning="The batch stands at its cap with a queue in front of it and most of the KV cache unused: the cap is too low.",
    thresholds=(
        Threshold("queue", 2.0, "requests", 0.5, 10000.0, "a queue, not a passing request"),
        Threshold(
            "roomy", 0.85, "ratio", 0.1, 0.95, "the guide's occupancy target: below it there is room for more sequences"
        ),
        Threshold("at_cap", 0.85, "ratio", 0.5, 1.0, "requests that just finished leave gaps below the cap"),
        Threshold("share", 0.2, "ratio", 0.01, 100.0, "a queue that is large beside the batch"),
        Threshold("below_cap", 0.8, "ratio", 0.1, 1.0, "a known cap that the batch does not reach is not the limit"),
        Threshold("deferred", 0.5, "requests", 0.05, 1000.0, "requests set aside for another reason than the cap"),
    ),
    moves=("2.1/more-sequences", "4.3/add-replica"),
    explains=("queue_growth", "high_ttft"),
    say="{requests_waiting} waiting, batch pinned at {requests_running_max}, KV usage {kv_usage_max}",
    missing="running, waiting and KV usage; --max-num-seqs",
    alert="LLMBatchCapBound",
)
