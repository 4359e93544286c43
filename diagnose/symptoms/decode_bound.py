"""Inter-token latency follows the batch size."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="decode_bound",
    title="Inter-token latency follows the batch size",
    kind="info",
    severity="info",
    when="itl_follows_batch >= lead",
    meaning="The gaps between tokens grow with the number of running requests: decode itself is the limit, neither prefill nor preemption.",
    thresholds=(Threshold("lead", 0.5, "ratio", 0.3, 1.0, "the batch accounts for most of the variation"),),
    explains=("long_prefill_stall", "prefill_interference"),
    say="{itl_follows_batch} of the variation of ITL follows the batch size",
    missing="at least 8 intervals of ITL and running requests",
)
