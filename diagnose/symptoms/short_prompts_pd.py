"""Prompts are too short to repay disaggregation."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="short_prompts_pd",
    title="Prompts are too short to repay disaggregation",
    kind="opportunity",
    severity="info",
    when="config_disaggregated == 1 and prompt_len_mean < short",
    meaning="The transfer costs about as much as the prefill that it saves from interfering. Short prompts are better served by aggregated workers.",
    thresholds=(
        Threshold(
            "short",
            512.0,
            "tokens",
            16.0,
            100000.0,
            "the guide prices a transfer at 35 ms: about the prefill of a few hundred tokens",
        ),
    ),
    moves=("3.3/back-to-aggregated",),
    confidence="medium",
    say="prompts of {prompt_len_mean} tokens on a disaggregated deployment",
    missing="prompt length histogram",
)
