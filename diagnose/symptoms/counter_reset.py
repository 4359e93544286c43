"""Counters fell: the engine restarted between scrapes."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="counter_reset",
    title="Counters fell: the engine restarted between scrapes",
    kind="monitoring",
    severity="info",
    when="resets >= 1 and usable_intervals == 0",
    meaning="The interval spans a restart and was dropped: its differences are artefacts, even where the ratio looks plausible.",
    say="{resets} intervals dropped, {usable_intervals} left",
    missing="two scrapes taken after the restart",
)
