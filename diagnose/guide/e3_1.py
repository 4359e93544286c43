"""Guide entry 3.1: tensor, pipeline, expert and data parallelism."""

from diagnose.guide.declare import Entry, Flag, Move

NARROWER = Move(
    id="narrower-tp",
    title="narrower TP with replicas",
    direction="lower",
    flags=(
        Flag("vllm", "--tensor-parallel-size N/2, and a second replica on the freed GPUs behind the router"),
        Flag("sglang", "--tp-size N/2 with --dp-size 2, or a second replica behind the router"),
    ),
    expect=(
        "half the ranks per all-reduce, twice the independent engines: fleet throughput rises",
        "latency of one request may rise: each GPU computes more of it",
    ),
    measure="Both layouts at peak batch, not empty: tokens per second of the fleet, and TTFT and ITL p99 of one request.",
    undo="Restore the TP size.",
    cost="redeploy",
    risk="availability",
    requires="config_tp >= 2",
    ruled_out="config_tp == 1",
    then=("2.1 each replica has less KV room: size it again", "4.2 balance and prefix-aware routing over the replicas"),
    note="The weights must fit with KV headroom: `diagnose size` tells before you restart. TP is for latency; spare ranks are better as replicas.",
)

WIDER = Move(
    id="wider-tp",
    title="wider TP within the node",
    direction="raise",
    flags=(
        Flag("vllm", "--tensor-parallel-size 2N"),
        Flag("sglang", "--tp-size 2N"),
    ),
    expect=(
        "more KV room per engine and lower latency of one request",
        "more collectives per step: throughput per GPU falls",
    ),
    measure="diagnose now URL at the same load: ITL mean, KV usage peak, tokens per second per GPU.",
    undo="Restore the TP size.",
    cost="hardware",
    risk="latency",
    ruled_out="config_mla == 1",
    then=("3.1 check the interconnect: TP belongs inside one NVLink domain", "4.3 replicas for throughput"),
    note="For latency of big models, or when weights leave no KV room. An MLA model keeps a full KV copy on every rank: more TP adds no room there.",
)

PIPELINE = Move(
    id="pipeline",
    title="pipeline stages instead of TP across nodes",
    direction="on",
    flags=(
        Flag("vllm", "--pipeline-parallel-size <nodes> --tensor-parallel-size <GPUs per node> (TP x PP = all GPUs)"),
        Flag("sglang", "--pp-size <nodes> --tp-size <GPUs per node>, with --enable-dynamic-chunking", since="0.5.7"),
        Flag("sglang", "--pp-size <nodes> --tp-size <GPUs per node>", since="0.4.6", until="0.5.6.post2"),
        Flag("sglang", "no pipeline parallelism before 0.4.6: upgrade", until="0.4.5.post3"),
    ),
    expect=(
        "no all-reduce per layer over the slow link: throughput across nodes rises",
        "bubbles at low load: latency of one request rises",
    ),
    measure="Both layouts at peak load: tokens per second, TTFT mean, ITL mean; GPU utilization per stage should be even.",
    undo="Restore TP across the nodes.",
    cost="redeploy",
    risk="latency",
    then=("1.1 equal chunks keep the stages busy", "3.1 expert parallelism for MoE"),
    note="PP is for models past one node and for GPUs without NVLink.",
)

EXPERT = Move(
    id="expert-parallel",
    title="spread the experts of an MoE model",
    direction="on",
    flags=(
        Flag(
            "vllm",
            "--enable-expert-parallel (with --data-parallel-size for attention; --enable-eplb balances experts)",
            since="0.9.2",
        ),
        Flag("vllm", "--enable-expert-parallel", since="0.8.0", until="0.9.1"),
        Flag("vllm", "no expert parallelism before 0.8: upgrade", until="0.7.3"),
        Flag("sglang", "--ep-size <GPUs> (--moe-a2a-backend deepep across nodes)", since="0.5.3"),
        Flag("sglang", "--ep-size <GPUs> --enable-ep-moe", since="0.4.1", until="0.5.2"),
        Flag("sglang", "no expert parallelism before 0.4.1: upgrade", until="0.4.0.post2"),
    ),
    expect=(
        "each GPU holds fewer experts, whole: throughput of large batches rises",
        "latency depends on the balance of experts",
    ),
    measure="Both layouts at peak batch: tokens per second, ITL p99, and the load of the busiest rank.",
    undo="Remove the flag.",
    cost="redeploy",
    risk="latency",
    applied="config_ep >= 1",
    then=("3.1 attention DP for MLA models", "4.2 balance over DP ranks"),
    note="For throughput of MoE models: memory and token routing are the limits there, not dense compute. At small batch TP is faster.",
)

