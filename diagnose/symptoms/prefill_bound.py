"""Prefill is the ceiling: prompt throughput is flat under a queue."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="prefill_bound",
    title="Prefill is the ceiling: prompt throughput is flat under a queue",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="prefill_saturated == 1 and kv_usage_max < full",
    meaning="Prompt throughput stands at its maximum while requests queue and decode starves. Every further admission pins KV for a "
    "prompt that is not computed yet. Admit fewer at a time; more sequences would not help.",
    thresholds=(Threshold("full", 0.95, "ratio", 0.5, 1.0, "at a full KV cache the pool is the limit, not prefill"),),
    moves=("2.1/admission", "3.3/disaggregate", "4.3/add-replica"),
    explains=("queue_growth", "high_ttft", "long_prefill_stall", "batch_cap_bound"),
    confidence="medium",
    say="prompt throughput flat at {prompt_tps}, {requests_waiting} waiting, KV usage {kv_usage_max}",
    missing="prompt throughput, running and waiting over at least three intervals",
)
