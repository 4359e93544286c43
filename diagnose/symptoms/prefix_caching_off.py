"""Prefix caching is off."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="prefix_caching_off",
    title="Prefix caching is off",
    kind="opportunity",
    severity="info",
    when="config_prefix_switched_off == 1 unless prompts_share == 0 or config_kv_connector == 1 or config_decode_role == 1",
    meaning="Prompts that share a beginning are computed in full each time. Switching the cache on costs nothing: its blocks are taken only from free ones.",
    moves=("1.2/enable",),
    say="prefix caching is off",
    missing="launch flags, cache_config_info or the start-up log",
)
