"""Prompts share prefixes and the cache is off."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="sharing_without_cache",
    title="Prompts share prefixes and the cache is off",
    kind="cause",
    severity="ticket",
    when="config_prefix_caching == 0 and prompts_share == 1 and (requests_running_max >= 1 or prompt_tps > 0) unless config_kv_connector == 1 or config_decode_role == 1",
    meaning="The load repeats its beginnings and every one of them is computed again. Switching the cache on is free and takes that prefill away.",
    moves=("1.2/enable",),
    explains=("batch_cap_bound", "prefill_bound", "prefix_caching_off", "high_ttft", "queue_growth"),
    say="prefix caching is off although requests share prefixes",
    missing="launch flags, and what the prompts share",
)
