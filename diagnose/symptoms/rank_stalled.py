"""One data-parallel rank stands still while the others work."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="rank_stalled",
    title="One data-parallel rank stands still while the others work",
    kind="fault",
    severity="page",
    when="stalled_ranks >= 1 and requests_running_max >= 1",
    meaning="A rank holds requests and produces no token while its peers go on. Averages hide it. Restart the engine and keep its log.",
    say="{stalled_ranks} of {ranks} ranks without a token",
    missing="token counters per rank over 20 s or more",
)
