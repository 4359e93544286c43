"""The decode pool has no room for what prefill delivers."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="decode_pool_full",
    title="The decode pool has no room for what prefill delivers",
    kind="cause",
    severity="ticket",
    when="pd_prealloc_queue >= queue",
    meaning="Finished prefills wait for KV room on the decode side. Move workers from prefill to decode, or free KV there.",
    thresholds=(Threshold("queue", 20.0, "requests", 1.0, 10000.0, "more than a passing burst"),),
    moves=("3.3/rebalance-pools",),
    explains=("queue_growth", "kv_pressure"),
    confidence="medium",
    say="{pd_prealloc_queue} waiting for room on the decode side",
    missing="sglang:num_decode_prealloc_queue_reqs",
)
