"""Cases of the symptoms around quantization, parallel layout and hosts (2.3, 3.1)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("batch_scaling_broken",
       present={"hardly grows": {"scaling_efficiency": At("poor", -0.01), "config_weights_quantized": 1}},
       absent={"grows": {"scaling_efficiency": At("poor", 0.3), "config_weights_quantized": 1}},
       look_alike={"From 1 to 32 requests throughput grew 12 times: nothing scales linearly to the end.":
                   {"scaling_efficiency": 12 / 32, "config_weights_quantized": 1}}),
    of("busy_polling",
       present={"an idle worker at 100 %": {"worker_cpu": At("busy", 0.1), "requests_running_max": 0, "busy_poll": 0},
                "by its stack": {"busy_poll": 3, "requests_running_max": 0}},
       absent={"asleep": {"worker_cpu": At("busy", -0.2), "requests_running_max": 0, "busy_poll": 0}},
       look_alike={"A worker at 100 % with twelve requests is working.": {"worker_cpu": 1.0, "requests_running_max": 12, "busy_poll": 1}}),
    of("mla_kv_replicated",
       present={
           "wide and full": {"config_mla": 1, "config_tp": At("wide", 4), "kv_usage_max": At("full", 0.01), "requests_waiting": 30, "preemptions": At("many", -1)},
           "wide and preempting": {"config_mla": 1, "config_tp": At("wide", 4), "preemptions": At("many", 40), "kv_usage_max": At("full", -0.1), "requests_waiting": 0},
       },
       absent={"two ranks": {"config_mla": 1, "config_tp": At("wide", -1), "kv_usage_max": At("full", 0.05), "requests_waiting": 30},
               "data-parallel attention": {"config_mla": 1, "config_tp": At("wide", 4), "kv_usage_max": At("full", 0.05), "requests_waiting": 30, "config_dp_attention": 1}},
       look_alike={"MLA on eight ranks with the cache at 40 %: the copies cost nothing that anybody needs.":
                   {"config_mla": 1, "config_tp": 8, "kv_usage_max": 0.4, "requests_waiting": 0, "preemptions": 0}}),
    of("quant_kernel_slow",
       present={"the engine says so": {"log_quant_not_optimized": 1}},
       absent={"it does not": {"log_quant_not_optimized": 0}},
       look_alike={"AWQ through the Marlin kernel is quantized and optimized.": {"log_quant_not_optimized": 0, "config_weights_quantized": 1}}),
    of("tp_comm_bound",
       present={
           "no custom all-reduce": {"config_tp": 4, "log_custom_allreduce_disabled": 1},
           "no peer-to-peer": {"config_tp": 4, "log_p2p_disabled": 1},
           "over TCP": {"config_tp": 4, "log_nccl_socket": 1},
           "uneven and cool": {"config_tp": 4, "gpu_utilization_spread": At("spread", 0.05), "gpu_power_share_max": At("power", -0.1),
                               "log_custom_allreduce_disabled": 0, "log_p2p_disabled": 0, "log_nccl_socket": 0},
       },
       absent={"even": {"config_tp": 4, "gpu_utilization_spread": At("spread", -0.04), "log_custom_allreduce_disabled": 0, "log_p2p_disabled": 0, "log_nccl_socket": 0}},
       look_alike={"One GPU needs no all-reduce: the warning is harmless there.": {"config_tp": 1, "log_custom_allreduce_disabled": 1},
                   "One rank idles between steps, but the others draw all their power: compute is the limit.":
                   {"config_tp": 4, "gpu_utilization_spread": 0.3, "gpu_power_share_max": 0.98, "log_custom_allreduce_disabled": 0, "log_p2p_disabled": 0, "log_nccl_socket": 0}}),
    of("tp_too_wide",
       present={"small and idle": {"config_tp": At("wide", 4), "billions_per_rank": At("small", -0.05), "gpu_utilization_max": At("busy", -0.05), "requests_running_max": At("load", 40)}},
       absent={"large": {"config_tp": At("wide", 4), "billions_per_rank": At("small", 9), "gpu_utilization_max": At("busy", -0.05), "requests_running_max": At("load", 40)},
               "no load": {"config_tp": At("wide", 4), "billions_per_rank": At("small", -0.05), "gpu_utilization_max": At("busy", -0.05), "requests_running_max": At("load", -0.5)}},
       look_alike={"A 14B model on eight ranks whose GPUs are at 95 %: they are used.":
                   {"config_tp": 8, "billions_per_rank": 1.75, "gpu_utilization_max": 0.95, "requests_running_max": 200}}),
)  # fmt: skip
