"""Cases of engine faults."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("corrupted_output",
       present={"NaN in the logits": {"corrupted": 1}},
       absent={"none": {"corrupted": 0}},
       look_alike={"Requests were cut by their length limit: short, not corrupted.": {"corrupted": 0, "length_share": 1.0}}),
    of("engine_dead",
       present={"the core died": {"log_engine_dead": 1}},
       absent={"it lives": {"log_engine_dead": 0}},
       look_alike={"The core died of memory: that has a setting, and its own symptom.": {"log_engine_dead": 1, "log_oom_cuda": 1},
                   "The core refused to start because one request does not fit.": {"log_engine_dead": 2, "log_kv_too_small": 1}}),
    of("host_memory_leak",
       present={"grows": {"host_memory_growth": At("grown", 1e9), "host_memory_ratio": At("times", 0.2)}},
       absent={"steady": {"host_memory_growth": At("grown", -1e5), "host_memory_ratio": At("times", -0.04)}},
       look_alike={"A process of 200 GB took 6 GB more for pinned buffers: three percent, and then no more.":
                   {"host_memory_growth": 6.4e9, "host_memory_ratio": 1.03}}),
    of("spec_draft_broken",
       present={
           "not one of many": {"spec_acceptance": 0, "spec_drafted": At("floor", 9000), "config_spec_lookup": 0, "spec_accept_length_peak": 1.2},
           "one token per step, always": {"spec_acceptance": 0, "spec_accept_length_peak": 1.0, "config_spec_lookup": 0, "spec_drafted": At("floor", -0.5)},
       },
       absent={"some": {"spec_acceptance": 0.01, "spec_drafted": At("floor", 9000), "config_spec_lookup": 0, "spec_accept_length_peak": 1.2}},
       look_alike={"An n-gram lookup found nothing to copy in random text: that is the text, not a fault.":
                   {"spec_acceptance": 0, "spec_drafted": 20000, "config_spec_lookup": 1, "spec_accept_length_peak": 1.0}}),
    of("rank_stalled",
       present={"one of eight": {"stalled_ranks": 1, "requests_running_max": 40}},
       absent={"all work": {"stalled_ranks": 0, "requests_running_max": 40}},
       look_alike={"A rank without requests produces nothing and is not stalled.": {"stalled_ranks": 0, "requests_running_max": 12, "ranks": 8}}),
    of("engine_hung",
       present={
           "nothing runs, nine wait": {"requests_waiting_last": 9, "requests_running_last": 0, "stalled_seconds": At("stall", 5)},
           "nothing comes out": {"requests_waiting_last": 9, "requests_running_last": 3, "generation_tps": 0, "stalled_seconds": At("stall_busy", 5)},
           "running, and no step": {"requests_waiting_last": 0, "requests_running_last": 2, "stalled_seconds": At("stall_running", 5)},
           "running, and the cache stands still": {"requests_waiting_last": 0, "requests_running_last": 2, "stalled_seconds": At("stall_running", 5),
                                                   "kv_moved_in_stall": At("still_kv", -0.0000001)},
           "a spinning scheduler": {"requests_waiting_last": 0, "requests_running_last": 1, "gpu_utilization_max": At("idle_gpu", -0.001), "worker_cpu": At("busy_cpu", 0.05),
                                    "stalled_seconds": At("stall_running", -9)},
       },
       absent={"tokens come": {"requests_waiting_last": 9, "requests_running_last": 3, "generation_tps": 80, "stalled_seconds": (At("stall", -99), At("stall_running", -1000)),
                               "gpu_utilization_max": At("idle_gpu", 0.4)},
               "nobody is there": {"requests_waiting_last": 0, "requests_running_last": 0, "stalled_seconds": At("stall", 60), "generation_tps": 0}},
       look_alike={
           "Nothing moved for 12 s while one prompt of 200k tokens is computed.":
               {"requests_waiting_last": 2, "requests_running_last": 1, "generation_tps": 0, "stalled_seconds": 12, "gpu_utilization_max": 0.98, "worker_cpu": 1.0},
           "Gauges stand since the clients cancelled: no request is left, no step follows.":
               {"requests_waiting_last": 0, "requests_running_last": 5, "stalled_seconds": 120, "aborted": 5, "gpu_utilization_max": 0.0, "worker_cpu": 0.02},
           "The engine was put to sleep with requests in its queue.":
               {"requests_waiting_last": 4, "requests_running_last": 0, "stalled_seconds": 90, "awake": 0},
       }),
    of("wrong_metric",
       present={"below zero": {"generation_tps_min": -12.5}},
       absent={"above": {"generation_tps_min": 3}},
       look_alike={"Exactly zero between two bursts is a pause.": {"generation_tps_min": 0}}),
)  # fmt: skip
