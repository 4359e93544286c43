"""Ranks of one scheduler export the same numbers."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="duplicate_rank_series",
    title="Ranks of one scheduler export the same numbers",
    kind="monitoring",
    severity="info",
    when="duplicate_ranks >= 2 and not known(tokens_moved)",
    meaning="Tensor or context parallel ranks repeat the same scheduler's gauges: they were counted once. Without token counters the true rate is not known.",
    say="{duplicate_ranks} copies of one scheduler's series",
    missing="token counters, or the scrape restricted to one rank",
)
