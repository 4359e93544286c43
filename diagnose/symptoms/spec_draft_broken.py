"""Not one drafted token was ever accepted."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="spec_draft_broken",
    title="Not one drafted token was ever accepted",
    kind="fault",
    severity="ticket",
    when="spec_acceptance == 0 and spec_drafted >= floor and config_spec_lookup == 0 or spec_accept_length_peak <= 1 and spec_acceptance == 0 and config_spec_lookup == 0",
    applies="config_spec == 1",
    meaning="A weak draft would still accept some tokens. Exactly none from the start means that the draft's weights do not fit or were never loaded: use a matching draft or a fixed build.",
    thresholds=(Threshold("floor", 500.0, "tokens", 1.0, 1e9, "too few drafts to judge"),),
    explains=("low_spec_acceptance", "spec_accepts_nothing", "spec_position_cliff"),
    confidence="medium",
    say="0 of {spec_drafted} accepted",
    missing="speculation counters and the method",
)
