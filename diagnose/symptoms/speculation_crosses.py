"""Speculation wins in one condition and loses in another."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="speculation_crosses",
    title="Speculation wins in one condition and loses in another",
    kind="cause",
    severity="ticket",
    when="ab_3_2_crossover == 1",
    meaning="There is a point (concurrency or context length) from which speculation costs more than it gives. Publish it, and switch speculation off beyond it.",
    moves=("3.2/load-aware", "3.2/fewer-tokens"),
    explains=("speculation_wins", "speculation_loses"),
    say="the faster side changes between the conditions",
    missing="the same benchmark at several concurrencies, with and without speculation",
)
