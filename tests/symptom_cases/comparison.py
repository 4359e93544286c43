"""Cases of the A/B symptoms."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("ab_cache_tier",
       present={"the run with the tier is faster": {"ab_4_2_gain": At("margin", 0.2), "ab_4_2_off_wins": 0}},
       absent={"within noise": {"ab_4_2_gain": At("margin", -0.01), "ab_4_2_off_wins": 0}},
       look_alike={"A gap of 40 % is large, but it is the run without the tier that wins.":
                   {"ab_4_2_gain": 0.4, "ab_4_2_off_wins": 1}}),
    of("ab_capacity",
       present={"another cap is faster": {"ab_2_1_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_2_1_gain": At("margin", -0.01)}},
       look_alike={"Twice the cap moved throughput by 3 %: the cap was not the limit, and noise is as large.":
                   {"ab_2_1_gain": 0.03, "ab_runs": 2, "requests_running_max": 256}}),
    of("ab_chunking",
       present={"another budget is faster": {"ab_1_1_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_1_1_gain": At("margin", -0.01)}},
       look_alike={"A budget four times as large gained 4 %: the default is good enough.":
                   {"ab_1_1_gain": 0.04, "config_chunk_budget": 8192}}),
    of("ab_disaggregation",
       present={"one layout is faster": {"ab_3_3_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_3_3_gain": At("margin", -0.01)}},
       look_alike={"Both layouts are within 2 %: disaggregation was tried and is neither cause nor cure.":
                   {"ab_3_3_gain": 0.02, "config_disaggregated": 1}}),
    of("ab_graphs",
       present={"one capture setting is faster": {"ab_2_2_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_2_2_gain": At("margin", -0.01)}},
       look_alike={"Eager against graphs differ by 1 %: steps are so long that launches do not count.":
                   {"ab_2_2_gain": 0.01, "config_enforce_eager": 1}}),
    of("ab_no_difference",
       present={"nothing moved": {"ab_best_gain": At("same", -0.004)}},
       absent={"something moved": {"ab_best_gain": At("same", 0.05)}},
       look_alike={"12 % looks small beside a chart that starts at zero, but it is far outside the noise.":
                   {"ab_best_gain": 0.12, "ab_runs": 2}}),
    of("ab_parallelism",
       present={"one layout is faster": {"ab_3_1_gain": At("margin", 0.2)}},
       absent={"within noise": {"ab_3_1_gain": At("margin", -0.01)}},
       look_alike={"Two ranks against four differ by 2 % per GPU: both layouts are fine.": {"ab_3_1_gain": 0.02, "config_tp": 4}}),
    of("ab_prefix_caching",
       present={"caching on is faster": {"ab_1_2_gain": At("margin", 0.2)}},
       absent={"within noise": {"ab_1_2_gain": At("margin", -0.01)}},
       look_alike={"Random prompts share nothing, so caching on and off are equal within 3 %.":
                   {"ab_1_2_gain": 0.03, "prompts_share": 0}}),
    of("backend_override",
       present={
           "the forced backend was never measured": {"config_attention_explicit": 1, "ab_unmeasured": 1},
           "one of two runs has no figures": {"ab_unmeasured": 1, "ab_runs": 2, "config_attention_explicit": 0},
       },
       absent={
           "both runs were measured": {"config_attention_explicit": 1, "ab_unmeasured": 0, "ab_runs": 2},
           "two of three were compared": {"config_attention_explicit": 0, "ab_unmeasured": 1, "ab_runs": 3, "ab_best_gain": 0.2},
       },
       look_alike={"A forced backend is fine where both backends were measured side by side.":
                   {"config_attention_explicit": 1, "ab_unmeasured": 0, "ab_best_gain": 0.08, "ab_runs": 2}}),
    of("offload_slower_than_recompute",
       present={"without the tier it is faster": {"ab_4_2_gain": At("margin", 0.2), "ab_4_2_off_wins": 1}},
       absent={"within noise": {"ab_4_2_gain": At("margin", -0.01), "ab_4_2_off_wins": 1}},
       look_alike={"Loading took 9 s in the log, yet the run with the tier is the faster one.":
                   {"ab_4_2_gain": 0.25, "ab_4_2_off_wins": 0}}),
    of("quantization_gains",
       present={"the low precision wins": {"ab_2_3_gain": At("margin", 0.2), "ab_2_3_off_wins": 0}},
       absent={"within noise": {"ab_2_3_gain": At("margin", -0.01), "ab_2_3_off_wins": 0}},
       look_alike={"FP8 halves the weights, but here the unquantized run is faster.": {"ab_2_3_gain": 0.3, "ab_2_3_off_wins": 1}}),
    of("quantization_slower",
       present={"the full precision wins": {"ab_2_3_gain": At("margin", 0.2), "ab_2_3_off_wins": 1}},
       absent={"within noise": {"ab_2_3_gain": At("margin", -0.01), "ab_2_3_off_wins": 1}},
       look_alike={"INT4 is 2 % slower, which is noise, and it makes room for the cache.": {"ab_2_3_gain": 0.02, "ab_2_3_off_wins": 1}}),
    of("regression_after_upgrade",
       present={"the old version is faster": {"ab_version_gain": At("margin", 0.2), "ab_version_newer_wins": 0}},
       absent={"within noise": {"ab_version_gain": At("margin", -0.01), "ab_version_newer_wins": 0}},
       look_alike={"The first run after an upgrade was 4 % slower while caches were cold: within noise.": {"ab_version_gain": 0.04, "ab_version_newer_wins": 0},
                   "The versions are 30 % apart, and the newer one is the faster.": {"ab_version_gain": 0.3, "ab_version_newer_wins": 1}}),
    of("ab_adapters",
       present={"one setting is faster": {"ab_4_1_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_4_1_gain": At("margin", -0.01)}},
       look_alike={"Eight slots against four differ by 2 %: four adapters were in use.": {"ab_4_1_gain": 0.02, "lora_overflow_max": 1}}),
    of("ab_not_isolated",
       present={"several at once": {"ab_mixed": 1}},
       absent={"one": {"ab_mixed": 0}},
       look_alike={"Three runs of which two differ in one thing only: that pair is clean.": {"ab_mixed": 0, "ab_runs": 3, "ab_2_2_gain": 0.2}}),
    of("derived_kv_size",
       present={"another number, the same memory": {"ab_kv_size_only": 1}},
       absent={"no": {"ab_kv_size_only": 0}},
       look_alike={"Half the tokens and half the memory: that cache did shrink.": {"ab_kv_size_only": 0, "ab_best_gain": 1.0}}),
    of("pd_ratio_insensitive",
       present={"nothing moved": {"ab_3_3_gain": At("same", -0.004)}},
       absent={"it moved": {"ab_3_3_gain": At("same", 0.1)}},
       look_alike={"Six prefill workers instead of four gained 15 %: prefill was short.": {"ab_3_3_gain": 0.15}}),
    of("speculation_crosses",
       present={"wins alone, loses in company": {"ab_3_2_crossover": 1}},
       absent={"one side wins throughout": {"ab_3_2_crossover": 0}},
       look_alike={"The gain shrinks from 80 % to 10 % with concurrency, and stays a gain.": {"ab_3_2_crossover": 0, "ab_3_2_gain": 0.8, "ab_3_2_off_wins": 0}}),
    of("slow_attention_backend",
       present={"another backend wins": {"ab_1_3_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_1_3_gain": At("margin", -0.01)}},
       look_alike={"The log warns about a fallback, but side by side the backends are 2 % apart.":
                   {"ab_1_3_gain": 0.02, "log_attention_fallback": 1}}),
    of("speculation_loses",
       present={"off is faster": {"ab_3_2_off_wins": 1, "ab_3_2_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_3_2_off_wins": 1, "ab_3_2_gain": At("margin", -0.01)}},
       look_alike={"40 % acceptance reads badly, but the speculative run is 35 % faster at this load.":
                   {"ab_3_2_off_wins": 0, "ab_3_2_gain": 0.35, "spec_acceptance": 0.4}}),
    of("speculation_wins",
       present={"on is faster": {"ab_3_2_off_wins": 0, "ab_3_2_gain": At("margin", 0.1)}},
       absent={"within noise": {"ab_3_2_off_wins": 0, "ab_3_2_gain": At("margin", -0.01)}},
       look_alike={"80 % acceptance reads well, but the plain run is faster: steps were short already.":
                   {"ab_3_2_off_wins": 1, "ab_3_2_gain": 0.12, "spec_acceptance": 0.8}}),
    of("lora_kernel_overhead",
       present={"adapters cost, slots suffice": {"ab_workload_gain": 0.4, "lora_overflow_max": 1}},
       absent={"no gap": {"ab_workload_gain": 0, "lora_overflow_max": 1}},
       look_alike={"The same slowdown, but eight adapters share four slots: this one is churn, not the kernel.":
                   {"ab_workload_gain": 0.4, "lora_overflow_max": 2}}),
)  # fmt: skip
