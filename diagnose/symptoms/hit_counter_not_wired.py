"""Repeats are fast but the hit counter stays at zero."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="hit_counter_not_wired",
    title="Repeats are fast but the hit counter stays at zero",
    kind="benign",
    severity="info",
    when="prefix_hit_ratio == 0 and ttft_drop_ratio >= faster",
    meaning="Later requests get their first token several times sooner, which only reuse explains, while the counter never moves: the metric is not wired on this path. Serving is fine.",
    thresholds=(Threshold("faster", 3.0, "ratio", 1.5, 100.0, "first request against repeats"),),
    explains=("low_prefix_hit_rate", "prefix_below_block_size"),
    say="first TTFT {ttft_drop_ratio} times the later ones with no counted hit",
    missing="TTFT and prefix counters over several scrapes",
)
