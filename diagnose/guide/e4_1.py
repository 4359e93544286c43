"""Guide entry 4.1: LoRA adapters, slots and routing."""

from diagnose.guide.declare import Entry, Flag, Move

SLOTS = Move(
    id="more-slots",
    title="more adapter slots on the GPU",
    direction="raise",
    flags=(
        Flag("vllm", "--max-loras {value} (default 1), with --max-lora-rank no larger than your adapters"),
        Flag("sglang", "--max-loras-per-batch {value} (default 8)"),
    ),
    expect=(
        "no request waits for a slot: deferred waiting goes to 0 and TTFT falls",
        "each slot takes GPU memory and some kernel time",
    ),
    measure="diagnose now URL under the real mix of adapters: waiting deferred, TTFT p99, KV usage peak.",
    undo="Restore the number.",
    ruled_out="config_lora == 0",
    sizing="lora_slots",
    fallback="<adapters in use at the same time>",
    then=("4.1 adapter-aware routing, when one engine cannot hold them all", "2.1 slots take KV room"),
    note="Requests for different adapters batch together only up to the number of slots.",
)

ROUTING = Move(
    id="adapter-routing",
    title="route by adapter",
    direction="on",
    flags=(
        Flag(
            "vllm",
            "router: score load and adapter locality (llm-d or Gateway API inference extension read vllm:lora_requests_info)",
            since="0.6.4",
        ),
        Flag("vllm", "router: pin each adapter to a few replicas", until="0.6.3.post1"),
        Flag("sglang", "router: pin each adapter to a few workers (consistent hashing on the adapter name)"),
    ),
    expect=("4-5 times fewer cold adapter loads than round-robin", "TTFT p99 falls by the load time of an adapter"),
    measure="diagnose now on all replicas: adapters per replica against slots, TTFT p99, load between replicas still even.",
    undo="Restore the routing policy.",
    cost="reload",
    requires="ranks >= 2",
    ruled_out="config_lora == 0",
    then=("4.1 more slots for the popular adapters", "4.2 locality against balance: watch the busiest replica"),
    note="Score locality and load together: by locality alone the popular adapter's replica drowns.",
)

CPU = Move(
    id="cpu-cache",
    title="keep adapters in host memory",
    direction="raise",
    flags=(
        Flag("vllm", "--max-cpu-loras <all adapters of this replica> (not below --max-loras)"),
        Flag(
            "sglang",
            "--max-loaded-loras <all adapters of this worker> (not below --max-loras-per-batch), with --enable-lora-overlap-loading",
            since="0.5.8",
        ),
        Flag(
            "sglang",
            "--max-loaded-loras <all adapters of this worker> (not below --max-loras-per-batch)",
            since="0.5.2",
            until="0.5.7",
        ),
        Flag(
            "sglang",
            "every adapter of --lora-paths stays in host memory before 0.5.2: nothing to set",
            until="0.5.1.post3",
        ),
    ),
    expect=("a cold adapter comes from host memory, not from disk: its load takes milliseconds",),
    measure="Engine log: adapter loads per minute and their time; diagnose now URL: TTFT p99 of rare adapters.",
    undo="Restore the number.",
    ruled_out="config_lora == 0",
    then=("4.1 more slots", "4.1 adapter-aware routing"),
    note="Host memory is cheap next to a slot: size it for all adapters.",
)

MERGE = Move(
    id="merge-adapter",
    title="merge a dominant adapter into the weights",
    direction="tune",
    flags=(
        Flag("vllm", "serve the merged checkpoint on its own replicas, without --enable-lora"),
        Flag("sglang", "serve the merged checkpoint on its own workers, without --lora-paths"),
    ),
    expect=("no adapter kernels for most of the traffic: ITL of a plain model", "slots are left to the others"),
    measure="The same load on the merged and on the adapter endpoint: ITL mean, tokens per second, and quality on your evaluation set.",
    undo="Route to the adapter endpoint.",
    cost="redeploy",
    risk="quality",
    ruled_out="config_lora == 0",
    then=("2.2 graphs without adapter variants are fewer", "4.1 fewer slots on the rest"),
    note="Worth replicas of its own only for an adapter that carries most requests; merged and quantized weights must be evaluated again.",
)

ENTRY = Entry(
    id="4.1",
    phase=4,
    title="Adapter-aware routing",
    default_state="One adapter per batch in vLLM, eight in SGLang; routers do not know adapters.",
    what="Enough slots for the adapters in use, host memory for the others, and routing that scores load and locality.",
    impact="4-5 times fewer cold loads than round-robin.",
    risk="Slots take KV memory; locality can unbalance load.",
    evaluation="Requests deferred for a slot, adapter loads per minute, TTFT p99 per adapter.",
    moves=(SLOTS, ROUTING, CPU, MERGE),
)
