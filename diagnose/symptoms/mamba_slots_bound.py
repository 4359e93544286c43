"""State slots of a hybrid model limit the batch, not KV tokens."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="mamba_slots_bound",
    title="State slots of a hybrid model limit the batch, not KV tokens",
    kind="cause",
    severity="ticket",
    when="(log_mamba_cap > 0 and kv_usage_max < roomy or mamba_usage_max >= full) and requests_waiting >= 1",
    meaning="Hybrid models need a state slot per running request. The slots are all taken while KV tokens are free, so "
    "KV usage looks harmless. Raise the number of slots.",
    thresholds=(
        Threshold("full", 0.95, "ratio", 0.5, 1.0, "practically all slots taken"),
        Threshold("roomy", 0.85, "ratio", 0.1, 1.0, "KV tokens are not what is short"),
    ),
    moves=("2.1/mamba-slots", "2.1/more-sequences"),
    explains=("queue_growth", "high_ttft", "kv_pressure", "batch_cap_bound"),
    say="state slots at {mamba_usage_max}, KV usage {kv_usage_max}, {requests_waiting} waiting",
    missing="mamba usage (sglang:mamba_usage or the decode line)",
)
