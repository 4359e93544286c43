"""Cases of the symptoms around sequences and KV budget (2.1)."""

# ruff: noqa: E501  tables: one case a line

from __future__ import annotations

from diagnose.symptoms.declare import At
from symptom_cases import of

CASES = (
    of("batch_cap_bound",
       present={
           "at the configured cap": {"requests_waiting": At("queue", 20), "waiting_over_running": At("share", 1), "kv_usage_max": At("roomy", -0.05),
                                     "running_over_cap": At("at_cap", 0.01), "running_pinned": At("at_cap", -0.2)},
           "pinned, cap not known": {"requests_waiting": At("queue", 20), "waiting_over_running": (At("share", 1), At("at_cap", 1)), "kv_usage_max": At("roomy", -0.05),
                                     "running_pinned": At("at_cap", 0.01)},
       },
       absent={
           "the KV cache is what is short": {"requests_waiting": At("queue", 20), "waiting_over_running": At("share", 1), "kv_usage_max": At("roomy", 0.05),
                                             "running_over_cap": At("at_cap", 0.1), "running_pinned": At("at_cap", 0.1)},
           "waits for adapters": {"requests_waiting": At("queue", 20), "waiting_over_running": At("share", 1), "kv_usage_max": At("roomy", -0.1),
                                  "running_over_cap": At("at_cap", 0.1), "waiting_deferred": 3},
       },
       look_alike={
           "3 wait behind 240 running: the batch turns over faster than the queue can grow.":
               {"requests_waiting": 3, "waiting_over_running": 3 / 240, "kv_usage_max": 0.6, "running_over_cap": 0.94, "running_pinned": 0.95},
           "The batch is at its cap and nobody waits: the cap fits the load.":
               {"requests_waiting": 0, "waiting_over_running": 0, "kv_usage_max": 0.4, "running_over_cap": 1, "running_pinned": 1},
           "The batch stands at 100 of 256 with 150 waiting: the cap is known and far away.":
               {"requests_waiting": 150, "waiting_over_running": 1.5, "kv_usage_max": 0.5, "running_over_cap": 0.39, "running_pinned": 1},
       }),
    of("client_overdrive",
       present={"a closed loop queues": {"client_closed_loop": 1, "requests_waiting": At("queue", 100)}},
       absent={"a closed loop that fits": {"client_closed_loop": 1, "requests_waiting": At("queue", -0.5)}},
       look_alike={"150 wait at a fixed request rate: that is demand, not the client's doing.": {"client_closed_loop": 0, "requests_waiting": 150}}),
    of("headroom_unused",
       present={"little used": {"kv_usage_max": At("low", -0.01), "requests_waiting_max": 0, "config_max_num_seqs": 256, "requests_running_max": 4}},
       absent={"half used": {"kv_usage_max": At("low", 0.1), "requests_waiting_max": 0, "config_max_num_seqs": 256, "requests_running_max": 4}},
       look_alike={"KV usage is low because the batch is capped and requests wait: that is no headroom.":
                   {"kv_usage_max": 0.1, "requests_waiting_max": 30, "config_max_num_seqs": 4, "requests_running_max": 4}}),
    of("kv_full_packed",
       present={"full, nobody waits": {"kv_usage_max": At("full", 0.01), "requests_waiting_max": 0, "preemptions": 0}},
       absent={"full with a queue": {"kv_usage_max": At("full", 0.05), "requests_waiting_max": 12, "preemptions": 0}},
       look_alike={"Full and no queue at the moment, but requests were thrown out: that is not packing.":
                   {"kv_usage_max": 0.99, "requests_waiting_max": 0, "preemptions": 31}}),
    of("kv_nearly_full",
       present={"high and rising, preemptions not seen": {"kv_usage_last": At("near", 0.01), "kv_rising": 0.1, "requests_waiting_max": 0}},
       absent={"high and steady": {"kv_usage_last": At("near", 0.01), "kv_rising": 0, "requests_waiting_max": 0}},
       look_alike={"96 % and rising, but the preemption counter is there and stands: nothing is open.":
                   {"kv_usage_last": 0.96, "kv_rising": 0.1, "requests_waiting_max": 0, "preemptions": 0}}),
    of("kv_pressure",
       present={"full with a queue": {"kv_usage_max": At("full", 0.01), "requests_waiting": At("queue", 10), "waiting_capacity": 10}},
       absent={"room with a queue": {"kv_usage_max": At("full", -0.1), "requests_waiting": At("queue", 10), "waiting_capacity": 10}},
       look_alike={
           "100 % without a queue is good packing.": {"kv_usage_max": 1.0, "requests_waiting": 0},
           "The cache is full of one batch, and what waits is deferred for an adapter.":
               {"kv_usage_max": 0.97, "requests_waiting": 6, "waiting_capacity": 0, "waiting_deferred": 6},
       }),
    of("light_load",
       present={"a few requests": {"kv_usage_max": At("low", -0.01), "requests_waiting_max": 0, "requests_running_max": 3}},
       absent={"well used": {"kv_usage_max": At("low", 0.1), "requests_waiting_max": 0, "requests_running_max": 3}},
       look_alike={"No KV in use and nobody running is idle, not light load.":
                   {"kv_usage_max": 0, "requests_waiting_max": 0, "requests_running_max": 0}}),
    of("mamba_slots_bound",
       present={
           "slots all taken": {"mamba_usage_max": At("full", 0.01), "requests_waiting": 20, "kv_usage_max": At("roomy", 0.1)},
           "the log names the cap": {"log_mamba_cap": 1, "kv_usage_max": At("roomy", -0.01), "requests_waiting": 20, "mamba_usage_max": At("full", -0.3)},
       },
       absent={"slots free": {"mamba_usage_max": At("full", -0.05), "requests_waiting": 20, "log_mamba_cap": 0, "kv_usage_max": At("roomy", -0.1)}},
       look_alike={"All state slots are taken, but nobody waits for one: the pool fits the batch.": {"mamba_usage_max": 1.0, "requests_waiting": 0}}),
    of("offline_batch_queue",
       present={"a batch job": {"client_offline": 1, "requests_waiting": 800, "generation_tps": 2000},
                "a batch job by tokens": {"client_offline": 1, "requests_waiting": 800, "tokens_moved": 1e6, "generation_tps": 0}},
       absent={"online": {"client_offline": 0, "requests_waiting": 800, "generation_tps": 2000}},
       look_alike={"A batch job too, but it preempts one in two: the queue is fine, the churn is not.":
                   {"client_offline": 1, "requests_waiting": 800, "generation_tps": 2000, "preemptions_per_finished": 0.5}}),
    of("preemption_logged",
       present={"V0 warned of the 51st": {"logged_preemptions": At("many", 11)}},
       absent={"V0 warned once": {"logged_preemptions": At("many", -1)}},
       look_alike={"One preemption in a day's log is the price of a well filled cache.": {"logged_preemptions": 1, "kv_usage_max": 0.99}}),
    of("preemption_mild",
       present={"rare": {"preemptions": 3, "preemptions_per_finished": At("mild", -0.005)}},
       absent={"often": {"preemptions": 300, "preemptions_per_finished": At("mild", 0.2)}, "none": {"preemptions": 0, "preemptions_per_finished": 0}},
       look_alike={"Only six preemptions, but twenty finished requests: that is one in three.": {"preemptions": 6, "preemptions_per_finished": 0.3}}),
    of("preemption_storm",
       present={
           "three per finished request": {"preemptions": At("floor", 262), "preemptions_per_finished": At("storm", 2.9), "preemptions_per_running": 0.01},
           "none finished": {"preemptions": At("floor", 60), "preemptions_per_running": At("storm_running", 0.5), "requests_finished": 0},
           "finished not counted": {"preemptions": At("floor", 60), "preemptions_per_running": At("storm_running", 0.5)},
       },
       absent={
           "rare": {"preemptions": At("floor", 60), "preemptions_per_finished": At("storm", -0.005), "preemptions_per_running": 0, "requests_finished": 9000},
           "a handful": {"preemptions": At("floor", -0.5), "preemptions_per_finished": At("storm", 1)},
       },
       look_alike={"A non-zero counter: 41 preemptions over 12,000 finished requests cost nothing.":
                   {"preemptions": 41, "preemptions_per_finished": 41 / 12000, "preemptions_per_running": 0.4, "requests_finished": 12000, "kv_usage_max": 1.0}}),
    of("queue_growth",
       present={"a queue": {"requests_waiting": At("queue", 10)}},
       absent={"one step's intake": {"requests_waiting": At("queue", -0.5)}},
       look_alike={"A peak of 40 on a mean of 1.2: a burst that one step took in.": {"requests_waiting": 1.2, "requests_waiting_max": 40}}),
    of("retraction",
       present={
           "more cached than asked": {"cached_over_prompt": At("over", 0.5)},
           "several a minute": {"retractions_per_minute": At("often", 5), "cached_over_prompt": At("over", -0.5)},
           "a log without times": {"logged_retractions": At("many", 5), "cached_over_prompt": At("over", -0.5)},
       },
       absent={"neither": {"cached_over_prompt": At("over", -0.01), "retractions_per_minute": At("often", -0.05), "logged_retractions": At("many", 20)}},
       look_alike={"Nine retractions in a ten-minute log: one a minute is a full pool, well used.":
                   {"retractions_per_minute": 0.9, "logged_retractions": 9, "cached_over_prompt": 0.97}}),
    of("silent_preemption",
       present={"running fell at a full cache": {"running_falls_at_full_kv": At("falls", 2)}},
       absent={"it never fell": {"running_falls_at_full_kv": At("falls", -1)}},
       look_alike={"Running fell because two requests finished: the counter proves that nothing was preempted.":
                   {"running_falls_at_full_kv": 2, "preemptions": 0}}),
    of("single_request_hog",
       present={"one request, most of the pool": {"requests_running_max": At("few", -0.5), "kv_usage_max": At("large", 0.1), "requests_waiting": 4, "generation_tps": 30}},
       absent={"many share the pool": {"requests_running_max": At("few", 20), "kv_usage_max": At("large", 0.1), "requests_waiting": 4, "generation_tps": 30}},
       look_alike={"One long document holds 90 % and nobody waits: what else is the cache for.":
                   {"requests_running_max": 1, "kv_usage_max": 0.9, "requests_waiting": 0, "generation_tps": 30}}),
    of("small_kv_pool",
       present={"room for one": {"config_kv_max_concurrency": At("few", -0.3)}},
       absent={"room for many": {"config_kv_max_concurrency": At("few", 10)}},
       look_alike={"2.4 requests of 128k tokens are 300 of 1k: the figure is about the longest context.": {"config_kv_max_concurrency": 2.4}}),
    of("startup_failure",
       present={"one request does not fit": {"log_kv_too_small": 1}, "SGLang's pool": {"log_pool_too_small_sglang": 1}, "another process holds the memory": {"log_memory_busy": 1}},
       absent={"none": {"log_kv_too_small": 0, "log_pool_too_small_sglang": 0, "log_memory_busy": 0, "log_seqs_exceed_state": 0}},
       look_alike={"A dead engine with an out-of-memory error started all right and failed later.":
                   {"log_kv_too_small": 0, "log_pool_too_small_sglang": 0, "log_memory_busy": 0, "log_seqs_exceed_state": 0, "log_oom_cuda": 1, "log_engine_dead": 1}}),
    of("memory_exhausted",
       present={"out of memory": {"log_oom_cuda": 1}},
       absent={"none": {"log_oom_cuda": 0}},
       look_alike={"The KV cache at 100 % is reserved memory in use, not memory that ran out.": {"log_oom_cuda": 0, "kv_usage_max": 1.0}}),
)  # fmt: skip
