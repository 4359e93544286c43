"""The external cache tier cannot hold what is stored."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="cache_tier_too_small",
    title="The external cache tier cannot hold what is stored",
    kind="cause",
    severity="ticket",
    when="log_lmcache_alloc_failed >= often",
    meaning="The tier fails to allocate: it is smaller than the working set, so everything is evicted before it is asked for again. Enlarge it, or drop it.",
    thresholds=(Threshold("often", 2.0, "lines", 1.0, 1000.0, "one failed allocation can be a burst"),),
    moves=("4.2/fix-shared-cache", "4.2/drop-slow-tier"),
    explains=("external_cache_no_hits",),
    say="{log_lmcache_alloc_failed} failed allocations in the tier",
    missing="log of the cache tier",
)
