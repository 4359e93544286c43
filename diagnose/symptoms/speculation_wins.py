"""The run with speculation is faster."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="speculation_wins",
    title="The run with speculation is faster",
    kind="benign",
    severity="info",
    when="ab_3_2_off_wins == 0 and ab_3_2_gain > margin and ab_3_2_both_on == 0",
    meaning="Speculation pays on this load. Publish the concurrency at which it stops paying.",
    thresholds=(Threshold("margin", 0.05, "ratio", 0.01, 0.5, "run-to-run noise of a serving benchmark"),),
    explains=("low_spec_acceptance", "spec_undecided", "spec_acceptance_decay"),
    say="with speculation {ab_3_2_gain} faster",
    missing="the same benchmark with and without speculation",
)
