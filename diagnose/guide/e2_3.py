"""Guide entry 2.3: quantization of weights and of the KV cache."""

from diagnose.guide.declare import Entry, Flag, Move

_QUALITY = "your task's evaluation set before and after (not perplexity alone), then"

WEIGHTS_FP8 = Move(
    id="weights-fp8",
    title="weights in FP8",
    direction="on",
    flags=(
        Flag("vllm", "serve the model's FP8 checkpoint, or --quantization fp8 to convert at load"),
        Flag("sglang", "serve the model's FP8 checkpoint, or --quantization fp8 to convert at load"),
    ),
    expect=(
        "weight memory halves and goes to the KV cache",
        "decode gets faster: reading weights is the limit at small batch",
        "little quality loss on most tasks",
    ),
    measure=f"{_QUALITY} diagnose now URL at the operating load: tokens per second, ITL mean, KV usage peak.",
    undo="Serve the previous checkpoint.",
    cost="redeploy",
    risk="quality",
    ruled_out="config_cpu == 1",
    applied="config_weights_quantized == 1",
    then=("2.1 more sequences in the room that was freed", "3.1 a narrower TP may now fit"),
    note="Needs FP8 units (Hopper, Ada, MI300 or newer); elsewhere it runs weight-only. A calibrated checkpoint beats conversion at load.",
)

WEIGHTS_INT4 = Move(
    id="weights-int4",
    title="weights in INT4",
    direction="on",
    flags=(
        Flag("vllm", "serve an AWQ or GPTQ checkpoint; the method is read from it, with Marlin kernels where they fit"),
        Flag(
            "sglang",
            "serve an AWQ or GPTQ checkpoint; the method is read from it (--quantization awq_marlin or gptq_marlin to force the kernel)",
        ),
    ),
    expect=(
        "weight memory falls to a quarter",
        "faster decode at small batch; at large batch it can lose to FP8 and even to 16 bit",
    ),
    measure=f"{_QUALITY} tokens per second at the smallest and the largest concurrency that you serve.",
    undo="Serve the previous checkpoint.",
    cost="redeploy",
    risk="quality",
    applied="config_weights_quantized == 1",
    then=("2.1 more sequences in the room that was freed", "2.3 a compute-bound batch wants FP8, not weight-only INT4"),
    note="For hardware without FP8. Weight-only formats help memory-bound small batches, not concurrency in the hundreds.",
)

KV_FP8 = Move(
    id="kv-fp8",
    title="KV cache in FP8",
    direction="on",
    flags=(
        Flag("vllm", "--kv-cache-dtype fp8 (scales from the checkpoint when it has them)"),
        Flag(
            "sglang",
            "--kv-cache-dtype fp8_e4m3 (--quantization-param-path when the checkpoint has no scales)",
            since="0.4.1",
        ),
        Flag("sglang", "--kv-cache-dtype fp8_e5m2", until="0.4.0.post2"),
    ),
    expect=(
        "twice the KV tokens in the same memory: preemptions and the queue fall",
        "attention reads half the bytes at long context",
    ),
    measure=f"{_QUALITY} diagnose now URL at the same load: KV usage peak, preemptions, TTFT p99; the backend line of the log must not change to a slower kernel.",
    undo="--kv-cache-dtype auto.",
    risk="quality",
    applied="config_kv_fp8 == 1",
    sizing="kv_fp8_gain",
    then=(
        "1.3 check that the attention backend reads FP8 natively",
        "2.1 more sequences in the new room",
        "4.3 a replica, if it fills again",
    ),
    note="Pays only under KV pressure and at long context: at 128K compare FP16 and FP8 KV on your own long documents, failures included. State of hybrid models does not shrink.",
)

KV_DEFAULT = Move(
    id="kv-default",
    title="KV cache back in the model's dtype",
    direction="off",
    flags=(
        Flag("vllm", "--kv-cache-dtype auto"),
        Flag("sglang", "--kv-cache-dtype auto"),
    ),
    expect=("the fast attention kernel is used again, quality as before", "KV tokens halve"),
    measure="diagnose now URL at the same load: TTFT mean and ITL mean must fall, KV usage peak must stay below 85 %.",
    undo="--kv-cache-dtype fp8.",
    requires="config_kv_fp8 == 1",
    then=("2.1 fewer sequences, if KV usage passes 85 %", "1.3 a backend with native FP8 KV"),
    note="Without KV pressure an FP8 cache has nothing to give.",
)

KERNEL = Move(
    id="change-kernel",
    title="run the quantized weights on a faster kernel",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "drop a forced --quantization awq or gptq (the engine picks the Marlin kernel), or serve an FP8 or W8A8 checkpoint",
        ),
        Flag("sglang", "--quantization awq_marlin or gptq_marlin instead of awq or gptq, or serve an FP8 checkpoint"),
    ),
    expect=("throughput grows with the batch again", "ITL falls at every concurrency"),
    measure="Tokens per second at 1, 8, 32 and the largest concurrency: the curve must rise; the start-up log names the kernel.",
    undo="Restore the flag.",
    then=("2.3 FP8 weights, when the batch is compute-bound",),
    note="A format without an optimized kernel on your device is slower than 16 bit: the log says 'not fully optimized' or names a fallback.",
)

UNDO = Move(
    id="undo-weights",
    title="weights back in 16 bit",
    direction="off",
    flags=(
        Flag("vllm", "serve the 16-bit checkpoint without --quantization"),
        Flag("sglang", "serve the 16-bit checkpoint without --quantization"),
    ),
    expect=(
        "throughput and quality of the unquantized model return",
        "weights take two to four times the memory: less KV room",
    ),
    measure="The same benchmark on both: tokens per second at your concurrency, and KV usage peak.",
    undo="Serve the quantized checkpoint.",
    cost="redeploy",
    requires="config_weights_quantized == 1",
    then=("2.1 the KV room that is left", "3.1 wider TP, when the weights no longer fit"),
    note="When throughput at your batch is lower with quantization, memory was not the limit.",
)

ENTRY = Entry(
    id="2.3",
    phase=2,
    title="Quantization",
    default_state="Weights in BF16 or FP16, KV cache in the model's dtype.",
    what="FP8 weights first where the hardware has them, else INT4 (AWQ, GPTQ); an FP8 KV cache under KV pressure.",
    impact="FP8 halves weight memory, INT4 quarters it; FP8 KV doubles the tokens that fit.",
    risk="Quality: measure it together with throughput, never one without the other.",
    evaluation="Quality on your own evaluation set, then throughput and latency at the operating load.",
    moves=(WEIGHTS_FP8, WEIGHTS_INT4, KV_FP8, KV_DEFAULT, KERNEL, UNDO),
)
