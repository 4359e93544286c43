"""Guide entry 1.2: prefix caching."""

from diagnose.guide.declare import Entry, Flag, Move

ENABLE = Move(
    id="enable",
    title="turn on prefix caching",
    direction="on",
    flags=(
        Flag(
            "vllm",
            "remove --no-enable-prefix-caching (hybrid models before 0.26: --enable-prefix-caching)",
            since="0.8.0",
        ),
        Flag("vllm", "--enable-prefix-caching (V0 ignores it for multimodal models)", until="0.7.3"),
        Flag("sglang", "remove --disable-radix-cache (the radix cache is on by default)"),
    ),
    expect=(
        "TTFT falls by the reusable share of the prompt: a shared 2,000-token prefix saves about 70 ms of prefill per hit, far more when cold prefill is slow",
        "computed prompt tokens per second fall, KV usage does not rise: cached blocks that nobody uses count as free",
    ),
    measure="diagnose now URL under the real traffic: prefix hits over prefix queries (token counters, not the log's percentage) and TTFT mean; below 5 % the gain is real but small.",
    undo="Set the flag that switched it off again.",
    ruled_out="prompts_share == 0",
    applied="config_prefix_caching == 1",
    then=(
        "1.2 prompt structure, if the ratio stays under what prompts share",
        "4.2 cache-aware routing, with several replicas",
    ),
    note="vllm:prefix_cache_hit_rate of older guides is gone: divide the increase of prefix_cache_hits by that of prefix_cache_queries.",
)

FIX = Move(
    id="fix-reuse",
    title="make shared prefixes match",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "put what varies (time, user, ids, retrieved text) behind what is shared; hybrid models: --prefix-match-unit below the shared length",
            since="0.26.0",
        ),
        Flag(
            "vllm",
            "put what varies (time, user, ids, retrieved text) behind what is shared; keep --block-size below the shared length",
            until="0.25.1",
        ),
        Flag(
            "sglang",
            "put what varies behind what is shared; --schedule-policy lpm (longest match first) and --page-size 1 where the backend allows it",
            since="0.4.4",
        ),
        Flag(
            "sglang",
            "put what varies behind what is shared; --schedule-policy lpm (longest match first)",
            until="0.4.3.post4",
        ),
    ),
    expect=("hit ratio rises towards the shared share of the prompt", "TTFT mean falls, ITL is unchanged"),
    measure="Send the same long prompt twice, then diagnose now URL: the second TTFT must drop and prefix hits must grow by the shared tokens in whole blocks.",
    undo="Restore the template or the flag.",
    cost="reload",
    requires="config_prefix_caching == 1",
    ruled_out="prompts_share == 0",
    then=(
        "4.2 cache-aware routing, when requests of one prefix land on different replicas",
        "2.1 more KV memory, when prefixes are evicted before their reuse",
    ),
    note="Only whole blocks match: hybrid models have blocks of hundreds of tokens. Image and audio items, adapter and cache salt are part of the key. Before vLLM 0.11.1 preempted requests count as hits.",
)

ENTRY = Entry(
    id="1.2",
    phase=1,
    title="Prefix caching",
    default_state="On in vLLM since V1 (0.8.0) except some model kinds, off in V0; on in SGLang (radix cache).",
    what="Reuse the KV blocks of a prefix that earlier requests computed: system prompts, documents, chat history.",
    impact="TTFT falls by the reusable share; a cold 2,000-token system prompt of about 550 ms becomes about 50 ms on a hit.",
    risk="Minimal: it uses blocks that would be free otherwise.",
    evaluation="Ratio of hits to queries by tokens; under 5 % the gain is small for this traffic.",
    moves=(ENABLE, FIX),
)
