"""Guide entry 2.2: CUDA graph capture."""

from diagnose.guide.declare import Entry, Flag, Move

ENABLE = Move(
    id="enable",
    title="capture CUDA graphs again",
    direction="on",
    flags=(
        Flag("vllm", "remove --enforce-eager, -O0 and cudagraph_mode NONE in --compilation-config", since="0.12.0"),
        Flag("vllm", "remove --enforce-eager", until="0.11.2"),
        Flag(
            "sglang",
            "remove --disable-cuda-graph and --disable-decode-cuda-graph (--cuda-graph-backend-decode full)",
            since="0.5.14",
        ),
        Flag("sglang", "remove --disable-cuda-graph", until="0.5.13.post1"),
    ),
    expect=(
        "decode steps get 10-20 % faster, more for small models and small batches",
        "start takes longer, graphs take GPU memory",
    ),
    measure="The same load before and after: ITL mean and tokens per second; the start-up log must show the captured sizes.",
    undo="Set the flag again.",
    risk="availability",
    ruled_out="config_cpu == 1",
    applied="config_enforce_eager == 0 unless config_cpu == 1",
    then=("2.2 cover the batch sizes in use", "2.1 graphs take memory that the KV cache had"),
    note="Wrappers and old recipes add --enforce-eager for a bug that is long fixed: read the resolved arguments.",
)

COVER = Move(
    id="cover-batch",
    title="capture the batch sizes that run",
    direction="raise",
    flags=(
        Flag(
            "vllm",
            "--max-cudagraph-capture-size {value} (in tokens: times 1 + draft tokens with speculation)",
            since="0.11.1",
        ),
        Flag("vllm", "--cuda-graph-sizes {value}", since="0.9.0", until="0.11.0"),
        Flag(
            "vllm",
            "--compilation-config '{\"cudagraph_capture_sizes\": [1, 2, 4, 8, 16, 32, 64, 128, {value}]}'",
            since="0.6.6",
            until="0.8.5.post1",
        ),
        Flag(
            "vllm",
            "V0 before 0.6.6 captures up to 256: keep --max-num-seqs within it, and raise --max-seq-len-to-capture to the served context",
            until="0.6.5",
        ),
        Flag("sglang", "--cuda-graph-max-bs-decode {value}", since="0.5.14"),
        Flag("sglang", "--cuda-graph-max-bs {value}", until="0.5.13.post1"),
    ),
    expect=(
        "no step of the real load runs eagerly: ITL at high concurrency falls",
        "each added shape takes memory (100-300 MB by the guide)",
    ),
    measure="diagnose now URL at peak: share of decode steps in graphs (SGLang), ITL mean at the peak batch; the captured sizes in the start-up log.",
    undo="Remove the flag.",
    ruled_out="config_enforce_eager == 1 or config_cpu == 1",
    sizing="graph_batch",
    fallback="<the peak of running requests, rounded up to 8>",
    then=("2.1 graphs take KV room", "2.1 a larger --max-num-seqs needs larger graphs again"),
    note="The cap on running requests need not be a captured size: padding goes up to the next captured one, past the last one there is none.",
)

