"""The throughput gauge shows one rank only."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="rank_series_missing",
    title="The throughput gauge shows one rank only",
    kind="benign",
    severity="info",
    when="throughput_gauge_ratio >= times",
    meaning="The gauge is written by whichever rank reports last, the token counters add all of them up. Throughput has not fallen.",
    thresholds=(Threshold("times", 1.8, "ratio", 1.1, 100.0, "counters move at a multiple of the gauge"),),
    explains=("frontend_bound",),
    say="counters move at {throughput_gauge_ratio} times the gauge",
    missing="token counters over 20 s beside the throughput gauge",
)
