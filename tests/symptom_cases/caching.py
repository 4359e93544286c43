"""Cases of the symptoms around prefix caching and cache tiers (1.2, 4.2)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("aligned_state_hits",
       present={"align mode": {"config_mamba_align": 1, "prefix_hit_ratio": At("low", -0.005)}},
       absent={"hits": {"config_mamba_align": 1, "prefix_hit_ratio": At("low", 0.1)}},
       look_alike={"The same low ratio on a model without aligned state is about the prompts.": {"config_mamba_align": 0, "prefix_hit_ratio": 0.03}}),
    of("cache_unaware_routing",
       present={"shared prefixes, few hits": {"ranks": 4, "prefix_hit_ratio_max": At("low", -0.005), "prompts_share": 1},
                "hits fall on every replica": {"ranks": 2, "prefix_hit_ratio_max": At("low", 0.01), "prompts_share": 1, "prefix_hit_fall": At("halved", -0.04)}},
       absent={"the best replica hits": {"ranks": 4, "prefix_hit_ratio_max": At("low", 0.2), "prompts_share": 1, "prefix_hit_fall": At("halved", 0.01)}},
       look_alike={"Four replicas hit 4 %, and the prompts are random: there is nothing to route by.":
                   {"ranks": 4, "prefix_hit_ratio_max": 0.04, "prompts_share": 0}}),
    of("cache_tier_too_small",
       present={"fails to store": {"log_lmcache_alloc_failed": At("often", 5)}},
       absent={"once": {"log_lmcache_alloc_failed": At("often", -0.5)}},
       look_alike={"One failed allocation in a burst, while four in ten tokens come from the tier.": {"log_lmcache_alloc_failed": 1, "lmcache_hit_ratio": 0.4}}),
    of("sharing_without_cache",
       present={"shared and off": {"config_prefix_caching": 0, "prompts_share": 1, "requests_running_max": 8},
                "by throughput": {"config_prefix_caching": 0, "prompts_share": 1, "prompt_tps": 900, "requests_running_max": 0}},
       absent={"on": {"config_prefix_caching": 1, "prompts_share": 1, "requests_running_max": 8},
               "random": {"config_prefix_caching": 0, "prompts_share": 0, "requests_running_max": 8}},
       look_alike={"The local cache is off because an external one serves the shared prefixes.":
                   {"config_prefix_caching": 0, "prompts_share": 1, "requests_running_max": 8, "config_kv_connector": 1}}),
    of("counter_mismatch",
       present={"nothing left to load": {"lmcache_negative_loads": 2, "lmcache_hit_ratio": 0.7}},
       absent={"all positive": {"lmcache_negative_loads": 0, "lmcache_hit_ratio": 0.7}},
       look_alike={"Zero tokens to load is a full local hit and needs no word.": {"lmcache_negative_loads": 0, "lmcache_requests": 9}}),
    of("external_cache_no_hits",
       present={
           "lookups without hits": {"lmcache_requests": 6, "lmcache_hit_ratio": 0},
           "the hash differs by worker": {"log_builtin_hash": 1, "config_tp": 4, "lmcache_hit_ratio": 0, "lmcache_requests": 1},
           "by the engine's counters": {"external_queries": At("floor", 50000), "external_hit_ratio": At("none", -0.001), "prompts_share": 1, "config_kv_connector": 1,
                                        "lmcache_requests": 0},
       },
       absent={"hits": {"lmcache_requests": 6, "lmcache_hit_ratio": 0.4, "external_hit_ratio": At("none", 0.3)},
               "too few tokens": {"lmcache_requests": 0, "log_builtin_hash": 0, "external_queries": At("floor", -50)}},
       look_alike={"Zero external hits on random prompts prove only that nothing repeats.":
                   {"lmcache_requests": 0, "lmcache_hit_ratio": 0.0, "external_queries": 90000, "external_hit_ratio": 0, "prompts_share": 0, "config_kv_connector": 1}}),
    of("hit_counter_not_wired",
       present={"reuse without a count": {"prefix_hit_ratio": 0, "ttft_drop_ratio": At("faster", 2)}},
       absent={"no reuse": {"prefix_hit_ratio": 0, "ttft_drop_ratio": At("faster", -0.4)}},
       look_alike={"The first request was slow to warm up, and the counter counts: 40 % hits.": {"prefix_hit_ratio": 0.4, "ttft_drop_ratio": 6}}),
    of("hybrid_large_block",
       present={"a padded block": {"config_kv_block_size": At("large", 272)}},
       absent={"an ordinary block": {"config_kv_block_size": At("large", -16)}},
       look_alike={"128 tokens is the default block on CPUs.": {"config_kv_block_size": 128}}),
    of("low_prefix_hit_rate",
       present={"a broken match": {"prefix_hit_ratio": At("low", -0.0005), "prefix_queries": At("floor", 50000), "prompts_share": 1}},
       absent={"hits": {"prefix_hit_ratio": At("low", 0.3), "prefix_queries": At("floor", 50000), "prompts_share": 1}},
       look_alike={
           "0 % on random prompts is what random means.": {"prefix_hit_ratio": 0, "prefix_queries": 500000, "prompts_share": 0},
           "The shared tier serves what the local cache does not: 80 % external hits.":
               {"prefix_hit_ratio": 0.01, "prefix_queries": 500000, "prompts_share": 1, "external_hit_ratio": 0.8},
       }),
    of("prefix_below_block_size",
       present={
           "shorter than a block": {"prefix_hit_ratio": 0, "prefix_queries": At("floor", 5000), "prefix_over_block": 0.4},
           "large blocks": {"prefix_hit_ratio": 0, "prefix_queries": At("floor", 5000), "config_kv_block_size": At("large", 272)},
       },
       absent={"some hits": {"prefix_hit_ratio": 0.01, "prefix_queries": At("floor", 5000), "prefix_over_block": 0.4},
               "a long prefix": {"prefix_hit_ratio": 0, "prefix_queries": At("floor", 5000), "prefix_over_block": 3}},
       look_alike={"Blocks of 16 tokens and a prefix of 2,000: zero hits here are a fault of the match.":
                   {"prefix_hit_ratio": 0, "prefix_queries": 80000, "prefix_over_block": 125, "config_kv_block_size": 16}}),
    of("prefix_caching_off",
       present={"off": {"config_prefix_switched_off": 1}},
       absent={"on": {"config_prefix_switched_off": 0}},
       look_alike={"Off, and the prompts are known to share nothing.": {"config_prefix_switched_off": 1, "prompts_share": 0},
                   "Off on a decode worker, which never sees a prompt.": {"config_prefix_switched_off": 1, "config_decode_role": 1}}),
    of("prefix_hits_inflated",
       present={"hits on random prompts": {"preemptions": 40, "prefix_hit_ratio": At("some", 0.0005), "prompts_share": 0}},
       absent={"no preemption": {"preemptions": 0, "prefix_hit_ratio": At("some", 0.3), "prompts_share": 0}},
       look_alike={"The same hit ratio on prompts that share a system prompt is earned.": {"preemptions": 40, "prefix_hit_ratio": 0.3, "prompts_share": 1}}),
    of("ratio_aggregation",
       present={"two kinds of mean": {"router_worker_hit_gap": At("gap", 0.2)}},
       absent={"they agree": {"router_worker_hit_gap": At("gap", -0.005)}},
       look_alike={"The worker hits less than the router says: that is not an effect of averaging.": {"router_worker_hit_gap": -0.3}}),
    of("windowed_hit_rate",
       present={"apart": {"hit_log_gap": At("gap", 0.2)}},
       absent={"together": {"hit_log_gap": At("gap", -0.01)}},
       look_alike={"Eight points between a moving window and the counters is the window moving.": {"hit_log_gap": 0.08}}),
)  # fmt: skip
