"""The chunk budget is too small for these prompts."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="chunk_budget_too_small",
    title="The chunk budget is too small for these prompts",
    kind="cause",
    severity="ticket",
    when="config_chunk_budget <= small and config_chunk_budget > 0 and prompt_over_budget >= times and ttft_mean >= late and itl_stall_share < calm",
    meaning="Long prompts are cut into so many chunks that first tokens come late, while the gaps between tokens are nowhere near a limit. Raise the budget in steps.",
    thresholds=(
        Threshold("small", 1024.0, "tokens", 64.0, 65536.0, "above it the budget is not what slows prefill"),
        Threshold("times", 8.0, "ratio", 2.0, 1000.0, "steps that one prompt needs"),
        Threshold("late", 2.0, "s", 0.1, 600.0, "users notice"),
        Threshold("calm", 0.001, "ratio", 0.0, 0.1, "the gaps between tokens leave room for a larger chunk"),
    ),
    moves=("1.1/raise-budget",),
    confidence="medium",
    say="prompts of {prompt_len_mean} tokens in chunks of {config_chunk_budget}, TTFT {ttft_mean}",
    missing="chunk budget, prompt length and TTFT",
)
