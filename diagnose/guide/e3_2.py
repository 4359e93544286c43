"""Guide entry 3.2: speculative decoding."""

from diagnose.guide.declare import Entry, Flag, Move

_NGRAM_JSON = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}'

NGRAM = Move(
    id="ngram-first",
    title="n-gram speculation first",
    direction="on",
    flags=(
        Flag("vllm", f"--speculative-config '{_NGRAM_JSON}'", since="0.8.2"),
        Flag(
            "vllm",
            '--speculative-model "[ngram]" --num-speculative-tokens 4 --ngram-prompt-lookup-max 4',
            until="0.8.1",
        ),
        Flag("sglang", "--speculative-algorithm NGRAM --speculative-num-draft-tokens 4", since="0.5.3"),
        Flag("sglang", "no n-gram speculation before 0.5.3: upgrade, or EAGLE", until="0.5.2"),
    ),
    expect=(
        "TPOT falls where the output copies from the prompt: code, extraction, JSON, edits",
        "nothing gained on free text; no extra model, no extra memory",
    ),
    measure="diagnose now URL on the same prompts with and without: acceptance, tokens per step, generated tokens per second at the concurrency that you serve.",
    undo="Remove the flags.",
    risk="latency",
    ruled_out="kv_usage_max >= 0.95 or preemptions_per_finished > 0.1",
    applied="config_spec == 1",
    then=("3.2 EAGLE or MTP, if n-gram accepts too little", "3.2 off at load, past the crossover"),
    note="It costs nothing to try, so it comes before any draft model. A free engine is the condition: a saturated one has no compute left to verify with.",
)

EAGLE = Move(
    id="eagle-or-mtp",
    title="the model's MTP heads, else EAGLE",
    direction="on",
    flags=(
        Flag(
            "vllm",
            '--speculative-config \'{"method": "mtp", "num_speculative_tokens": 1}\', or "eagle3" with "model": "<draft>" and 3 tokens',
            since="0.11.0",
        ),
        Flag(
            "vllm",
            '--speculative-config \'{"method": "eagle3", "model": "<draft>", "num_speculative_tokens": 3}\' ("deepseek_mtp" for DeepSeek)',
            since="0.9.0",
            until="0.10.2",
        ),
        Flag(
            "vllm",
            '--speculative-config \'{"method": "eagle", "model": "<draft>", "num_speculative_tokens": 3}\'',
            since="0.8.2",
            until="0.8.5.post1",
        ),
        Flag("vllm", "--speculative-model <draft> --num-speculative-tokens 3", until="0.8.1"),
        Flag(
            "sglang",
            "--speculative-algorithm EAGLE3 (NEXTN for MTP heads) --speculative-draft-model-path <draft> --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
            since="0.4.5",
        ),
        Flag(
            "sglang",
            "--speculative-algorithm EAGLE (NEXTN for MTP heads from 0.4.4) --speculative-draft-model-path <draft> --speculative-num-steps 3",
            since="0.4.1",
            until="0.4.4.post4",
        ),
        Flag("sglang", "no speculation before 0.4.1: upgrade", until="0.4.0.post2"),
    ),
    expect=(
        "TPOT 1.5-2.5 times better when acceptance is 70 % or more",
        "the draft takes memory from the KV cache and compute from the batch",
    ),
    measure="diagnose now URL at low and at full concurrency: acceptance (0.7 or more), tokens per step, generated tokens per second; publish the concurrency at which it stops paying.",
    undo="Remove the flags.",
    risk="latency",
    ruled_out="kv_usage_max >= 0.95 or preemptions_per_finished > 0.1",
    then=(
        "3.2 fewer tokens, when later positions are rejected",
        "3.2 load-aware, when the endpoint also sees high concurrency",
    ),
    note="For latency-sensitive endpoints with low concurrency. SGLang caps running requests at 48 with EAGLE unless --max-running-requests is given. Structured output works beside it.",
)

FEWER = Move(
    id="fewer-tokens",
    title="draft fewer tokens",
    direction="lower",
    flags=(
        Flag("vllm", "num_speculative_tokens {value} in --speculative-config", since="0.8.2"),
        Flag("vllm", "--num-speculative-tokens {value}", until="0.8.1"),
        Flag(
            "sglang",
            "--speculative-num-steps {value} --speculative-eagle-topk 1 (draft tokens become steps + 1); NGRAM: --speculative-num-draft-tokens {value}",
            since="0.4.1",
        ),
        Flag("sglang", "no speculation before 0.4.1: nothing to change", until="0.4.0.post2"),
    ),
    expect=("fewer rejected tokens are verified: throughput at the same batch rises", "tokens per step fall a little"),
    measure="diagnose now URL at the same concurrency: generated tokens per second and TPOT (not acceptance alone: it rises by itself when you draft less).",
    undo="Restore the number.",
    risk="latency",
    requires="config_spec == 1",
    ruled_out="config_spec_tokens == 1",
    sizing="speculative_tokens",
    fallback="1",
    then=("3.2 off, if one token does not pay either",),
    note="Look at acceptance by position: a cliff after the first (a grammar, a head trained for one token) makes the rest waste.",
)

