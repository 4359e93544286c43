"""Requests wait for KV to be loaded from a slower tier."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="offload_load_bound",
    title="Requests wait for KV to be loaded from a slower tier",
    kind="cause",
    severity="ticket",
    when="(waiting_kv_fetch >= queue or waiting_deferred >= queue and not known(lora_slots)) and config_kv_connector == 1 unless config_disaggregated == 1 or config_lora == 1",
    meaning="Hits of the external cache have to be fetched, and requests queue for that. A hit is worth it only when loading is faster than computing: compare with the tier off.",
    thresholds=(Threshold("queue", 2.0, "requests", 0.2, 10000.0, "requests set aside for a load"),),
    moves=("4.2/drop-slow-tier",),
    explains=("queue_growth", "high_ttft", "batch_cap_bound"),
    confidence="medium",
    say="{waiting_kv_fetch} waiting for KV, {waiting_deferred} deferred",
    missing="waiting by reason and the KV connector",
)
