"""Guide entry 2.1: maximum sequences and KV budget."""

from diagnose.guide._e2_1_memory import MEMORY_MOVES
from diagnose.guide.declare import Entry, Flag, Move

FEWER = Move(
    id="fewer-sequences",
    title="run fewer sequences at once",
    direction="lower",
    flags=(
        Flag("vllm", "--max-num-seqs {value} (per data-parallel rank)"),
        Flag("sglang", "--max-running-requests {value}"),
    ),
    expect=(
        "preemptions go to 0 and KV usage stays below 85 %",
        "TTFT and ITL tails fall; throughput should not: preempted work is computed twice, a storm costs up to 40 %",
    ),
    measure="diagnose now URL at the same load: preemptions per finished request, KV usage peak, TTFT p99, generated tokens per second.",
    undo="Set the previous limit again.",
    risk="latency",
    ruled_out="config_max_num_seqs == 1 or requests_running_max <= 1",
    sizing="max_sequences",
    fallback="<the running requests at which KV usage stays below 85 %>",
    then=("2.3 KV cache in FP8: twice the room", "4.3 scale on queue depth, if the queue stays"),
    note="A benchmark taken while requests are preempted is not publishable. Waiting that grows before the target concurrency is reached means preemption, not demand.",
)

MORE = Move(
    id="more-sequences",
    title="run more sequences at once",
    direction="raise",
    flags=(
        Flag("vllm", "--max-num-seqs {value} (per data-parallel rank; --max-num-batched-tokens must not be smaller)"),
        Flag("sglang", "--max-running-requests {value}"),
    ),
    expect=("the queue and TTFT fall, generated tokens per second rise", "ITL rises with the batch"),
    measure="diagnose now URL at the same load: waiting, KV usage peak (stay below 85 %), preemptions (stay at 0), tokens per second, ITL p99.",
    undo="Set the previous limit again.",
    risk="latency",
    ruled_out="kv_usage_max >= 0.95 or preemptions_per_finished > 0.1",
    sizing="raise_max_sequences",
    fallback="<twice the current limit>",
    then=(
        "2.2 graph sizes must cover the new batch",
        "2.1 fewer again, at the first preemptions",
        "4.3 a replica, when ITL leaves its target",
    ),
    note="Raise in steps, each measured: past the point where ITL leaves its target, capacity has to come from replicas.",
)

ADMISSION = Move(
    id="admission",
    title="admit fewer prompts that are not computed yet",
    direction="lower",
    flags=(
        Flag(
            "vllm",
            "--watermark 0.05 (KV blocks kept free on admission) with --scheduler-reserve-full-isl, and a smaller --max-num-seqs",
            since="0.24.0",
        ),
        Flag(
            "vllm",
            "--scheduler-reserve-full-isl (admit only prompts that fit whole) and a smaller --max-num-seqs",
            since="0.19.0",
            until="0.23.0",
        ),
        Flag("vllm", "a smaller --max-num-seqs: admission has no knob of its own before 0.19", until="0.18.1"),
        Flag("sglang", "--prefill-max-requests 4 and --max-prefill-tokens 8192", since="0.5.7"),
        Flag("sglang", "--max-prefill-tokens 8192 and a smaller --max-running-requests", until="0.5.6.post2"),
    ),
    expect=(
        "fewer half-computed prompts hold KV: running requests finish sooner",
        "TTFT gets more even, generated tokens per second rise",
    ),
    measure="diagnose now URL at the same load: generated tokens per second and TTFT p99 up against the number waiting.",
    undo="Remove the flag.",
    risk="latency",
    then=("3.3 disaggregation, when prefill alone fills the engine", "4.3 a replica"),
    note="Each admitted prompt pins KV for text that is not computed yet; more sequences make that worse.",
)

CLIENT = Move(
    id="cap-client",
    title="cap the requests in flight at the client",
    direction="lower",
    flags=(
        Flag(
            "vllm",
            "client: at most {value} requests in flight; server side --max-num-queued-reqs answers 503 beyond it",
            since="0.29.0",
        ),
        Flag("vllm", "client: at most {value} requests in flight (bench: --max-concurrency {value})", until="0.28.0"),
        Flag(
            "sglang",
            "client: at most {value} requests in flight; server side --max-queued-requests rejects beyond it",
            since="0.4.9.post6",
        ),
        Flag(
            "sglang",
            "client: at most {value} requests in flight (bench: --max-concurrency {value})",
            until="0.4.9.post5",
        ),
    ),
    expect=("queue time leaves TTFT: what is measured is the engine, not its queue", "throughput is unchanged"),
    measure="diagnose now URL at the new limit: waiting near 0, tokens per second as before, TTFT without queue time.",
    undo="Raise the client's limit again.",
    cost="none",
    sizing="client_in_flight",
    fallback="<max sequences x replicas>",
    then=("2.1 more sequences, if KV usage stays below 50 %", "4.3 a replica, if users really send that much"),
    note="A queue that the client makes (rate inf, closed loop) is no demand: neither scale nor page on it.",
)

CONSERVATIVE = Move(
    id="conservativeness",
    title="admit more carefully",
    direction="raise",
    flags=(
        Flag("vllm", "--watermark 0.05 (share of KV blocks kept free on admission)", since="0.24.0"),
        Flag("vllm", "no such knob before 0.24: lower --max-num-seqs", until="0.23.0"),
        Flag("sglang", "--schedule-conservativeness 1.3 (default 1.0; attention DP multiplies it by 0.3)"),
    ),
    expect=("retractions become rare: the scheduler reserves more of the output length", "a little less concurrency"),
    measure="diagnose now URL at the same load: retractions per finished request, KV usage peak, tokens per second.",
    undo="Set 1.0 again (vLLM: remove the flag).",
    risk="latency",
    then=("2.1 fewer sequences, if retractions stay", "2.3 KV cache in FP8"),
    note="The other way round: KV usage under 90 % with a queue asks for a value such as 0.3. About one retraction a minute is good packing.",
)

ENTRY = Entry(
    id="2.1",
    phase=2,
    title="Right-size max sequences and KV budget",
    default_state="Limits are defaults by device (vLLM 256 or 1,024; SGLang from memory) and know nothing about your context lengths.",
    what="max sequences = KV tokens / tokens per request at 85 % occupancy; KV tokens = (GPU memory - weights - activations - graphs) / KV bytes per token. `diagnose size` shows every term.",
    impact="Ends preemption storms, the most common cause of unexplained latency spikes (up to 40 % of throughput).",
    risk="Too low wastes capacity, too high preempts.",
    evaluation="KV usage at peak load (vllm:kv_cache_usage_perc, sglang:token_usage): regularly above 95 % lower the limit, below 50 % raise it.",
    moves=(FEWER, MORE, *MEMORY_MOVES, ADMISSION, CLIENT, CONSERVATIVE),
)
