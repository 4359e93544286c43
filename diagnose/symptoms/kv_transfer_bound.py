"""KV transfer between prefill and decode is the bottleneck."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="kv_transfer_bound",
    title="KV transfer between prefill and decode is the bottleneck",
    kind="cause",
    severity="page",
    hold=300.0,
    when="pd_bootstrap_queue >= queue or pd_inflight_queue >= queue or pd_transfer_queue >= queue or waiting_kv_fetch >= queue and config_disaggregated == 1 or transfer_failures >= failures",
    meaning="Requests pile up between the pools, in queues of their own: the usual queue and KV usage look idle. Fix the transport before adding workers.",
    thresholds=(
        Threshold("queue", 20.0, "requests", 1.0, 10000.0, "more than one scheduling step hands over"),
        Threshold("failures", 5.0, "transfers", 1.0, 10000.0, "a failed transfer costs a whole prefill"),
    ),
    moves=("3.3/fix-transfer", "3.3/rebalance-pools"),
    explains=("queue_growth", "high_ttft", "kv_pressure"),
    say="{pd_bootstrap_queue} waiting to bootstrap, {pd_inflight_queue} in flight, {pd_transfer_queue} waiting for KV",
    missing="queues of the P/D pools (sglang:num_prefill_*_queue_reqs, vllm:num_requests_kv_fetch_by_stage, or prefill lines)",
    alert="LLMKVTransferBound",
)
