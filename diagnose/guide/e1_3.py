"""Guide entry 1.3: attention backend."""

from diagnose.guide.declare import Entry, Flag, Move

CHOOSE = Move(
    id="choose-backend",
    title="use the faster attention backend",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "--attention-backend FLASH_ATTN or FLASHINFER (MLA: FLASH_ATTN_MLA, FLASHMLA, FLASHINFER_MLA, CUTLASS_MLA)",
            since="0.13.0",
        ),
        Flag("vllm", "VLLM_ATTENTION_BACKEND=FLASH_ATTN or FLASHINFER (the flag came with 0.13)", until="0.12.0"),
        Flag(
            "sglang",
            "--attention-backend fa3 or flashinfer, or one per phase: --prefill-attention-backend, --decode-attention-backend",
            since="0.4.9.post6",
        ),
        Flag("sglang", "--attention-backend fa3, flashinfer or triton", since="0.4.5", until="0.4.9.post5"),
        Flag("sglang", "--attention-backend flashinfer or triton", until="0.4.4.post4"),
    ),
    expect=(
        "step time falls: the wrong backend costs 10-30 % of attention-bound work",
        "TTFT and ITL follow, most at long context",
    ),
    measure="The same fixed load with each supported backend at your context length and batch: ITL mean, TTFT mean, tokens per second; take the winner.",
    undo="Remove the flag: the engine chooses again.",
    ruled_out="config_cpu == 1",
    then=(
        "2.2 a backend may not support full CUDA graphs: read the mode in the start-up log",
        "2.3 or an FP8 KV cache",
    ),
    note="The winner depends on the attention pattern, batch and length: a short-prompt test says nothing about 32K. A backend that cannot run fails at start-up.",
)

REMOVE = Move(
    id="remove-override",
    title="drop the forced attention backend",
    direction="off",
    flags=(
        Flag("vllm", "remove --attention-backend (and backend in --attention-config)", since="0.13.0"),
        Flag("vllm", "unset VLLM_ATTENTION_BACKEND", until="0.12.0"),
        Flag(
            "sglang",
            "remove --attention-backend, --prefill-attention-backend and --decode-attention-backend",
            since="0.4.9.post6",
        ),
        Flag("sglang", "remove --attention-backend", until="0.4.9.post5"),
    ),
    expect=(
        "the engine's own choice for this model and device returns",
        "step time falls where the override was slower",
    ),
    measure="The same fixed load before and after: ITL mean and tokens per second; the start-up log must name the backend that is now used.",
    undo="Set the override again.",
    requires="config_attention_explicit == 1",
    then=("1.3 measure the second supported backend",),
    note="Overrides outlive their reason: images and wrappers carry them over engine upgrades.",
)

MATCH = Move(
    id="match-kv-dtype",
    title="stop the KV dtype from forcing a slow kernel",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "--kv-cache-dtype auto, or keep fp8 with a backend that supports it: --attention-backend FLASHINFER (Hopper also FLASH_ATTN)",
            since="0.13.0",
        ),
        Flag("vllm", "--kv-cache-dtype auto, or keep fp8 with VLLM_ATTENTION_BACKEND=FLASHINFER", until="0.12.0"),
        Flag("sglang", "--kv-cache-dtype auto, or keep fp8_e4m3 with a backend that reads it natively"),
    ),
    expect=(
        "the fast attention kernel is used again: step time falls, most in prefill of long prompts",
        "with auto the KV capacity halves",
    ),
    measure="Same load, both settings: read the backend line of the start-up log, then TTFT mean, ITL mean and KV usage peak.",
    undo="Restore --kv-cache-dtype and the backend.",
    requires="config_kv_fp8 == 1",
    ruled_out="config_cpu == 1",
    then=("2.1 with auto: fewer sequences fit", "2.3 FP8 KV pays only where the cache is the limit"),
    note="FP8 KV that falls back to another kernel can cost more than its memory is worth.",
)

ENTRY = Entry(
    id="1.3",
    phase=1,
    title="Attention backend",
    default_state="Chosen by the engine from device, head size, dtype and block size; the choice stands in the start-up log.",
    what="Read which backend runs, and measure the other supported ones on a fixed load.",
    impact="The wrong backend adds 10-30 % to attention-bound work.",
    risk="None while measuring: an unsupported backend stops the start, it does not change results silently.",
    evaluation="A fixed load per backend, step times compared at your context length and batch.",
    moves=(CHOOSE, REMOVE, MATCH),
)
