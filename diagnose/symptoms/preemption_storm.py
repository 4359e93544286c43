"""Preemption storm: running requests lose their KV again and again."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="preemption_storm",
    title="Preemption storm: running requests lose their KV again and again",
    kind="cause",
    severity="page",
    hold=300.0,
    when="preemptions >= floor and (preemptions_per_finished > storm "
    "or preemptions_per_running >= storm_running and not known(preemptions_per_finished))",
    meaning="More sequences are admitted than the KV cache holds to their end. Each preempted request is computed again, "
    "so the engine works twice for the same tokens. A run measured in this state is not publishable.",
    thresholds=(
        Threshold(
            "storm",
            0.1,
            "ratio",
            0.01,
            10.0,
            "below one preemption in ten requests the recompute tax stays under a few percent",
        ),
        Threshold(
            "storm_running",
            0.5,
            "ratio",
            0.05,
            50.0,
            "where finished requests are not known: every second running request was thrown out",
        ),
        Threshold("floor", 5.0, "requests", 1.0, 1000.0, "a handful of preemptions in a window is noise"),
    ),
    moves=("2.1/fewer-sequences", "2.1/more-kv-memory", "2.3/kv-fp8", "4.3/add-replica"),
    explains=(
        "silent_preemption",
        "preemption_logged",
        "retraction",
        "kv_pressure",
        "queue_growth",
        "high_ttft",
        "long_prefill_stall",
        "prefix_hits_inflated",
        "kv_nearly_full",
        "batch_cap_bound",
        "prefill_bound",
        "client_overdrive",
    ),
    say="{preemptions} preemptions, {preemptions_per_finished} per finished request",
    missing="preemption counter (vllm:num_preemptions_total, sglang:num_retracted_requests_total) in two scrapes",
    alert="LLMPreemptionStorm",
)
