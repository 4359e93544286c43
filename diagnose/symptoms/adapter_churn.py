"""LoRA adapters do not fit their slots."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="adapter_churn",
    title="LoRA adapters do not fit their slots",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="waiting_deferred >= deferred and (lora_slots >= 1 or config_lora == 1) or lora_overflow_max > 1 and lora_overflow_min <= 1 and ab_workload_gain > slower "
    "or lora_pool_usage >= full and requests_waiting >= 1 and kv_usage_max < roomy or log_lora_load >= loads "
    "or lora_overflow > 1 and requests_waiting >= 1 and kv_usage_max < roomy "
    "unless waiting_capacity >= capacity and kv_usage_max >= roomy",
    applies="config_lora == 1",
    meaning="More adapters are asked for than fit on the GPU at once: requests wait for a slot, or adapters are loaded again and again. Raise the slots, or route by adapter.",
    thresholds=(
        Threshold("deferred", 0.3, "requests", 0.05, 1000.0, "requests set aside for another reason than capacity"),
        Threshold(
            "slower", 0.5, "ratio", 0.05, 100.0, "gap between the run that fits its slots and the one that does not"
        ),
        Threshold("full", 0.99, "ratio", 0.5, 1.0, "every slot is taken"),
        Threshold("roomy", 0.85, "ratio", 0.1, 1.0, "KV is not what is short"),
        Threshold("loads", 20.0, "lines", 2.0, 10000.0, "adapter loads while serving"),
        Threshold("capacity", 1.0, "requests", 0.1, 1000.0, "waiting for KV or batch room instead"),
    ),
    moves=("4.1/more-slots", "4.1/adapter-routing", "4.1/cpu-cache"),
    explains=("queue_growth", "high_ttft", "batch_cap_bound"),
    say="{waiting_deferred} deferred with {lora_slots} adapter slots",
    missing="waiting by reason (vllm:num_requests_waiting_by_reason), adapter slots, adapters in use",
    alert="LLMAdapterChurn",
)
