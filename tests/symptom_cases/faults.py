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
    of("engine_hung",
       present={
           "nothing runs, nine wait": {"requests_waiting_last": 9, "requests_running_last": 0, "stalled_seconds": At("stall", 5)},
           "nothing comes out": {"requests_waiting_last": 9, "requests_running_last": 3, "generation_tps": 0, "stalled_seconds": At("stall_busy", 5)},
       },
       absent={"tokens come": {"requests_waiting_last": 9, "requests_running_last": 3, "generation_tps": 80, "stalled_seconds": 0},
               "nobody waits": {"requests_waiting_last": 0, "requests_running_last": 0, "stalled_seconds": At("stall", 60), "generation_tps": 0}},
       look_alike={
           "Nothing moved for 12 s while one prompt of 200k tokens is computed.":
               {"requests_waiting_last": 2, "requests_running_last": 1, "generation_tps": 0, "stalled_seconds": 12},
           "The engine was put to sleep with requests in its queue.":
               {"requests_waiting_last": 4, "requests_running_last": 0, "stalled_seconds": 90, "awake": 0},
       }),
    of("wrong_metric",
       present={"below zero": {"generation_tps_min": -12.5}},
       absent={"above": {"generation_tps_min": 3}},
       look_alike={"Exactly zero between two bursts is a pause.": {"generation_tps_min": 0}}),
)  # fmt: skip
