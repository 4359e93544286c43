"""The prefill pool is the limit of a disaggregated deployment."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="prefill_pool_short",
    title="The prefill pool is the limit of a disaggregated deployment",
    kind="cause",
    severity="ticket",
    when="prefill_saturated == 1 and config_prefill_role == 1",
    meaning="Prefill workers compute at their ceiling with a queue while decode has room. Move workers from decode to prefill; the transfer is not the limit.",
    moves=("3.3/rebalance-pools",),
    explains=("prefill_bound", "queue_growth", "batch_cap_bound", "high_ttft", "long_prefill_stall"),
    confidence="medium",
    say="prompt throughput flat at {prompt_tps} with {requests_waiting} waiting on the prefill side",
    missing="throughput and queue of the prefill workers",
)
