"""Prompts share prefixes but the cache hardly hits."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="low_prefix_hit_rate",
    title="Prompts share prefixes but the cache hardly hits",
    kind="cause",
    severity="ticket",
    hold=900.0,
    when="prefix_hit_ratio < low and prefix_queries >= floor and prompts_share == 1 unless external_hit_ratio > elsewhere",
    meaning="The load repeats its beginnings, yet almost nothing comes from the cache: something breaks the match (template order, "
    "time stamps in the prompt, several images in one item, routing over replicas).",
    thresholds=(
        Threshold("low", 0.05, "ratio", 0.001, 0.9, "the guide calls a hit rate below 5 % small"),
        Threshold("floor", 5000.0, "tokens", 100.0, 1e9, "below this a probe proves nothing"),
        Threshold("elsewhere", 0.5, "ratio", 0.05, 1.0, "an external cache serves the prefixes instead"),
    ),
    moves=("1.2/fix-reuse", "4.2/cache-aware-routing"),
    say="hit ratio {prefix_hit_ratio} over {prefix_queries} tokens although requests share prefixes",
    missing="prefix cache counters in two scrapes, and what the prompts share",
    alert="LLMLowPrefixCacheHitRate",
)
