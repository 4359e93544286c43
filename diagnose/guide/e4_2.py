"""Guide entry 4.2: distributed caching, cache-aware routing, load balance."""

from diagnose.guide._e4_2_tiers import TIER_MOVES
from diagnose.guide.declare import Entry, Flag, Move

BALANCE = Move(
    id="balance-load",
    title="balance load over ranks and replicas",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "one address for all data-parallel ranks (--data-parallel-size, no per-rank address), or a router by requests in flight, not round-robin",
            since="0.8.4",
        ),
        Flag("vllm", "a router by requests in flight, not round-robin", until="0.8.3"),
        Flag(
            "sglang",
            "--load-balance-method total_tokens for DP ranks; router --policy power_of_two or cache_aware",
            since="0.5.8",
        ),
        Flag(
            "sglang",
            "--load-balance-method minimum_tokens for DP ranks; router --policy power_of_two or cache_aware",
            since="0.5.2",
            until="0.5.7",
        ),
        Flag(
            "sglang",
            "--load-balance-method shortest_queue for DP ranks; router --policy power_of_two or cache_aware",
            until="0.5.1.post3",
        ),
    ),
    expect=("queue and KV usage of ranks come together", "TTFT p99 of the fleet falls to that of one healthy rank"),
    measure="diagnose now on all replicas: shortest over longest queue, spread of KV usage, TTFT p99.",
    undo="Restore the policy.",
    cost="reload",
    ruled_out="ranks == 1",
    then=("4.2 cache-aware routing: locality against balance", "4.3 a replica, once all are equally full"),
    note="Long requests unbalance a count of requests: score tokens, or queue x 4 + running. Sticky sessions and few connections do it too.",
)

ROUTING = Move(
    id="cache-aware-routing",
    title="send one prefix to one replica",
    direction="on",
    flags=(
        Flag(
            "vllm",
            "router with prefix affinity: --routing-logic prefixaware (production-stack), --policy cache_aware (vllm-router), prefix scorer (llm-d), KV mode (Dynamo)",
        ),
        Flag(
            "sglang",
            "python -m sglang_router.launch_router --policy cache_aware --worker-urls ...; inside one server attention-DP ranks need the same",
        ),
    ),
    expect=(
        "prefix hit ratio of the fleet approaches that of one engine with all traffic",
        "TTFT mean falls by the prefill that is saved; load between replicas gets less even",
    ),
    measure="diagnose now on all replicas before and after: fleet hit ratio by tokens, TTFT mean and p99, spread of queues.",
    undo="Restore the routing policy.",
    cost="reload",
    risk="latency",
    requires="ranks >= 2",
    ruled_out="prompts_share == 0 or ranks == 1",
    then=("4.2 a shared cache, if overlap across replicas remains", "4.2 balance, if one replica becomes hot"),
    note="Before any distributed cache: routing is simpler and often captures most of the value. Round-robin destroys the hit rate.",
)

EVENTS = Move(
    id="wire-kv-events",
    title="let the router see KV events",
    direction="on",
    flags=(
        Flag(
            "vllm",
            '--kv-events-config \'{"enable_kv_cache_events": true, "publisher": "zmq", "endpoint": "tcp://*:5557"}\' on every engine (prefix caching must be on)',
            since="0.9.0",
        ),
        Flag("vllm", "no KV events before 0.9: use a router that tracks prefixes itself", until="0.8.5.post1"),
        Flag(
            "sglang",
            '--kv-events-config \'{"publisher": "zmq", "endpoint": "tcp://*:5557"}\' on every worker',
            since="0.4.6",
        ),
        Flag(
            "sglang",
            "no KV events before 0.4.6: use --policy cache_aware, which tracks prefixes itself",
            until="0.4.5.post3",
        ),
    ),
    expect=("routing scores of repeated prompts rise above 0", "hit ratio of the fleet rises"),
    measure="The same long prompt twice through the router: the second score must be above 0, and the same worker must answer.",
    undo="Remove the flag.",
    then=("4.2 weights of overlap against load",),
    note="One endpoint per engine and rank, the same block size and hash on router and engines. Scores of 0 for everything mean no events, not no overlap.",
)

ENTRY = Entry(
    id="4.2",
    phase=4,
    title="Distributed caching",
    default_state="Each replica caches for itself; routers spread requests evenly.",
    what="Cache-aware routing first, then shared or offloaded KV (LMCache, HiCache, native offload) where overlap across replicas remains.",
    impact="Depends on the reuse pattern: measure the overlap before building anything.",
    risk="Affinity unbalances load; a slow tier can cost more than computing again.",
    evaluation="Hit ratio of the fleet by tokens against one engine with all traffic; TTFT with and without each tier.",
    moves=(BALANCE, ROUTING, *TIER_MOVES, EVENTS),
)
