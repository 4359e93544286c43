"""Moves of guide entry 4.2 about shared and offloaded KV."""

from diagnose.guide.declare import Flag, Move

_LMCACHE = '--kv-transfer-config \'{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}\''

_SHARED = Move(
    id="shared-cache",
    title="offload or share KV beyond the GPU",
    direction="on",
    flags=(
        Flag(
            "vllm",
            f"--kv-offloading-size <GiB> (native CPU tier; --kv-offloading-backend lmcache for LMCache), or {_LMCACHE} to share",
            since="0.14.0",
        ),
        Flag(
            "vllm",
            f"--kv-offloading-backend native or lmcache with --kv-offloading-size <GiB>, or {_LMCACHE} to share",
            since="0.11.1",
            until="0.13.0",
        ),
        Flag("vllm", f"{_LMCACHE} with LMCache installed", since="0.8.5", until="0.11.0"),
        Flag("vllm", "upgrade: V1 has LMCache since 0.8.5", until="0.8.4"),
        Flag(
            "sglang",
            "--enable-hierarchical-cache --hicache-ratio 2 (host tier), --hicache-storage-backend mooncake or hf3fs to share; or --enable-lmcache",
            since="0.5.2",
        ),
        Flag("sglang", "--enable-hierarchical-cache --hicache-ratio 2 (host tier)", since="0.4.5", until="0.5.1.post3"),
        Flag("sglang", "upgrade: the hierarchical cache needs 0.4.5", until="0.4.4.post4"),
    ),
    expect=(
        "prefixes that the GPU evicted are loaded, not computed: TTFT of returning conversations falls",
        "host memory and bus traffic rise",
    ),
    measure="The same load with and without: TTFT mean and p99, hits of the external tier by tokens, load time per hit against prefill time of the same tokens.",
    undo="Remove the flags.",
    risk="latency",
    ruled_out="prompts_share == 0",
    applied="config_kv_connector == 1 or config_hicache == 1",
    then=("4.2 fix the shared cache, if it never hits", "4.2 drop the slow tier, if loading takes longer than prefill"),
    note="Measure overlap across replicas and evictions first: a tier helps only what is reused and no longer on the GPU.",
)

_FIX = Move(
    id="fix-shared-cache",
    title="make the shared cache hit",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "PYTHONHASHSEED=0 on every engine and rank (or --prefix-caching-hash-algo sha256_cbor); LMCACHE_CHUNK_SIZE below the shared length; same model, dtype, TP and block size",
            since="0.10.2",
        ),
        Flag(
            "vllm",
            "PYTHONHASHSEED=0 on every engine and rank; LMCACHE_CHUNK_SIZE below the shared length; same model, dtype and TP",
            until="0.10.1.1",
        ),
        Flag(
            "sglang",
            "PYTHONHASHSEED=0 with LMCache; the same --page-size, layout and TP on every worker that shares a --hicache-storage-backend; check its address and capacity",
            since="0.4.9.post6",
        ),
        Flag("sglang", "no shared storage before 0.4.9.post6: nothing to fix, upgrade", until="0.4.9.post5"),
    ),
    expect=("the second worker hits what the first stored: external hits above 0",),
    measure="One prompt of several thousand tokens to worker A, then to worker B: B must report hit tokens, and its TTFT must drop.",
    undo="Restore the settings.",
    then=("4.2 drop the slow tier, if hits do not shorten TTFT",),
    note="Python's hash is random per process: without a fixed seed two ranks never agree on a key. Probes of a few dozen tokens lie below one chunk (256 by default).",
)

_DROP = Move(
    id="drop-slow-tier",
    title="drop the slow tier or load less from it",
    direction="off",
    flags=(
        Flag(
            "vllm",
            "remove --kv-offloading-size, --kv-transfer-config; or a faster tier (CPU instead of disk or network)",
            since="0.11.1",
        ),
        Flag(
            "vllm",
            "remove --kv-transfer-config; or a faster tier (CPU instead of disk or network)",
            since="0.6.6",
            until="0.11.0",
        ),
        Flag("vllm", "no tier to drop before 0.6.6", until="0.6.5"),
        Flag(
            "sglang",
            "--hicache-storage-prefetch-policy best_effort (do not wait for storage), else remove --hicache-storage-backend",
            since="0.5.2",
        ),
        Flag("sglang", "remove --enable-hierarchical-cache", since="0.4.4", until="0.5.1.post3"),
        Flag("sglang", "no tier to drop before 0.4.4", until="0.4.3.post4"),
    ),
    expect=("TTFT falls to that of computing the prefix", "hit ratio falls: that is the point"),
    measure="The same load with and without the tier: TTFT mean and p99, requests per second; the hit ratio decides nothing.",
    undo="Restore the tier.",
    then=("1.2 prefix caching on the GPU stays on", "4.2 cache-aware routing instead"),
    note="A hit pays only when loading is faster than computing: compare seconds per 1,000 tokens of both.",
)

TIER_MOVES = (_SHARED, _FIX, _DROP)
