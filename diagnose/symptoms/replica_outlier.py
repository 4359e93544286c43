"""A replica behaves unlike its peers."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="replica_outlier",
    title="A replica behaves unlike its peers",
    kind="info",
    severity="ticket",
    when="outlier_replicas >= 1",
    meaning="Replicas that share traffic should look alike. Compare the odd one's configuration, version and hardware with the others before tuning all of them.",
    say="{outlier_replicas} of {ranks} replicas unlike the others",
    missing="scrapes of at least three replicas",
)
