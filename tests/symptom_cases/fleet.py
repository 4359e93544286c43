"""Cases of the symptoms across replicas, routers, adapters and scaling (4.1 to 4.3)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("adapter_churn",
       present={
           "deferred for a slot": {"waiting_deferred": At("deferred", 2), "lora_slots": 1, "log_lora_load": At("loads", -1)},
           "the run that overflows is slower": {"lora_overflow_max": 2, "lora_overflow_min": 1, "ab_workload_gain": At("slower", 0.5)},
           "the pool is full": {"lora_pool_usage": At("full", 0.005), "requests_waiting": 8, "kv_usage_max": At("roomy", -0.05)},
           "loads while serving": {"log_lora_load": At("loads", 40)},
           "deferred beside a full batch with KV room": {"waiting_deferred": At("deferred", 2), "config_lora": 1, "waiting_capacity": At("capacity", 5),
                                                         "kv_usage_max": At("roomy", -0.05)},
           "deferred while the cache is full of others": {"waiting_deferred": At("deferred", 2), "config_lora": 1, "waiting_capacity": At("capacity", -0.05),
                                                          "kv_usage_max": At("roomy", 0.05)},
       },
       absent={"they fit": {"waiting_deferred": At("deferred", -0.05), "lora_overflow_max": 1, "lora_pool_usage": At("full", -0.3), "log_lora_load": At("loads", -1), "lora_overflow": 1}},
       look_alike={
           "Requests are deferred for a grammar to compile; there are no adapters.":
               {"waiting_deferred": 4, "lora_slots": 0, "config_lora": 0, "lora_overflow_max": 0, "lora_pool_usage": 0, "log_lora_load": 0},
           "Four adapters were loaded once each, and all of them fit.":
               {"waiting_deferred": 0, "lora_slots": 4, "lora_overflow_max": 1.0, "lora_pool_usage": 1.0, "requests_waiting": 0, "log_lora_load": 4},
       }),
    of("autoscaler_asleep",
       present={"scaled, and a queue": {"config_autoscaled": 1, "requests_waiting": At("queue", 10)}},
       absent={"no queue": {"config_autoscaled": 1, "requests_waiting": At("queue", -0.5)}},
       look_alike={"A nightly batch of 900 queues behind an autoscaler: nobody waits for it.":
                   {"config_autoscaled": 1, "requests_waiting": 900, "client_offline": 1}}),
    of("fleet_saturated",
       present={"all full, all queue": {"ranks": 4, "waiting_rank_spread": At("even", 0.05), "waiting_rank_max": At("queue", 10), "kv_rank_min": At("busy", 0.05)}},
       absent={"one has room": {"ranks": 4, "waiting_rank_spread": At("even", 0.05), "waiting_rank_max": At("queue", 10), "kv_rank_min": At("busy", -0.2)}},
       look_alike={"Every replica queues because a benchmark keeps 2,000 in flight: no user waits.":
                   {"ranks": 4, "waiting_rank_spread": 0.9, "waiting_rank_max": 300, "kv_rank_min": 0.97, "client_closed_loop": 1}}),
    of("load_signal_conflict",
       present={"two views": {"load_view_ratio": At("apart", 5), "worker_block_usage": At("busy", 0.05)}},
       absent={"one view": {"load_view_ratio": At("apart", -0.1), "worker_block_usage": At("busy", 0.05)}},
       look_alike={"The router sees a quarter of the blocks of a worker that is nearly empty: rounding of small numbers.":
                   {"load_view_ratio": 4.0, "worker_block_usage": 0.04}}),
    of("replica_imbalance",
       present={"one queues": {"ranks": 4, "waiting_rank_max": At("queue", 20), "waiting_rank_spread": At("uneven", -0.005)}},
       absent={"all queue": {"ranks": 4, "waiting_rank_max": At("queue", 20), "waiting_rank_spread": At("uneven", 0.3)}},
       look_alike={"One waits on one replica and none on the other: a spread of zero, and no queue.":
                   {"ranks": 2, "waiting_rank_max": 1, "waiting_rank_spread": 0.0}}),
    of("replica_outlier",
       present={"one is odd": {"outlier_replicas": 1, "ranks": 5}},
       absent={"none": {"outlier_replicas": 0, "ranks": 5}},
       look_alike={"KV usage is 30 points apart between replicas that route by prefix; none is odd among them.":
                   {"outlier_replicas": 0, "ranks": 5, "kv_rank_spread": 0.3}}),
    of("router_blind",
       present={"the log says so": {"log_kv_events_misconfigured": 1}, "every score is zero": {"router_scores": At("seen", 8), "router_score_max": 0, "log_kv_events_misconfigured": 0}},
       absent={"it sees": {"router_scores": At("seen", 8), "router_score_max": 3, "log_kv_events_misconfigured": 0}},
       look_alike={"Two zero scores are the first two requests after a start.": {"router_scores": 2, "router_score_max": 0, "log_kv_events_misconfigured": 0}}),
    of("router_queue",
       present={"held back": {"router_queue": At("queue", 20), "waiting_rank_max": 0, "kv_rank_spread": 0.2}},
       absent={"short": {"router_queue": At("queue", -0.5), "waiting_rank_max": 0, "kv_rank_spread": 0.2}},
       look_alike={"The router queues because the engines do: 40 wait in each of them.": {"router_queue": 60, "waiting_rank_max": 40, "kv_rank_spread": 0.05}}),
    of("scaled_on_utilization",
       present={"by utilization": {"config_scales_on_utilization": 1}},
       absent={"by queue depth": {"config_scales_on_utilization": 0}},
       look_alike={"Utilization stands at 98 %, but the autoscaler watches waiting requests.": {"config_scales_on_utilization": 0, "gpu_utilization_max": 0.98}}),
)  # fmt: skip
