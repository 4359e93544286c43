"""The shared prefix is shorter than a KV block."""

from diagnose.symptoms.declare import Symptom, Threshold

SYMPTOM = Symptom(
    id="prefix_below_block_size",
    title="The shared prefix is shorter than a KV block",
    kind="benign",
    severity="info",
    when="prefix_hit_ratio == 0 and prefix_queries >= floor and (prefix_over_block < 1 or config_kv_block_size >= large and not known(prefix_over_block))",
    meaning="Only whole blocks are reused. With blocks of hundreds of tokens (hybrid models) a shorter prefix can never hit: exactly zero is structural, not a bad workload.",
    thresholds=(
        Threshold("floor", 3000.0, "tokens", 100.0, 1e9, "exactly zero over many tokens"),
        Threshold("large", 256.0, "tokens", 32.0, 8192.0, "ordinary blocks have 16 to 128 tokens"),
    ),
    explains=("low_prefix_hit_rate", "cache_unaware_routing"),
    say="no hit in {prefix_queries} tokens; block of {config_kv_block_size} tokens, shared prefix {shared_prefix_tokens}",
    missing="block size and the length of the shared prefix",
)
