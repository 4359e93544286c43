"""Cases of the symptoms around prefill, latency and the front end (1.1)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("chunk_budget_too_small",
       present={"many chunks, late first tokens": {"config_chunk_budget": At("small", -16), "prompt_over_budget": At("times", 4), "ttft_mean": At("late", 1),
                                                   "itl_stall_share": At("calm", -0.00000001)}},
       absent={"a large budget": {"config_chunk_budget": At("small", 512), "prompt_over_budget": At("times", 4), "ttft_mean": At("late", 1), "itl_stall_share": At("calm", -0.00000001)},
               "gaps near the limit": {"config_chunk_budget": At("small", -16), "prompt_over_budget": At("times", 4), "ttft_mean": At("late", 1), "itl_stall_share": At("calm", 0.02)}},
       look_alike={"A budget of 512 with prompts of 300 tokens is one chunk each.":
                   {"config_chunk_budget": 512, "prompt_over_budget": 0.6, "ttft_mean": 0.2, "itl_stall_share": 0},
                   "A budget of -1 switches chunking off, it is not a small one.":
                   {"config_chunk_budget": -1, "prompt_over_budget": 40, "ttft_mean": 3, "itl_stall_share": 0}}),
    of("chunked_prefill_disabled",
       present={"off": {"config_chunked_switched_off": 1}},
       absent={"on": {"config_chunked_switched_off": 0}},
       look_alike={"A decode worker computes no prompts, so its chunking is off for good reason.": {"config_chunked_switched_off": 1, "config_decode_role": 1}}),
    of("decode_bound",
       present={"follows the batch": {"itl_follows_batch": At("lead", 0.05)}},
       absent={"does not": {"itl_follows_batch": At("lead", -0.2)}},
       look_alike={"The batch is large, but the gaps follow the prefills.": {"itl_follows_batch": 0.1, "itl_follows_prefill": 0.85, "requests_running": 200}}),
    of("frontend_bound",
       present={
           "half of the offer is served": {"offered_over_served": At("times", 1)},
           "in flight at the client only": {"client_over_server": At("times", 1), "client_concurrency": 64, "requests_waiting": 0},
           "late outside the engine": {"ttft_unexplained": At("late", 1), "queue_share_of_ttft": At("share", -0.005), "requests_waiting": 0, "client_concurrency": 1},
       },
       absent={"explained by the queue": {"offered_over_served": At("times", -0.05), "client_over_server": At("times", -0.05), "ttft_unexplained": At("late", 1),
                                          "queue_share_of_ttft": At("share", 0.3)},
               "preemptions explain it": {"offered_over_served": At("times", 9), "preemptions": 200}},
       look_alike={"TTFT of 9 s is bad, but 8.7 s of it are the queue: no front end is to blame.":
                   {"ttft_unexplained": 0.1, "queue_share_of_ttft": 0.97, "client_over_server": 1.1, "offered_over_served": 1.0, "client_concurrency": 32}}),
    of("high_itl",
       present={"slow": {"itl_p99": At("slow", 0.1)}},
       absent={"fast": {"itl_p99": At("slow", -0.004)}},
       look_alike={"A single gap of 0.9 s in 20,000 does not reach the p99.": {"itl_p99": 0.06, "itl_mean": 0.03, "itl_stall_share": 0.00005}}),
    of("high_ttft",
       present={"late": {"ttft_p99": At("late", 2)}},
       absent={"soon": {"ttft_p99": At("late", -0.04)}},
       look_alike={"4 s to the first token of a 100k prompt is the speed of prefill.": {"ttft_p99": 4.0, "prompt_len_mean": 100000}}),
    of("long_prefill_stall",
       present={
           "gaps above 0.3 s": {"itl_stall_share": At("share", 0.005)},
           "a tail without chunking": {"itl_stall_share": At("share", -0.0004), "itl_tail_ratio": At("tail", 5), "itl_p99": At("gap", 0.1), "prefix_queries": 0,
                                       "config_chunked_prefill": 0},
           "decode collapses while prefilling": {"prefill_stall_ratio": At("collapse", -0.005)},
           "prefills back to back": {"itl_hiccup_share": At("hiccups", 0.01), "consecutive_prefills": 6, "itl_stall_share": At("share", -0.0004)},
       },
       absent={
           "no tail": {"itl_stall_share": At("share", -0.0004), "itl_tail_ratio": At("tail", -1), "prefill_stall_ratio": At("collapse", 0.5),
                       "itl_hiccup_share": At("hiccups", -0.0005)},
           "preemptions make the gaps": {"itl_stall_share": At("share", 0.1), "itl_follows_preemptions": 0.8},
       },
       look_alike={
           "p99 is 25 times p50, but 4 ms over 0.16 ms is nothing that a reader sees.":
               {"itl_stall_share": 0, "itl_tail_ratio": 25, "itl_p99": 0.004, "config_chunked_prefill": 0, "prefix_queries": 1000, "itl_hiccup_share": 0},
           "TTFT of 3 s comes from long prompts; no running request was held up for it.":
               {"itl_stall_share": 0.0001, "itl_tail_ratio": 4, "itl_p99": 0.05, "ttft_mean": 3.0, "itl_hiccup_share": 0.001},
       }),
    of("prefill_bound",
       present={"saturated": {"prefill_saturated": 1, "kv_usage_max": At("full", -0.01)}},
       absent={"not flat": {"prefill_saturated": 0, "kv_usage_max": At("full", -0.01)}, "the pool is full": {"prefill_saturated": 1, "kv_usage_max": At("full", 0.01)}},
       look_alike={"Prompt throughput is high and steady, and decode keeps its speed beside it.":
                   {"prefill_saturated": 0, "kv_usage_max": 0.7, "prompt_tps": 40000, "requests_waiting": 6}}),
    of("prefill_interference",
       present={"follows prefill": {"itl_follows_prefill": At("lead", 0.05), "itl_stall_share": At("share", 0.01)}},
       absent={"follows something else": {"itl_follows_prefill": At("lead", -0.2), "itl_stall_share": At("share", 0.01)}},
       look_alike={"The gaps follow prefill closely, but they go from 9 to 14 ms: nobody waits.":
                   {"itl_follows_prefill": 0.95, "itl_stall_share": 0.0002}}),
    of("offload_load_bound",
       present={
           "waiting for a load": {"waiting_kv_fetch": At("queue", 1), "config_kv_connector": 1},
           "deferred beside a tier": {"waiting_deferred": At("queue", 1), "config_kv_connector": 1, "waiting_kv_fetch": At("queue", -0.1)},
       },
       absent={"none": {"waiting_kv_fetch": At("queue", -0.1), "waiting_deferred": At("queue", -0.1), "config_kv_connector": 1},
               "a P/D transfer": {"waiting_kv_fetch": At("queue", 9), "config_kv_connector": 1, "config_disaggregated": 1}},
       look_alike={"Requests are deferred for an adapter slot, the tier beside it is innocent.":
                   {"waiting_kv_fetch": 0, "waiting_deferred": 7, "lora_slots": 1, "config_kv_connector": 1, "config_lora": 1}}),
)  # fmt: skip
