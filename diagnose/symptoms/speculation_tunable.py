"""Another setting of speculation is faster."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="speculation_tunable",
    title="Another setting of speculation is faster",
    kind="cause",
    severity="ticket",
    when="ab_3_2_both_on == 1 and ab_3_2_gain > margin",
    meaning="Both runs speculate; the number of drafted tokens or the draft decides between them. A longer acceptance is not the goal, tokens per second are.",
    thresholds=(Threshold("margin", 0.04, "ratio", 0.0, 0.5, "run-to-run noise of a serving benchmark"),),
    moves=("3.2/fewer-tokens", "3.2/eagle-or-mtp"),
    explains=("ab_no_difference",),
    say="{ab_3_2_gain} between two settings of speculation",
    missing="the same benchmark with each setting",
)
