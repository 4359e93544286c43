"""Prefills stall running decodes."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="long_prefill_stall",
    title="Prefills stall running decodes",
    kind="cause",
    severity="ticket",
    hold=300.0,
    when="itl_stall_share > share or itl_tail_ratio >= tail and itl_p99 >= gap and prefix_queries >= 0 and config_chunked_prefill == 0 "
    "or prefill_stall_ratio < collapse and not known(itl_stall_share) or itl_hiccup_share > hiccups and consecutive_prefills >= back_to_back "
    "unless itl_follows_preemptions >= other",
    meaning="While long prompts are computed, other requests get no tokens: averages hide it, the gaps between tokens show it. "
    "A smaller prefill chunk per step shortens the gap.",
    thresholds=(
        Threshold(
            "share", 0.005, "ratio", 0.0005, 0.5, "one gap above 0.3 s in 200 tokens is visible in every long answer"
        ),
        Threshold(
            "tail",
            20.0,
            "ratio",
            3.0,
            1000.0,
            "p99 over p50 of healthy chunked prefill stays in the single digits to low tens",
        ),
        Threshold("gap", 0.1, "s", 0.02, 10.0, "readers notice pauses above 100 ms"),
        Threshold("collapse", 0.2, "ratio", 0.01, 0.9, "decode speed during prefill below a fifth of its normal speed"),
        Threshold(
            "back_to_back", 4.0, "batches", 2.0, 100.0, "prefill batches in a row without a decode step between them"
        ),
        Threshold("other", 0.5, "ratio", 0.2, 1.0, "the gaps follow preemptions instead"),
        Threshold(
            "hiccups",
            0.02,
            "ratio",
            0.001,
            0.5,
            "two pauses above 0.1 s in a hundred tokens, with prefills back to back",
        ),
    ),
    moves=("1.1/enable", "1.1/lower-budget", "1.1/mixed-chunk", "3.3/disaggregate"),
    explains=("high_itl", "high_ttft", "chunked_prefill_disabled"),
    say="{itl_stall_share} of token gaps above 0.3 s; decode at {prefill_stall_ratio} of its speed during prefill",
    missing="inter-token latency histogram, or throughput lines with and without prefill",
    alert="LLMPrefillStallsDecode",
)