DP_ATTENTION = Move(
    id="dp-attention",
    title="data-parallel attention for MLA",
    direction="on",
    flags=(
        Flag("vllm", "--data-parallel-size <GPUs> --tensor-parallel-size 1 --enable-expert-parallel", since="0.8.4"),
        Flag(
            "vllm", "no attention data parallelism before 0.8.4: upgrade, or replicas with a narrower TP", until="0.8.3"
        ),
        Flag(
            "sglang",
            "--attn-dp-size <ranks, a divisor of the TP size> (replaces --dp-size with --enable-dp-attention)",
            since="0.5.22",
        ),
        Flag(
            "sglang", "--enable-dp-attention --dp-size <ranks, a divisor of the TP size>", since="0.4.5", until="0.5.21"
        ),
        Flag("sglang", "--enable-dp-attention (uses all TP ranks)", until="0.4.4.post4"),
    ),
    expect=(
        "each rank holds the KV of its own requests: KV room grows with the number of ranks",
        "preemptions and the queue fall; latency of one request at low load may rise",
    ),
    measure="diagnose now URL at peak: KV usage per rank, preemptions, tokens per second; KV tokens in the start-up log.",
    undo="Restore plain TP.",
    cost="redeploy",
    risk="latency",
    requires="config_mla == 1",
    applied="config_dp_attention == 1",
    then=("4.2 balance over the ranks", "2.1 size the sequences per rank"),
    note="A latent-attention cache cannot be split by heads. SGLang divides the chunk size by the ranks and multiplies conservativeness by 0.3.",
)

INTERCONNECT = Move(
    id="fix-interconnect",
    title="restore peer-to-peer and the custom all-reduce",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "remove --disable-custom-all-reduce and NCCL_P2P_DISABLE=1; the log says why it was disabled (topology, more than 8 ranks, container without IPC)",
        ),
        Flag(
            "sglang",
            "remove --disable-custom-all-reduce and NCCL_P2P_DISABLE=1; --enable-p2p-check when peer access is in doubt",
        ),
    ),
    expect=(
        "time per step falls: reductions no longer pass through the host",
        "GPU utilization of the ranks gets even",
    ),
    measure="nvidia-smi topo -m and the start-up log, then the same load: ITL mean and tokens per second.",
    undo="Set the flag again.",
    risk="availability",
    requires="config_tp >= 2",
    then=("3.1 narrower TP, when the GPUs have no peer-to-peer path",),
    note="Containers need --ipc=host or enough /dev/shm; PCIe-only boxes gain more from replicas than from TP.",
)

PREFILL_LAYOUT = Move(
    id="prefill-layout",
    title="a layout of its own for long prefill",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "--pipeline-parallel-size on prefill workers; --decode-context-parallel-size 2 where the KV of long contexts does not fit",
            since="0.10.2",
        ),
        Flag(
            "vllm",
            "--pipeline-parallel-size on prefill workers: no context parallelism before 0.10.2",
            until="0.10.1.1",
        ),
        Flag(
            "sglang",
            "--attn-cp-size 2 on prefill workers where the model supports it, or --pp-size with --enable-dynamic-chunking",
            since="0.5.9",
        ),
        Flag(
            "sglang", "--pp-size with --enable-dynamic-chunking on prefill workers", since="0.5.7", until="0.5.8.post1"
        ),
        Flag("sglang", "--pp-size on prefill workers", since="0.4.6", until="0.5.6.post2"),
        Flag("sglang", "no layout to choose before 0.4.6: upgrade", until="0.4.5.post3"),
    ),
    expect=("TTFT of very long prompts falls with the ranks", "decode is unchanged or slightly slower"),
    measure="TTFT mean at your longest prompts with both layouts, and prompt tokens per second of the prefill workers.",
    undo="Restore the layout.",
    cost="redeploy",
    risk="latency",
    ruled_out="prompt_len_mean < 8192",
    then=("3.3 disaggregation gives prefill its own layout", "1.1 the chunk budget of the prefill workers"),
    note="For prompts of tens of thousands of tokens; in a P/D split a slow prefill layout is often blamed on the transfer.",
)

ENTRY = Entry(
    id="3.1",
    phase=3,
    title="Tensor parallelism sizing",
    default_state="TP equals the number of GPUs, without a test of fewer ranks.",
    what="TP for latency inside one node, EP for throughput of MoE, PP past a node; attention DP for MLA. Test a narrower TP with replicas.",
    impact="Half the ranks halve the synchronization; freed GPUs add independent capacity.",
    risk="The model must fit with KV headroom: measure at peak batch.",
    evaluation="Latency per request and fleet throughput of TP N against TP N/2 with twice the replicas.",
    moves=(NARROWER, WIDER, PIPELINE, EXPERT, DP_ATTENTION, INTERCONNECT, PREFILL_LAYOUT),
)
