"""Guide entry 1.1: chunked prefill."""

from diagnose.guide.declare import Entry, Flag, Move

ENABLE = Move(
    id="enable",
    title="cut long prefills into chunks",
    direction="on",
    flags=(
        Flag(
            "vllm",
            "remove --no-enable-chunked-prefill (or --enable-chunked-prefill=False); first --max-num-batched-tokens to try: {value} (never below --max-num-seqs)",
            since="0.8.0",
        ),
        Flag(
            "vllm",
            "--enable-chunked-prefill --max-num-batched-tokens {value} (never below --max-num-seqs)",
            until="0.7.3",
        ),
        Flag("sglang", "--chunked-prefill-size {value} (a multiple of the page size; -1 means off)"),
    ),
    expect=(
        "ITL p99 falls, typically 2-5 times: a long prompt no longer stops the decode steps",
        "TTFT of the longest prompts rises a little: their prefill takes more steps",
    ),
    measure="diagnose now URL with and without it at the same load: p50 and p99 of TTFT and of ITL, and generated tokens per second.",
    undo="Restore the previous setting of the flag and restart.",
    risk="latency",
    ruled_out="config_decode_role == 1",
    applied="config_chunked_prefill == 1",
    sizing="chunk_budget",
    fallback="512",
    then=(
        "1.1 a larger budget if TTFT of long prompts suffers",
        "3.3 disaggregation if ITL still follows prefill arrivals",
    ),
    note="Prefix caching together with chunked prefill is the safe pair: more throughput, same output.",
)

LOWER = Move(
    id="lower-budget",
    title="lower the chunk budget",
    direction="lower",
    flags=(
        Flag("vllm", "--max-num-batched-tokens {value} (never below --max-num-seqs: the engine refuses to start)"),
        Flag("sglang", "--chunked-prefill-size {value} (a multiple of the page size)"),
    ),
    expect=("ITL p99 falls towards the time of one chunk", "TTFT of long prompts rises: more steps per prompt"),
    measure="diagnose now URL at the same load after each halving: ITL p99 must fall by more than TTFT p99 rises; stop when it does not.",
    undo="Set the previous budget again.",
    risk="latency",
    requires="config_chunked_prefill == 1",
    ruled_out="config_chunk_budget > 0 and config_chunk_budget <= 256 or config_decode_role == 1",
    sizing="chunk_budget",
    fallback="<half of the current budget, not under 512 in the first step>",
    then=(
        "1.1 mixed chunks (SGLang) or a cap on long prompts (vLLM)",
        "3.3 disaggregation, when the smallest useful budget is not enough",
    ),
    note="A budget near the longest prompt is chunked prefill in name only.",
)

RAISE = Move(
    id="raise-budget",
    title="raise the chunk budget",
    direction="raise",
    flags=(
        Flag("vllm", "--max-num-batched-tokens {value}"),
        Flag("sglang", "--chunked-prefill-size {value} (--max-prefill-tokens must not be smaller)"),
    ),
    expect=(
        "TTFT of long prompts and prompt tokens per second improve: fewer steps per prompt",
        "ITL p99 rises with the size of a chunk",
    ),
    measure="diagnose now URL at the same load: TTFT p99 and prompt tokens per second must gain while ITL p99 stays within its target.",
    sizing="chunk_budget_up",
    fallback="<twice the current budget>",
    undo="Set the previous budget again.",
    risk="latency",
    requires="config_chunked_prefill == 1",
    ruled_out="config_chunk_budget >= 16384",
    then=("1.1 a smaller budget if ITL p99 leaves its target", "2.1 activations grow with the budget and take KV room"),
    note="Memory for activations grows with the budget: compare the KV size in the start-up log before and after.",
)

MIXED = Move(
    id="mixed-chunk",
    title="let decode run beside prefill chunks",
    direction="on",
    flags=(
        Flag(
            "vllm",
            "--long-prefill-token-threshold 512 (V1 always mixes decode with chunks; this caps the share of one long prompt in a step)",
            since="0.8.0",
        ),
        Flag("vllm", "--enable-chunked-prefill (only then a V0 step holds prefill and decode together)", until="0.7.3"),
        Flag(
            "sglang",
            "--enable-mixed-chunk, or --prefill-decode-interval 4 (decode rounds between two prefills)",
            since="0.5.19",
        ),
        Flag("sglang", "--enable-mixed-chunk", until="0.5.18"),
    ),
    expect=(
        "decode steps are no longer skipped while prompts are prefilled: ITL p99 falls",
        "TTFT rises a little under load",
    ),
    measure="diagnose now URL at the same load: ITL p99 and the share of gaps above the stall limit, with TTFT p99 beside them.",
    undo="Remove the flag.",
    risk="latency",
    ruled_out="config_spec == 1 or config_decode_role == 1 or config_chunked_prefill == 0",
    applied="config_mixed_chunk == 1",
    then=("3.3 disaggregation, if ITL still follows prefill arrivals",),
    note="SGLang runs prefill before decode by default, and turns mixed chunks off when speculation is on.",
)

LONG = Move(
    id="limit-long-prefills",
    title="limit how much of a step long prompts may take",
    direction="lower",
    flags=(
        Flag("vllm", "--long-prefill-token-threshold 512 --long-prefill-token-threshold-adaptive", since="0.31.0"),
        Flag(
            "vllm",
            "--long-prefill-token-threshold 512 (V1 has no concurrent partial prefills)",
            since="0.8.0",
            until="0.30.0",
        ),
        Flag(
            "vllm",
            "--max-num-partial-prefills 2 --max-long-partial-prefills 1 --long-prefill-token-threshold 2048",
            since="0.7.3",
            until="0.7.3",
        ),
        Flag("vllm", "no such limit before 0.7.3: lower --max-num-batched-tokens instead", until="0.7.2"),
        Flag(
            "sglang",
            "--prefill-decode-interval 4 (decode rounds between prefills) or --prefill-max-requests 1",
            since="0.5.19",
        ),
        Flag("sglang", "--prefill-max-requests 1 (prompts prefilled in one batch)", since="0.5.7", until="0.5.18"),
        Flag(
            "sglang",
            "no such limit before 0.5.7: lower --chunked-prefill-size and --max-prefill-tokens",
            until="0.5.6.post2",
        ),
    ),
    expect=(
        "short prompts and running requests pass a long prompt: TTFT p50 and ITL p99 fall",
        "TTFT of the long prompts rises",
    ),
    measure="diagnose now URL at the same mix of lengths: TTFT p50 against TTFT p99, and ITL p99.",
    undo="Remove the flag.",
    risk="latency",
    requires="config_chunked_prefill == 1",
    ruled_out="config_decode_role == 1",
    then=("3.3 disaggregation, when long prompts need capacity of their own",),
    note="Worth it for a mixed load; with prompts of one length it only delays everybody.",
)

ENTRY = Entry(
    id="1.1",
    phase=1,
    title="Chunked prefill",
    default_state="On in vLLM since V1 (0.8.0) and in SGLang; in vLLM V0 only above 32K context. A budget near the prompt length makes it ineffective.",
    what="Cut long prompts into chunks so that decode steps run in between; size the budget from the prompt lengths, 512 tokens to start.",
    impact="ITL p99 typically 2-5 times lower where long prefills block decode.",
    risk="TTFT of very long prompts rises slightly.",
    evaluation="The same load with and without: p50 and p99 of TTFT and of ITL.",
    moves=(ENABLE, LOWER, RAISE, MIXED, LONG),
)
