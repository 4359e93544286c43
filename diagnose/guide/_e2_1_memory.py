"""Moves of guide entry 2.1 that change the KV room itself: memory, context length, state slots."""

from diagnose.guide.declare import Flag, Move

_MORE_KV = Move(
    id="more-kv-memory",
    title="give the KV cache more memory",
    direction="raise",
    flags=(
        Flag(
            "vllm",
            "--gpu-memory-utilization 0.95 (or the bytes themselves: --kv-cache-memory-bytes); CPU builds: VLLM_CPU_KVCACHE_SPACE in GiB",
            since="0.10.2",
        ),
        Flag("vllm", "--gpu-memory-utilization 0.95; CPU builds: VLLM_CPU_KVCACHE_SPACE in GiB", until="0.10.1.1"),
        Flag(
            "sglang",
            "--mem-fraction-static up by 0.02, as long as 5-8 GB stay free for activations (available_gpu_mem in the ready line)",
        ),
    ),
    expect=("KV tokens grow by the added bytes / KV bytes per token", "more requests fit before the first preemption"),
    measure="KV size in the start-up log before and after, then diagnose now URL at peak: KV usage, preemptions, and no out-of-memory error in the log.",
    undo="Set the previous share again.",
    risk="availability",
    ruled_out="log_oom_cuda > 0 or config_memory_utilization >= 0.97",
    then=(
        "2.3 KV cache in FP8",
        "2.2 fewer captured graphs also free memory",
        "3.1 wider TP, when the weights leave too little",
    ),
    note="Steps of 0.02: the rest belongs to activations, graphs and the driver. vLLM counts graph memory inside the share since 0.20.",
)

_LESS_KV = Move(
    id="less-kv-memory",
    title="leave more memory outside the KV cache",
    direction="lower",
    flags=(
        Flag("vllm", "--gpu-memory-utilization down by 0.05"),
        Flag(
            "sglang",
            "--mem-fraction-static down by 0.05, or a smaller --chunked-prefill-size when prefill is what fails",
        ),
    ),
    expect=("no out-of-memory error at peak", "KV tokens shrink by 5 % of the device's memory"),
    measure="Peak load for an hour without CUDA out of memory in the log; then diagnose now URL: KV usage peak and preemptions.",
    undo="Set the previous share again.",
    risk="latency",
    then=("2.2 trim captured graphs", "2.1 fewer sequences, if the cache is now full", "2.3 smaller weights"),
    note="An error during graph capture asks for fewer graphs first; one during prefill for a smaller chunk budget.",
)

_SHORTER = Move(
    id="shorter-context",
    title="bound the context and output length",
    direction="lower",
    flags=(
        Flag(
            "vllm",
            "--max-model-len {value} (auto picks the longest that fits), and max_tokens in requests",
            since="0.14.0",
        ),
        Flag("vllm", "--max-model-len {value}, and max_tokens in requests", until="0.13.0"),
        Flag("sglang", "--context-length {value}, and max_new_tokens in requests"),
    ),
    expect=("the engine starts, or one long request no longer pins the pool", "requests above the limit are refused"),
    measure="Start-up log: maximum concurrency at full length of at least 1; then diagnose now URL: waiting and KV usage while long requests run.",
    undo="Remove the flag: the model's own length applies.",
    risk="availability",
    sizing="fit_context",
    fallback="<longest context that you serve, in tokens>",
    then=("2.1 more KV memory", "2.3 KV cache in FP8: twice the context in the same memory"),
    note="The limit bounds one request; it does not reserve memory for each of them.",
)

_MAMBA = Move(
    id="mamba-slots",
    title="raise the state slots of a hybrid model",
    direction="raise",
    flags=(
        Flag(
            "vllm",
            "--gpu-memory-utilization up by 0.02, or --mamba-ssm-cache-dtype float16 for half-size states: slots and KV share one pool",
            since="0.13.0",
        ),
        Flag("vllm", "--gpu-memory-utilization up by 0.02: slots and KV share one pool", until="0.12.0"),
        Flag(
            "sglang",
            "--mamba-full-memory-ratio 1.2 (default 0.9: state memory over KV memory) or --max-mamba-cache-size N",
            since="0.5.4",
        ),
        Flag(
            "sglang",
            "--max-mamba-cache-size N (running requests x slots per request)",
            since="0.5.2",
            until="0.5.3.post3",
        ),
        Flag("sglang", "upgrade: state slots cannot be set before 0.5.2", until="0.5.1.post3"),
    ),
    expect=(
        "running requests rise to the limit that was asked for, the queue falls",
        "KV tokens shrink by what the states take",
    ),
    measure="diagnose now URL: state usage below 95 %, running up, KV usage still below 85 %.",
    undo="Remove the flag.",
    then=("2.1 more sequences", "2.1 KV usage, now that states took memory"),
    note="Speculation and the radix cache need several slots per request: read 'state slots per request' in the log.",
)

MEMORY_MOVES = (_MORE_KV, _LESS_KV, _SHORTER, _MAMBA)
