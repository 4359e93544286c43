"""Speculation never accepted anything."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="spec_accepts_nothing",
    title="Speculation never accepted anything",
    kind="cause",
    severity="ticket",
    when="spec_acceptance < nothing and spec_drafted >= floor and config_spec == 1",
    applies="config_spec == 1",
    meaning="Practically zero acceptance from the start: the draft does not fit the target (wrong head, vocabulary, or lookup on text that does not repeat).",
    thresholds=(
        Threshold("nothing", 0.02, "ratio", 0.0, 0.2, "chance level"),
        Threshold("floor", 500.0, "tokens", 1.0, 1e9, "too few drafts to judge"),
    ),
    moves=("3.2/off", "3.2/fix-draft"),
    explains=("low_spec_acceptance",),
    say="{spec_acceptance} accepted of {spec_drafted} drafted tokens",
    missing="speculation counters",
)
