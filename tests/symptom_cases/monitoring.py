"""Cases of the symptoms about the view itself: what is missing, stale, reset or counted oddly."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("config_conflict",
       present={"two answers": {"conflicts": 1}},
       absent={"one answer": {"conflicts": 0}},
       look_alike={"Forty facts from three sources, and all agree.": {"conflicts": 0, "config_max_num_seqs": 64}}),
    of("counter_reset",
       present={"only a restart was seen": {"resets": 1, "usable_intervals": 0}},
       absent={"no restart": {"resets": 0, "usable_intervals": 3}},
       look_alike={"One restart, and five good intervals after it.": {"resets": 1, "usable_intervals": 5}}),
    of("cpu_fields_swapped",
       present={"the CPU field moves": {"cpu_kv_usage_max": 0.3, "kv_usage_max": 0, "requests_running_max": 4}},
       absent={"both at zero": {"cpu_kv_usage_max": 0, "kv_usage_max": 0, "requests_running_max": 4}},
       look_alike={"Swapped-out blocks beside a full GPU cache are real swapping.": {"cpu_kv_usage_max": 0.2, "kv_usage_max": 0.99, "requests_running_max": 40}}),
    of("duplicate_rank_series",
       present={"copies, no counters": {"duplicate_ranks": 8}},
       absent={"one series": {"duplicate_ranks": 1}},
       look_alike={"Eight copies of the gauges, but token counters that tell the true rate.": {"duplicate_ranks": 8, "tokens_moved": 90000}}),
    of("idle",
       present={"nothing": {"requests_running_max": 0, "requests_waiting_max": 0, "tokens_moved": 0}},
       absent={"work": {"requests_running_max": 2, "requests_waiting_max": 0, "tokens_moved": 900}},
       look_alike={"No request at either scrape, but 4,000 tokens between them: short requests came and went.":
                   {"requests_running_max": 0, "requests_waiting_max": 0, "tokens_moved": 4000}}),
    of("log_incomplete",
       present={"half of the engines": {"log_rank_share": 0.5, "requests_waiting_max": 0}},
       absent={"all engines": {"log_rank_share": 1, "requests_waiting_max": 0}},
       look_alike={"Two of four engines, and those two queue: what is seen is enough to act.": {"log_rank_share": 0.5, "requests_waiting_max": 40}}),
    of("metrics_missing",
       present={"no engine series": {"engine_series": 0, "scrapes": 4}},
       absent={"series": {"engine_series": 400, "scrapes": 4}},
       look_alike={"Metrics are off on purpose, and the log prints its lines.": {"engine_series": 0, "scrapes": 4, "log_intervals": 30}}),
    of("rank_series_missing",
       present={"a multiple": {"throughput_gauge_ratio": At("times", 0.5)}},
       absent={"alike": {"throughput_gauge_ratio": At("times", -0.05)}},
       look_alike={"The counters move a third faster than a gauge that averages ten seconds.": {"throughput_gauge_ratio": 1.3}}),
    of("stale_gauge",
       present={"clients cancelled": {"stalled_seconds": At("still", 10), "requests_running_last": 5, "requests_waiting_last": 0, "aborted": 5},
                "by the log": {"stalled_seconds": At("still", 10), "requests_running_last": 5, "requests_waiting_last": 0, "log_aborted": 5}},
       absent={"a short pause": {"stalled_seconds": At("still", -1), "requests_running_last": 5, "requests_waiting_last": 0, "aborted": 5},
               "nobody cancelled": {"stalled_seconds": At("still", 60), "requests_running_last": 5, "requests_waiting_last": 0, "aborted": 0, "log_aborted": 0}},
       look_alike={"Nothing moves, but six requests wait: that is a hang, not a stale gauge.":
                   {"stalled_seconds": 90, "requests_running_last": 5, "requests_waiting_last": 6}}),
    of("unbounded_output",
       present={"one goes on": {"requests_running_max": 1, "requests_waiting_max": 0, "kv_rising": 0.2, "generation_tps": 40, "prompt_tps": 0}},
       absent={"usage is steady": {"requests_running_max": 1, "requests_waiting_max": 0, "kv_rising": 0, "generation_tps": 40, "prompt_tps": 0}},
       look_alike={"Usage rises because requests arrive: thirty of them run.":
                   {"requests_running_max": 30, "requests_waiting_max": 0, "kv_rising": 0.2, "generation_tps": 900, "prompt_tps": 4000}}),
    of("nothing_moves",
       present={"a short window": {"tokens_moved": 0, "stalled_seconds": 15, "requests_running_last": 2, "requests_waiting_last": 57}},
       absent={"tokens come": {"tokens_moved": 900, "stalled_seconds": 0, "requests_running_last": 2, "requests_waiting_last": 0}},
       look_alike={"SGLang's counters stand still until a request ends, while its throughput gauge shows work.":
                   {"tokens_moved": 0, "stalled_seconds": 0, "requests_running_last": 12, "requests_waiting_last": 0}}),
    of("slow_without_cause",
       present={"a token in five seconds": {"decode_tps_per_request": At("crawl", -0.05), "requests_waiting_max": 0, "kv_usage_max": At("roomy", -0.04)}},
       absent={"it decodes": {"decode_tps_per_request": At("crawl", 20), "requests_waiting_max": 0, "kv_usage_max": At("roomy", -0.04)},
               "a full cache": {"decode_tps_per_request": At("crawl", -0.05), "requests_waiting_max": 0, "kv_usage_max": At("roomy", 0.0001)}},
       look_alike={"24 tokens per second on a 70B model are its memory bandwidth.": {"decode_tps_per_request": 24, "requests_waiting_max": 0, "kv_usage_max": 0.02}}),
)  # fmt: skip
