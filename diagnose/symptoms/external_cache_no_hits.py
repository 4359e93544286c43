"""The external KV cache never hits."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="external_cache_no_hits",
    title="The external KV cache never hits",
    kind="cause",
    severity="ticket",
    when="lmcache_requests >= 2 and lmcache_hit_ratio == 0 or log_builtin_hash > 0 and config_tp >= 2 and lmcache_hit_ratio == 0 "
    "or external_queries >= floor and external_hit_ratio < none and prompts_share == 1 and config_kv_connector == 1 "
    "unless prompts_share == 0",
    meaning="Requests look their tokens up in the shared cache and find nothing. Usual causes: no fixed hash seed across workers, chunks longer than the probe, or a store that nobody fills.",
    thresholds=(
        Threshold("floor", 10000.0, "tokens", 100.0, 1e9, "below this a probe proves nothing"),
        Threshold("none", 0.001, "ratio", 0.0, 0.5, "practically zero"),
    ),
    moves=("4.2/fix-shared-cache",),
    say="{lmcache_requests} lookups, hit ratio {lmcache_hit_ratio} {external_hit_ratio}",
    missing="lookups and hits of the external cache",
)
