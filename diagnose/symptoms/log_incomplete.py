"""The log shows only some of the engines."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="log_incomplete",
    title="The log shows only some of the engines",
    kind="monitoring",
    severity="info",
    when="log_rank_share < 1 and requests_waiting_max < 1",
    meaning="With several API servers the periodic line covers only some data-parallel engines. What the others do is not in this log.",
    say="{log_rank_share} of the engines appear in the log",
    missing="scrapes of /metrics (all engines), or the log of every engine",
)