TRIM = Move(
    id="trim-captures",
    title="capture fewer graphs",
    direction="lower",
    flags=(
        Flag(
            "vllm",
            "--cudagraph-capture-sizes 1 2 4 8 16 32 64 (up to the batch that really runs); keep VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1",
            since="0.20.0",
        ),
        Flag(
            "vllm",
            "--cudagraph-capture-sizes 1 2 4 8 16 32 64 and VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1, so that graphs count as used memory",
            since="0.18.0",
            until="0.19.1",
        ),
        Flag(
            "vllm",
            "--cudagraph-capture-sizes 1 2 4 8 16 32 64, and --gpu-memory-utilization down by the size that capture took",
            since="0.11.1",
            until="0.17.1",
        ),
        Flag(
            "vllm",
            "--cuda-graph-sizes 1 2 4 8 16 32 64, and --gpu-memory-utilization down by the size that capture took",
            since="0.9.0",
            until="0.11.0",
        ),
        Flag(
            "vllm",
            "--compilation-config '{\"cudagraph_capture_sizes\": [1, 2, 4, 8, 16, 32, 64]}'",
            since="0.6.6",
            until="0.8.5.post1",
        ),
        Flag("vllm", "a smaller --max-num-seqs: V0 captures up to it", until="0.6.5"),
        Flag(
            "sglang",
            "--cuda-graph-bs-decode 1 2 4 8 16 32 64 or a lower --cuda-graph-max-bs-decode; --disable-prefill-cuda-graph",
            since="0.5.14",
        ),
        Flag(
            "sglang",
            "--cuda-graph-max-bs 64 or --cuda-graph-bs 1 2 4 8 16 32 64; --disable-piecewise-cuda-graph",
            since="0.5.10",
            until="0.5.13.post1",
        ),
        Flag("sglang", "--cuda-graph-max-bs 64 or --cuda-graph-bs 1 2 4 8 16 32 64", since="0.4.1", until="0.5.9"),
        Flag("sglang", "--cuda-graph-max-bs 64", until="0.4.0.post2"),
    ),
    expect=(
        "graph memory falls by 100-300 MB per dropped shape and goes to the KV cache",
        "batches above the largest size run eagerly",
    ),
    measure="Graph memory and KV size in the start-up log before and after; diagnose now URL at peak: ITL mean must not rise.",
    undo="Remove the flag.",
    risk="latency",
    ruled_out="config_enforce_eager == 1 or config_cpu == 1",
    then=("2.1 more KV memory with what was freed", "2.2 cover the batch, if the peak now runs eagerly"),
    note="When the estimate is below what capture takes, the KV cache was sized too large: correct the share of memory, not only the sizes.",
)

WARM = Move(
    id="warm-up",
    title="warm up the shapes before traffic arrives",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "send one request per usual prompt length and batch before the pod is ready; keep kernel_config.enable_jit_warmup on",
            since="0.30.0",
        ),
        Flag(
            "vllm",
            "send one request per usual prompt length, batch, adapter and grammar before the pod is ready",
            until="0.29.0",
        ),
        Flag(
            "sglang",
            "remove --skip-server-warmup, and send one request per usual shape before the pod is ready (--warmups runs your own functions)",
            since="0.4.9.post6",
        ),
        Flag("sglang", "send one request per usual shape before the pod is ready", until="0.4.9.post5"),
    ),
    expect=(
        "no compilation while serving: the spikes in ITL and TTFT after a start disappear",
        "graph and reserved memory stay flat",
    ),
    measure="Engine log under load: no compile or capture line after start-up; diagnose now URL: growth of graph memory and ITL p99.",
    undo="Drop the warm-up.",
    cost="reload",
    ruled_out="config_cpu == 1",
    then=("2.2 trim captures, if memory still grows", "2.1 less KV memory, until it does not"),
    note="A gap between reserved and allocated memory that keeps growing means shapes nobody foresaw; it ends out of memory.",
)

FULL = Move(
    id="full-mode",
    title="get full CUDA graphs back",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            '--compilation-config \'{"cudagraph_mode": "FULL_AND_PIECEWISE"}\' with an attention backend that supports it (the log line names the one that does not)',
            since="0.10.1",
        ),
        Flag("vllm", "no graph mode to choose before 0.10.1: change the attention backend or upgrade", until="0.10.0"),
        Flag("sglang", "--cuda-graph-backend-decode full", since="0.5.14"),
        Flag(
            "sglang",
            "decode graphs are always full: change the attention backend that the log names",
            until="0.5.13.post1",
        ),
    ),
    expect=("decode steps lose their eager attention part: ITL falls, most for small models",),
    measure="Start-up log: no line that lowers the graph mode; the same load before and after: ITL mean.",
    undo="Remove the flag.",
    ruled_out="config_enforce_eager == 1 or config_cpu == 1",
    then=("1.3 another backend may be slower in itself: measure both",),
    note="Speculation, layer-wise KV connectors and some backends lower the mode on their own; a decode-only worker can use FULL_DECODE_ONLY.",
)

ENTRY = Entry(
    id="2.2",
    phase=2,
    title="CUDA graph capture",
    default_state="On by default; sizes reach about twice the sequence limit, up to 512 tokens (vLLM) or a limit by device memory (SGLang).",
    what="Check that graphs are captured, that they cover the batches that run, and what memory they take.",
    impact="Decode steps 10-20 % faster; uncaptured shapes show as latency spikes.",
    risk="100-300 MB per captured shape, taken from the KV cache.",
    evaluation="Captured sizes in the start-up log against running requests; reserved less allocated memory over time.",
    moves=(ENABLE, COVER, TRIM, WARM, FULL),
)
