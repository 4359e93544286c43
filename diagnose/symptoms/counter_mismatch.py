"""Two cache layers cover the same tokens."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="counter_mismatch",
    title="Two cache layers cover the same tokens",
    kind="benign",
    severity="info",
    when="lmcache_negative_loads > 0 and lmcache_hit_ratio > 0",
    meaning="The external cache holds fewer tokens than the local one already covers, so there is nothing left to load (a negative number) and nothing to credit. Neither is broken.",
    explains=("external_cache_no_hits",),
    say="{lmcache_negative_loads} lookups with nothing left to load",
    missing="LMCache log lines",
)
