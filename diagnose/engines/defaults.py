"""Defaults of the engines by version: what holds when no flag says otherwise.

Read in the engines' own argument sources. What depends on the device, the model or another flag is not here: the chunk
budget and the sequence limit of vLLM since 0.8, the chunk size, graph sizes and memory share of SGLang, vLLM V0's
chunked prefill since 0.5.3 (on above 32K context only).
"""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.model import Fact, FactValue
from diagnose.versions import in_range, key


@dataclass(frozen=True)
class Default:
    """Value of a fact in versions ``since`` to ``until`` (both inclusive, "" is open).

    ``feature``: a feature that an engine of this version has on or off by itself. The others are defaults of flags
    that operators set as a matter of course: they mean something only when the launch configuration was seen.
    """

    engine: str
    id: str
    value: FactValue
    since: str = ""
    until: str = ""
    feature: bool = False


DEFAULTS: tuple[Default, ...] = (
    # vLLM: V1 is the default engine since 0.8.0; generative models then have both on (hybrid ones cache since 0.26)
    Default("vllm", "chunked_prefill", False, until="0.5.2", feature=True),
    Default("vllm", "chunked_prefill", True, since="0.8.0", feature=True),
    Default("vllm", "prefix_caching", False, until="0.7.3", feature=True),
    Default("vllm", "prefix_caching", True, since="0.8.0", feature=True),
    Default("vllm", "enforce_eager", False),
    Default("vllm", "max_num_seqs", 256, until="0.7.3"),
    Default("vllm", "gpu_memory_utilization", 0.9, until="0.19.1"),
    Default("vllm", "gpu_memory_utilization", 0.92, since="0.20.0"),
    Default("vllm", "kv_cache_dtype", "auto"),
    Default("vllm", "kv_block_size", 16, until="0.6.5"),
    Default("vllm", "graph_max_batch", 512, since="0.8.0", until="0.9.2"),
    Default("vllm", "long_prefill_token_threshold", 0, since="0.7.3"),
    Default("vllm", "max_num_partial_prefills", 1, since="0.7.3", until="0.26.0"),
    Default("vllm", "num_scheduler_steps", 1, since="0.6.0", until="0.10.0"),
    Default("vllm", "lora", False),
    Default("vllm", "max_loras", 1),
    Default("vllm", "tp", 1),
    Default("vllm", "pp", 1),
    Default("vllm", "dp", 1, since="0.8.4"),
    Default("vllm", "ep", False, since="0.8.0"),
    Default("vllm", "custom_allreduce_disabled", False),
    Default("vllm", "disable_log_stats", False),
    Default("vllm", "flag.stream_interval", 1, since="0.11.1"),
    # SGLang: chunk sizes follow the device, but every default is a positive one
    Default("sglang", "chunked_prefill", True, feature=True),
    Default("sglang", "prefix_caching", True, feature=True),
    Default("sglang", "mixed_chunk", False),
    Default("sglang", "max_prefill_tokens", 16384),
    Default("sglang", "enforce_eager", False),
    Default("sglang", "schedule_conservativeness", 1.0),
    Default("sglang", "schedule_policy", "lpm", until="0.4.1.post7"),
    Default("sglang", "schedule_policy", "fcfs", since="0.4.4"),
    Default("sglang", "kv_cache_dtype", "auto"),
    Default("sglang", "kv_block_size", 1, until="0.4.8.post1"),
    Default("sglang", "max_loras", 8),
    Default("sglang", "tp", 1),
    Default("sglang", "pp", 1, since="0.4.6"),
    Default("sglang", "dp", 1),
    Default("sglang", "dp_attention", False),
    Default("sglang", "disaggregation", "", since="0.4.5"),
    Default("sglang", "hicache", False, since="0.4.4"),
    Default("sglang", "hicache_prefetch_policy", "best_effort", since="0.5.2", until="0.5.11"),
    Default("sglang", "hicache_prefetch_policy", "timeout", since="0.5.12"),
    Default("sglang", "load_balance_method", "round_robin", until="0.5.7"),
    Default("sglang", "load_balance_method", "auto", since="0.5.8"),
    Default("sglang", "custom_allreduce_disabled", False),
    Default("sglang", "enable_metrics", False),
    Default("sglang", "flag.stream_interval", 1),
)


def default_facts(engine: str, version: str, launch_seen: bool = False) -> tuple[Fact, ...]:
    """Facts with source "default" for one engine version; without ``launch_seen`` only features.

    ``launch_seen``: every flag of the launch is known (command line, non-default args, ServerArgs, server info), so
    that an absent one has its default.

    An unknown version gets only what holds in every version. Empty for engines that are not here.
    """
    rows = [d for d in DEFAULTS if d.engine == engine and (d.feature or launch_seen) and _holds(d, version)]
    where = f"{engine} {version}".strip() + " default"
    return tuple(Fact(d.id, d.value, "default", where) for d in rows)


def _holds(default: Default, version: str) -> bool:
    """Whether the default holds; CPU builds ran V0 by themselves before 0.9.1, so V1's defaults start there."""
    if not key(version):
        return not default.since and not default.until
    cpu = default.engine == "vllm" and "cpu" in version and key("0.8.0") <= key(version) < key("0.9.1")
    if default.feature and cpu:
        return False
    return in_range(version, default.since, default.until)
