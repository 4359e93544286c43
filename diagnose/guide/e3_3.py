"""Guide entry 3.3: prefill/decode disaggregation."""

from diagnose.guide.declare import Entry, Flag, Move

_NIXL = '--kv-transfer-config \'{"kv_connector": "NixlConnector", "kv_role": "kv_both"}\''

DISAGGREGATE = Move(
    id="disaggregate",
    title="separate prefill from decode",
    direction="on",
    flags=(
        Flag("vllm", f"{_NIXL} on prefill and decode engines, behind a P/D router", since="0.9.0"),
        Flag(
            "vllm",
            "experimental before 0.9 (PyNcclConnector, one prefill and one decode engine): upgrade first",
            until="0.8.5.post1",
        ),
        Flag(
            "sglang",
            "--disaggregation-mode prefill | decode with --disaggregation-transfer-backend mooncake or nixl, behind the router's P/D mode",
            since="0.4.6",
        ),
        Flag("sglang", "experimental before 0.4.6: upgrade first", until="0.4.5.post3"),
    ),
    expect=(
        "ITL no longer follows prefill arrivals",
        "TTFT gains a transfer (about 35 ms for a typical sequence), and two pools have to be sized",
    ),
    measure="The same mixed load on both layouts with the same number of GPUs: ITL p99, TTFT p99, requests per second within both targets.",
    undo="Route to aggregated engines.",
    cost="redeploy",
    risk="availability",
    requires="prompt_len_mean >= 512",
    ruled_out="config_cpu == 1 or prompt_len_mean < 512",
    applied="config_disaggregated == 1",
    then=("3.3 rebalance the pools by their queues", "3.1 a layout of its own for prefill"),
    note="Chunked prefill (1.1) first: if it already flattens ITL, a second pool has nothing left to fix.",
)

BACK = Move(
    id="back-to-aggregated",
    title="back to aggregated workers",
    direction="off",
    flags=(
        Flag("vllm", "remove --kv-transfer-config and route to every engine alike", since="0.6.6"),
        Flag("vllm", "no disaggregation before 0.6.6", until="0.6.5"),
        Flag("sglang", "remove --disaggregation-mode and route to every engine alike", since="0.4.5"),
        Flag("sglang", "no disaggregation before 0.4.5", until="0.4.4.post4"),
    ),
    expect=(
        "the transfer disappears from TTFT, all GPUs serve both phases",
        "ITL sees prefill again: keep chunked prefill on",
    ),
    measure="The same load on both layouts with the same number of GPUs: requests per second within the TTFT and ITL targets.",
    undo="Restore the two pools.",
    cost="redeploy",
    risk="latency",
    requires="config_disaggregated == 1",
    then=("1.1 the chunk budget of the aggregated engines", "4.2 cache-aware routing"),
    note="Short prompts do not repay a transfer: it costs what the prefill of a few hundred tokens costs.",
)

TRANSFER = Move(
    id="fix-transfer",
    title="repair the KV transfer",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "UCX_TLS must include the RDMA transport and CUDA copies; same block size and KV layout on both sides; the same TP where possible: fewer, larger descriptors",
            since="0.9.0",
        ),
        Flag("vllm", "upgrade: transfers before 0.9 have no RDMA connector", until="0.8.5.post1"),
        Flag(
            "sglang",
            "--disaggregation-ib-device <NICs next to the GPU>; the same --page-size (64 for larger pieces) and TP on both sides; bootstrap port reachable",
            since="0.4.6",
        ),
        Flag("sglang", "upgrade: no disaggregation before 0.4.6", until="0.4.5.post3"),
    ),
    expect=("transfer time and the transfer queues fall, throughput of the link rises", "failed transfers go to 0"),
    measure="diagnose now URL on both pools: transfer time, bytes per descriptor, bootstrap and in-flight queues, failures; compare with the link's own bandwidth test.",
    undo="Restore the transport settings.",
    risk="availability",
    then=(
        "3.3 rebalance the pools, when transfers are fast and a queue stays",
        "3.3 back to aggregated, for short prompts",
    ),
    note="Throughput is reported per rank. The transfer is often innocent: first rule out waiting at the router and a slow prefill layout.",
)

REBALANCE = Move(
    id="rebalance-pools",
    title="move workers between the pools",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "more decode engines when requests wait for KV there; more prefill engines when they wait before prefill",
        ),
        Flag(
            "sglang",
            "more decode workers when #prealloc-req grows; more prefill workers when the bootstrap or prefill queue grows; --num-reserved-decode-tokens down when outputs are short",
            since="0.4.8",
        ),
        Flag(
            "sglang",
            "more decode workers when #prealloc-req grows; more prefill workers when the prefill queue grows",
            until="0.4.7.post1",
        ),
    ),
    expect=("both queues stay near 0", "TTFT falls without a loss in ITL"),
    measure="diagnose now URL on every worker: queue of each pool, KV usage of the decode pool, TTFT split at the transfer.",
    undo="Move the worker back.",
    cost="redeploy",
    risk="availability",
    then=("2.3 FP8 KV on the decode pool", "4.3 scale each pool on its own queue"),
    note="A prefill queue hides a full decode pool: requests wait until decode has room. Look downstream first.",
)

REUSE = Move(
    id="reuse-on-decode",
    title="reuse prefixes on the decode side",
    direction="on",
    flags=(
        Flag(
            "vllm",
            "remove --no-enable-prefix-caching on decode engines, and route one conversation to one decode engine",
        ),
        Flag(
            "sglang",
            "--disaggregation-decode-enable-radix-cache on decode workers, and route one conversation to one decode worker",
            since="0.5.11",
        ),
        Flag("sglang", "not before 0.5.11: upgrade, or serve long conversations aggregated", until="0.5.10.post1"),
    ),
    expect=("shared prefixes are held once: KV usage of the decode pool falls", "fewer bytes per transfer"),
    measure="diagnose now URL on the decode workers: KV usage peak, local prefix hits above 0, bytes per transfer.",
    undo="Remove the flag.",
    ruled_out="config_decode_role == 0",
    then=("3.3 rebalance the pools", "2.3 FP8 KV on the decode pool"),
    note="Every turn that transfers the whole history fills the pool with copies: more decode workers only postpone it.",
)

ENTRY = Entry(
    id="3.3",
    phase=3,
    title="Prefill/decode disaggregation",
    default_state="Prefill and decode share the same workers.",
    what="Separate pools, only where ITL spikes follow prefill arrivals or input and output are very unequal.",
    impact="Decode latency becomes independent of prefill load.",
    risk="A transfer in TTFT (about 35 ms), a second pool, coupled queues; short prompts may not repay it.",
    evaluation="ITL percentiles under mixed load; if chunked prefill alone flattens them, stop there.",
    moves=(DISAGGREGATE, BACK, TRANSFER, REBALANCE, REUSE),
)
