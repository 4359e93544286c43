"""Inter-token latency follows prefill arrivals."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="prefill_interference",
    title="Inter-token latency follows prefill arrivals",
    kind="cause",
    severity="ticket",
    when="itl_follows_prefill >= lead and itl_stall_share > share",
    meaning="Over the intervals, the gaps between tokens move with the prefill rate and not with preemptions or batch size (robust regression). The prefill chunk is what to change first.",
    thresholds=(
        Threshold("lead", 0.5, "ratio", 0.3, 1.0, "prefill arrivals account for most of the variation"),
        Threshold(
            "share", 0.005, "ratio", 0.0005, 0.5, "one gap above 0.3 s in 200 tokens is visible in every long answer"
        ),
    ),
    moves=("1.1/enable", "1.1/lower-budget", "1.1/mixed-chunk", "3.3/disaggregate"),
    explains=("high_itl", "chunked_prefill_disabled"),
    say="{itl_follows_prefill} of the variation of ITL follows prefill; {itl_stall_share} of gaps above 0.3 s",
    missing="at least 8 intervals of ITL, prompt tokens and running requests",
)
