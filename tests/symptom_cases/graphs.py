"""Cases of the symptoms around CUDA graphs and attention backends (1.3, 2.2)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("attention_fallback",
       present={"the log names it": {"log_attention_fallback": 1}},
       absent={"it does not": {"log_attention_fallback": 0}},
       look_alike={"On a CPU the engine says that it falls back to the CPU backend: there is no other.": {"log_attention_fallback": 1, "config_cpu": 1}}),
    of("capture_out_of_memory",
       present={"failed in capture": {"oom_in_capture": 1}},
       absent={"no": {"oom_in_capture": 0}},
       look_alike={"Out of memory while serving, long after the graphs were captured.": {"oom_in_capture": 0, "log_oom_cuda": 1}}),
    of("graph_coverage_gap",
       present={
           "most steps eager": {"graph_share": At("covered", -0.01), "requests_running_max": 40},
           "a cliff above the captured batch": {"graph_cliff_ratio": At("cliff", -0.01), "running_over_graph_max": 1.5, "graph_share": At("covered", 0.4)},
       },
       absent={"covered": {"graph_share": At("covered", 0.3), "running_over_graph_max": 0.5, "requests_running_max": 40},
               "eager on purpose": {"graph_share": At("covered", -0.05), "requests_running_max": 40, "config_enforce_eager": 1}},
       look_alike={
           "The batch is 1.4 times the largest graph and loses nothing: steps that large are compute bound.":
               {"graph_share": 0.6, "running_over_graph_max": 1.4, "graph_cliff_ratio": 0.98, "requests_running_max": 700},
           "No step used a graph, because nothing ran.": {"graph_share": 0.0, "requests_running_max": 0, "running_over_graph_max": 0},
       }),
    of("graph_memory_high",
       present={"beside the cache": {"graph_over_kv": At("large", 0.1), "graph_over_left": At("left", -0.05)},
                "beside what is left": {"graph_over_left": At("left", 0.5), "graph_over_kv": At("large", -0.04)}},
       absent={"small": {"graph_over_kv": At("large", -0.04), "graph_over_left": At("left", -0.05)}},
       look_alike={"4 GB of graphs look large, but the KV cache beside them has 60 GB.": {"graph_over_kv": 0.07, "graph_over_left": 0.4, "graph_bytes": 4e9}}),
    of("graph_memory_underestimated",
       present={"far off": {"graph_estimate_error": At("error", 0.5)}},
       absent={"close": {"graph_estimate_error": At("error", -0.05)}},
       look_alike={"The estimate was 40 % too high: that costs some KV room and no stability.": {"graph_estimate_error": 0.6}}),
    of("graph_mode_downgraded",
       present={"downgraded": {"log_graph_mode_downgraded": 1}},
       absent={"not": {"log_graph_mode_downgraded": 0}},
       look_alike={"A CPU has no CUDA graphs to downgrade.": {"log_graph_mode_downgraded": 1, "config_cpu": 1}}),
    of("graph_pool_growth",
       present={"graph memory grows": {"graph_growth": At("grown", 5e8)}, "reserved drifts from allocated": {"reserved_gap_growth": At("grown", 5e8)}},
       absent={"steady": {"graph_growth": At("grown", -1e6), "reserved_gap_growth": At("grown", -1e6)}},
       look_alike={"Reserved memory grew by 2 GB with fragments of one long prompt; the graph pool itself stands.":
                   {"graph_growth": 0, "reserved_gap_growth": 2e9}}),
    of("graphs_disabled",
       present={"by flag": {"config_enforce_eager": 1}, "by the log": {"log_graphs_disabled_eager": 1}},
       absent={"on": {"config_enforce_eager": 0, "log_graphs_disabled_eager": 0}},
       look_alike={"Eager on a CPU is the only mode there is.": {"config_enforce_eager": 1, "config_cpu": 1}}),
    of("recompile_while_serving",
       present={"again and again": {"log_recompile_serving": At("often", 5)}},
       absent={"once": {"log_recompile_serving": At("often", -0.5)}},
       look_alike={"Two compilations right after start-up are the warm-up of the first shapes.": {"log_recompile_serving": 2}}),
)  # fmt: skip
