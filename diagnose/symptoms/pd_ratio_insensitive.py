"""The ratio of prefill to decode workers changes nothing."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="pd_ratio_insensitive",
    title="The ratio of prefill to decode workers changes nothing",
    kind="monitoring",
    severity="info",
    when="ab_3_3_gain < same",
    meaning="Throughput does not react to where the workers stand, so neither pool is the limit: look at the router, the transfer and the client before moving workers.",
    thresholds=(Threshold("same", 0.05, "ratio", 0.005, 0.2, "run-to-run noise of a serving benchmark"),),
    explains=("ab_no_difference",),
    say="{ab_3_3_gain} between the layouts",
    missing="queues of router, prefill and decode under the same load, and transfer times",
)
