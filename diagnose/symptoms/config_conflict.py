"""Sources disagree about the configuration."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="config_conflict",
    title="Sources disagree about the configuration",
    kind="info",
    severity="info",
    when="conflicts >= 1",
    meaning="The launch command says one thing and the engine resolved another. The resolved value is used here; find out who changed it.",
    say="{conflicts} settings differ between sources",
    missing="launch text and start-up log",
)
