"""Requests finish with corrupted output."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="corrupted_output",
    title="Requests finish with corrupted output",
    kind="fault",
    severity="page",
    when="corrupted > 0",
    meaning="The engine counted requests whose logits held NaN. That is a numeric fault (kernel, quantization or hardware), not a matter of tuning.",
    say="{corrupted} corrupted requests",
    missing="vllm:corrupted_requests_total (needs VLLM_COMPUTE_NANS_IN_LOGITS=1)",
)
