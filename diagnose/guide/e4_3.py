"""Guide entry 4.3: autoscaling."""

from diagnose.guide.declare import Entry, Flag, Move

_VLLM_QUEUE = "sum(vllm:num_requests_waiting) / replicas"
_SGLANG_QUEUE = "sum(sglang:num_queue_reqs) / replicas"

QUEUE = Move(
    id="scale-on-queue",
    title="scale on queue depth",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            f"HPA or KEDA query: {_VLLM_QUEUE}, target 5-10 (reason=capacity where num_requests_waiting_by_reason exists)",
            since="0.20.0",
        ),
        Flag("vllm", f"HPA or KEDA query: {_VLLM_QUEUE}, target 5-10", until="0.19.1"),
        Flag("sglang", f"HPA or KEDA query: {_SGLANG_QUEUE}, target 5-10 (needs --enable-metrics)"),
    ),
    expect=("replicas come when requests queue, not when the GPU reads busy", "TTFT p99 through a load step falls"),
    measure="A load step to twice the usual rate: seconds until the new replica serves, TTFT p99 meanwhile, and no flapping afterwards.",
    undo="Restore the previous trigger.",
    cost="reload",
    risk="availability",
    ruled_out="client_closed_loop == 1 or client_offline == 1",
    applied="config_scales_on_utilization == 0",
    then=("4.3 headroom on the way down", "4.2 balance: a new replica starts with a cold cache"),
    note="GPU utilization reads high while requests queue and while they do not. Count capacity, not requests that a client holds back or that wait for an adapter slot.",
)

SIGNAL = Move(
    id="fix-load-signal",
    title="feed the true load into scaling and shedding",
    direction="tune",
    flags=(
        Flag(
            "vllm",
            "read vllm:kv_cache_usage_perc and vllm:num_requests_running from the worker, not the router's copy; one name, one label set, model_name not empty",
            since="0.9.2",
        ),
        Flag(
            "vllm",
            "read vllm:gpu_cache_usage_perc and vllm:num_requests_running from the worker, not the router's copy",
            until="0.9.1",
        ),
        Flag(
            "sglang",
            "read sglang:token_usage and sglang:num_running_reqs by max over TP ranks, sum over DP ranks; --enable-metrics-for-all-schedulers for all ranks",
            since="0.4.9.post6",
        ),
        Flag("sglang", "read sglang:token_usage and sglang:num_running_reqs from the worker", until="0.4.9.post5"),
    ),
    expect=("router and worker agree on one number, shedding and scaling start in time",),
    measure="Under load: the worker's KV usage and running requests beside what the router or scaler shows; they must agree within 10 %.",
    undo="Restore the query.",
    cost="reload",
    then=("4.3 scale on queue depth",),
    note="Usual causes: blocks counted in another unit, a stale copy, a renamed metric, ranks summed that should not be.",
)

REPLICA = Move(
    id="add-replica",
    title="add a replica",
    direction="raise",
    flags=(
        Flag("vllm", "replicas: {value} (one more engine behind the router)"),
        Flag("sglang", "replicas: {value} (one more worker behind the router), or --dp-size on free GPUs of the node"),
    ),
    expect=(
        "queue and TTFT fall, throughput of the fleet rises by one engine",
        "hit ratio falls until routing knows prefixes",
    ),
    measure="diagnose now on all replicas at the same total load: waiting near 0, KV usage below 85 %, ITL p99 within its target.",
    undo="Remove the replica.",
    cost="hardware",
    ruled_out="client_closed_loop == 1 or client_offline == 1",
    sizing="replicas",
    fallback="<current + 1>",
    then=("4.2 cache-aware routing over the replicas", "4.3 scale on queue depth"),
    note="After what is free: limits, memory and quantization of the engine that you have. A client that makes its own queue needs no replica.",
)

DOWN = Move(
    id="more-headroom-down",
    title="scale in later and slower",
    direction="tune",
    flags=(
        Flag("vllm", "behavior.scaleDown: stabilizationWindowSeconds 300-600, one pod at a time; drain before SIGTERM"),
        Flag(
            "sglang", "behavior.scaleDown: stabilizationWindowSeconds 300-600, one pod at a time; drain before SIGTERM"
        ),
    ),
    expect=("no flapping: starts (weights, graphs, cold cache) become rare", "a few idle minutes more"),
    measure="A day of scaling events: replicas removed and added again within 15 minutes should be 0; TTFT p99 after each scale-in.",
    undo="Restore the window.",
    cost="reload",
    ruled_out="client_offline == 1",
    then=("4.3 the target of the queue query",),
    note="Start-up takes minutes: the window has to be longer than it. Scale in on low running requests, not on an empty queue.",
)

ENTRY = Entry(
    id="4.3",
    phase=4,
    title="Autoscaling tuning",
    default_state="Scales on GPU utilization, or not at all.",
    what="Scale out on waiting requests per replica, scale in slowly, and feed both the worker's own numbers.",
    impact="Capacity arrives at the start of a spike, not after it.",
    risk="A queue that a client makes by itself must not scale anything.",
    evaluation="A load step: time until the new replica serves, TTFT p99 meanwhile, flapping afterwards.",
    moves=(QUEUE, SIGNAL, REPLICA, DOWN),
)
