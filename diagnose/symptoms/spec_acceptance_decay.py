"""Acceptance decays over the run."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="spec_acceptance_decay",
    title="Acceptance decays over the run",
    kind="cause",
    severity="ticket",
    when="spec_decay < decay and spec_accept_length_last > dead",
    applies="config_spec == 1",
    meaning="Acceptance falls steadily while the run goes on (longer contexts than the draft was trained for, or growing batches). Draft fewer tokens or switch off at load.",
    thresholds=(
        Threshold("decay", 0.75, "ratio", 0.1, 1.0, "second half over first half of the run"),
        Threshold("dead", 1.05, "tokens", 1.0, 1.5, "at one token per step it is no decay but a collapse"),
    ),
    moves=("3.2/load-aware", "3.2/fewer-tokens"),
    confidence="medium",
    say="tokens per step fell to {spec_decay} of the first half",
    missing="acceptance over time",
)
