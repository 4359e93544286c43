"""Chunked prefill is off."""

from diagnose.symptoms.declare import Symptom

SYMPTOM = Symptom(
    id="chunked_prefill_disabled",
    title="Chunked prefill is off",
    kind="opportunity",
    severity="info",
    when="config_chunked_switched_off == 1 unless config_decode_role == 1",
    meaning="Each prompt is computed in one step that blocks all decodes. Harmless for short prompts, the first thing to try when the gaps between tokens have a tail.",
    moves=("1.1/enable",),
    say="chunked prefill is off",
    missing="launch flags or the start-up log",
)
