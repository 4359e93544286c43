"""Cases of the symptoms around prefill/decode disaggregation (3.3)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

_QUIET = {"pd_bootstrap_queue": At("queue", -0.5), "pd_inflight_queue": At("queue", -0.5), "pd_transfer_queue": At("queue", -0.5),
          "waiting_kv_fetch": At("queue", -0.5), "transfer_failures": At("failures", -0.5)}  # fmt: skip

CASES = (
    of("decode_pool_full",
       present={"finished prefills wait": {"pd_prealloc_queue": At("queue", 30)}},
       absent={"few wait": {"pd_prealloc_queue": At("queue", -0.5)}},
       look_alike={"A dozen between the pools is one scheduling step's hand-over.": {"pd_prealloc_queue": 12, "kv_usage_max": 0.7}}),
    of("kv_transfer_bound",
       present={
           "bootstrap": {**_QUIET, "pd_bootstrap_queue": At("queue", 10)},
           "in flight": {**_QUIET, "pd_inflight_queue": At("queue", 10)},
           "arrival": {**_QUIET, "pd_transfer_queue": At("queue", 10)},
           "fetch": {**_QUIET, "waiting_kv_fetch": At("queue", 10), "config_disaggregated": 1},
           "failures": {**_QUIET, "transfer_failures": At("failures", 10)},
       },
       absent={"all short": _QUIET},
       look_alike={"300 requests wait in the usual queue; between the pools there are two.":
                   {"pd_bootstrap_queue": 1, "pd_inflight_queue": 1, "pd_transfer_queue": 0, "waiting_kv_fetch": 0, "transfer_failures": 0, "requests_waiting": 300},
                   "Requests fetch from an offload tier on one engine: there is no second pool.":
                   {"pd_bootstrap_queue": 0, "pd_inflight_queue": 0, "pd_transfer_queue": 0, "waiting_kv_fetch": 40, "config_disaggregated": 0, "transfer_failures": 0}}),
    of("pd_prefix_duplicated",
       present={"every prefix again": {"config_decode_role": 1, "kv_usage_max": At("full", 0.01), "external_hit_ratio": At("high", 0.005), "prefix_hit_ratio": At("low", -0.0001)}},
       absent={"reused": {"config_decode_role": 1, "kv_usage_max": At("full", 0.01), "external_hit_ratio": At("high", 0.05), "prefix_hit_ratio": At("low", 0.4)}},
       look_alike={"No local hits on a decode worker are normal while its pool is half empty.":
                   {"config_decode_role": 1, "kv_usage_max": 0.45, "external_hit_ratio": 1.0, "prefix_hit_ratio": 0}}),
    of("prefill_pool_short",
       present={"prefill is flat out": {"prefill_saturated": 1, "config_prefill_role": 1}},
       absent={"room": {"prefill_saturated": 0, "config_prefill_role": 1}},
       look_alike={"Flat prompt throughput on an engine that does both is another matter.": {"prefill_saturated": 1, "config_prefill_role": 0}}),
    of("transfers_in_flight",
       present={"KV on its way": {"config_decode_role": 1, "waiting_deferred": 6, "waiting_capacity": 0, "kv_usage_max": At("roomy", -0.05)}},
       absent={"the pool is full": {"config_decode_role": 1, "waiting_deferred": 6, "waiting_capacity": 0, "kv_usage_max": At("roomy", 0.1)}},
       look_alike={"Deferred on an engine of its own: nothing is being sent there.":
                   {"config_decode_role": 0, "waiting_deferred": 6, "waiting_capacity": 0, "kv_usage_max": 0.3}}),
    of("short_prompts_pd",
       present={"short": {"config_disaggregated": 1, "prompt_len_mean": At("short", -10)}},
       absent={"long": {"config_disaggregated": 1, "prompt_len_mean": At("short", 4000)}},
       look_alike={"Short prompts on an aggregated engine have nothing to transfer.": {"config_disaggregated": 0, "prompt_len_mean": 180}}),
    of("transfer_fragmented",
       present={"tiny pieces": {"transfer_descriptors_mean": At("many", 5000), "bytes_per_descriptor": At("small", -100)}},
       absent={"few": {"transfer_descriptors_mean": At("many", -5), "bytes_per_descriptor": At("small", -100)}},
       look_alike={"20,000 descriptors of 2 MB each are a large transfer in good pieces.": {"transfer_descriptors_mean": 20000, "bytes_per_descriptor": 2e6}}),
)  # fmt: skip
