"""The first drafted token is accepted, the second almost never."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="spec_position_cliff",
    title="The first drafted token is accepted, the second almost never",
    kind="cause",
    severity="ticket",
    when="spec_first_position >= good and spec_second_position < cliff",
    applies="config_spec == 1",
    meaning="Positions after the first are wasted (parallel drafting with a grammar, a head trained for one token). Draft one token only.",
    thresholds=(
        Threshold("good", 0.5, "ratio", 0.1, 1.0, "the first position works"),
        Threshold("cliff", 0.2, "ratio", 0.0, 0.9, "the second does not"),
    ),
    moves=("3.2/fewer-tokens", "3.2/off"),
    explains=("low_spec_acceptance",),
    say="acceptance {spec_first_position} at the first position, {spec_second_position} at the second",
    missing="acceptance per position",
)
