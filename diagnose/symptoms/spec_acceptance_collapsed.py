"""Speculation stopped accepting anything from one moment on."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="spec_acceptance_collapsed",
    title="Speculation stopped accepting anything from one moment on",
    kind="fault",
    severity="ticket",
    when="spec_accept_length_peak >= good and spec_accept_length_last <= dead",
    applies="config_spec == 1",
    meaning="Acceptance was good and fell to exactly one token per step. A weak draft is bad from the start; this is the draft "
    "state getting out of step (cache eviction, hybrid state). Restart or upgrade, do not retune the draft.",
    thresholds=(
        Threshold("good", 1.5, "tokens", 1.1, 8.0, "tokens per step that show the draft once worked"),
        Threshold("dead", 1.05, "tokens", 1.0, 1.5, "1.00 means that no drafted token is accepted"),
    ),
    say="from {spec_accept_length_peak} to {spec_accept_length_last} tokens per step",
    missing="acceptance over time (log lines or scrapes while it worked and now)",
    explains=("low_spec_acceptance", "spec_accepts_nothing", "spec_acceptance_decay"),
)