LOAD = Move(
    id="load-aware",
    title="speculate at low load only",
    direction="load-aware",
    flags=(
        Flag(
            "vllm",
            '"num_speculative_tokens_per_batch_size": [[1, 16, 3], [17, 64, 1], [65, 1024, 0]] in --speculative-config (set the steps at your crossover)',
            since="0.24.0",
        ),
        Flag(
            "vllm",
            "no switch by load: route high concurrency to replicas without --speculative-config (disable_by_batch_size is accepted up to 0.16 and V1 ignores it)",
            since="0.8.2",
            until="0.23.0",
        ),
        Flag("vllm", "--speculative-disable-by-batch-size 16 (set it at your crossover)", until="0.8.1"),
        Flag(
            "sglang",
            "--speculative-adaptive follows acceptance, not load: also route high concurrency to replicas without speculation",
            since="0.5.11",
        ),
        Flag(
            "sglang", "no switch by load: route high concurrency to replicas without speculation", until="0.5.10.post1"
        ),
    ),
    expect=("the gain at low concurrency stays, the loss at high concurrency ends",),
    measure="Concurrency sweep with and without speculation: generated tokens per second and TPOT at each step; publish the crossover, not only the best speedup.",
    undo="Remove the schedule.",
    risk="latency",
    requires="config_spec == 1",
    then=("3.2 off, if traffic never is below the crossover", "4.3 replicas keep each engine below it"),
    note="Acceptance above any published threshold can still lose: at saturation the draft takes compute and memory that the batch needs.",
)

OFF = Move(
    id="off",
    title="switch speculation off",
    direction="off",
    flags=(
        Flag("vllm", "remove --speculative-config", since="0.8.2"),
        Flag("vllm", "remove --speculative-model and --num-speculative-tokens", until="0.8.1"),
        Flag("sglang", "remove --speculative-algorithm and what belongs to it", since="0.4.1"),
        Flag("sglang", "no speculation before 0.4.1: nothing to change", until="0.4.0.post2"),
    ),
    expect=(
        "throughput at the same batch rises, TPOT too when acceptance was low",
        "the draft's memory returns to the KV cache",
    ),
    measure="diagnose now URL at the same load with and without: generated tokens per second and TPOT; keep the curve that shows where speculation lost.",
    undo="Set the flags again.",
    requires="config_spec == 1",
    applied="config_spec == 0",
    then=("2.1 more sequences in the memory that was freed", "3.2 another method, for output that repeats its prompt"),
    note="Below 50 % acceptance speculation costs more than it gives; it needs about 70 % to be worth its verification.",
)

DRAFT = Move(
    id="fix-draft",
    title="repair the draft",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "check in --speculative-config: model made for this target and tokenizer, method, draft_tensor_parallel_size 1 or the target's, quantization of the target",
            since="0.8.2",
        ),
        Flag(
            "vllm",
            "check --speculative-model (made for this target and tokenizer), --speculative-model-quantization and --speculative-draft-tensor-parallel-size",
            since="0.6.3",
            until="0.8.1",
        ),
        Flag("vllm", "check --speculative-model: made for this target and tokenizer", until="0.6.2"),
        Flag(
            "sglang",
            "check --speculative-draft-model-path (made for this target), --speculative-algorithm (NEXTN for MTP heads), --speculative-draft-model-quantization, and a token map of this draft",
            since="0.5.7",
        ),
        Flag(
            "sglang",
            "check --speculative-draft-model-path (made for this target) and --speculative-algorithm (NEXTN for MTP heads)",
            since="0.4.1",
            until="0.5.6.post2",
        ),
        Flag("sglang", "no speculation before 0.4.1: nothing to change", until="0.4.0.post2"),
    ),
    expect=("acceptance leaves 0: a matching draft accepts more than half on ordinary text",),
    measure="Ten ordinary prompts at concurrency 1, then diagnose now URL: acceptance and tokens per step above 1.5.",
    undo="Switch speculation off until it accepts.",
    requires="config_spec == 1",
    then=("3.2 fewer tokens, once it accepts", "3.2 off, if a right draft still accepts too little"),
    note="Exactly 1.00 tokens per step is a fault, not a weak draft: wrong head, wrong tokenizer, wrong dtype, or an engine defect. Check the issue list of your version.",
)

ENTRY = Entry(
    id="3.2",
    phase=3,
    title="Speculative decoding",
    default_state="Off. Needs nothing for n-gram, MTP heads in the model, or a draft made for it.",
    what="n-gram first, then the model's MTP heads or EAGLE, then a small draft model; judge at the concurrency that you serve.",
    impact="1.5-2.5 times faster decode at 70 % acceptance and low to medium concurrency; below 50 % it hurts.",
    risk="Takes memory and compute; collapses at saturation; acceptance depends on the workload.",
    evaluation="Acceptance, TPOT and total throughput over a concurrency sweep; the crossover is part of the result.",
    moves=(NGRAM, EAGLE, FEWER, LOAD, OFF, DRAFT),
)
