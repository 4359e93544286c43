"""Resolved configuration: which source wins, where sources differ, and the configuration as numbers for conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from diagnose.model import Fact, FactValue, Value
from diagnose.series import TargetSeries

TRUST = ("metric", "server_info", "log", "launch", "default")
CLIENT_PREFIX = "client_"
_MLA_MODELS = re.compile(r"deepseek.?(v2|v3|v4|r1)|kimi.?k2|deepseek_v|longcat|glm-5|mistral.?large.?3", re.IGNORECASE)
_AUTOSCALER = re.compile(r"hpa|keda|scale|trigger|threshold|query")
_IGNORED_CONFLICTS = {"served_model", "model", "dtype", "device", "kv_blocks", "kv_max_concurrency", "engine_version"}


@dataclass(frozen=True)
class Conflict:
    """Two sources that give one piece of configuration different values."""

    id: str
    first: Fact
    second: Fact


def best(facts: Iterable[Fact]) -> dict[str, Fact]:
    """The most trusted fact per id; among equals the last one read (a restart in a log) wins."""
    out: dict[str, Fact] = {}
    for fact in facts:
        held = out.get(fact.id)
        if held is None or TRUST.index(fact.source) <= TRUST.index(held.source):
            out[fact.id] = fact
    return out


def conflicts(facts: Iterable[Fact]) -> tuple[Conflict, ...]:
    """Facts on which sources disagree (defaults aside): the resolved value wins, but the difference is told."""
    held = [f for f in facts if f.source != "default" and not f.id.startswith(("flag.", "env.", CLIENT_PREFIX))]
    resolved = best(held)
    found = {}
    for fact in held:
        winner = resolved[fact.id]
        if fact.source != winner.source and fact.id not in _IGNORED_CONFLICTS and not _same(fact.value, winner.value):
            found[fact.id] = Conflict(fact.id, winner, fact)
    return tuple(found.values())


def from_metrics(target: TargetSeries) -> tuple[Fact, ...]:
    """Facts in the labels of ``cache_config_info`` (strings such as "True", "None", "16")."""
    labels = target.info("cache_config") or {}
    names = {
        "enable_prefix_caching": "prefix_caching", "cache_dtype": "kv_cache_dtype", "block_size": "kv_block_size",
        "num_gpu_blocks": "kv_blocks", "gpu_memory_utilization": "gpu_memory_utilization", "page_size": "kv_block_size",
        "kv_cache_size_tokens": "kv_tokens", "kv_cache_max_concurrency": "kv_max_concurrency",
        "num_gpu_blocks_override": "kv_blocks_override", "sliding_window": "sliding_window",
    }  # fmt: skip
    where = f"{target.name} cache_config_info"
    typed = {fact: _typed(labels[label]) for label, fact in names.items() if label in labels}
    facts = [Fact(i, v, "metric", where, target.name) for i, v in typed.items() if v is not None]
    if target.engine:
        facts.append(Fact("engine", target.engine, "metric", f"{target.name} metric names", target.name))
    return tuple(facts)


def number(fact: Fact | None) -> float | None:
    """A fact as a number (True is 1), None when it is missing or text."""
    if fact is None or isinstance(fact.value, tuple):
        return None
    try:
        return float(fact.value)
    except ValueError:
        return None


def text(fact: Fact | None) -> str:
    """A fact as text, "" when it is missing."""
    return "" if fact is None else str(fact.value)


def config_signals(facts: dict[str, Fact]) -> dict[str, Value]:
    """``config_*`` signals: configuration as numbers, so that conditions of symptoms and moves can read it."""
    out: dict[str, Value] = {}
    for name, read in _SIGNALS.items():
        value = read(facts)
        if value is not None:
            out[name] = Value(value, "configuration")
    return out


def _number_of(ident: str) -> Callable[[dict[str, Fact]], float | None]:
    return lambda facts: number(facts.get(ident))


def _switched_off(ident: str) -> Callable[[dict[str, Fact]], float | None]:
    """1 when a source says that it is off (not merely a version's default), 0 when it is on."""

    def read(facts: dict[str, Fact]) -> float | None:
        value = _chunked(facts) if ident == "chunked_prefill" else number(facts.get(ident))
        fact = facts.get(ident) or facts.get("chunk_budget")
        return None if value is None or fact is None else float(value == 0 and fact.source != "default")

    return read


def _chunked(facts: dict[str, Fact]) -> float | None:
    flag, budget = number(facts.get("chunked_prefill")), number(facts.get("chunk_budget"))
    if flag is not None:
        return flag
    return None if budget is None else float(budget > 0)


def _spec(facts: dict[str, Fact]) -> float | None:
    if text(facts.get("spec_method")).lower() not in ("", "none", "false"):
        return 1.0
    if number(facts.get("spec_tokens")) or text(facts.get("spec_model")):
        return 1.0
    return 0.0 if "spec_method" in facts else None


def _quantized(facts: dict[str, Fact]) -> float | None:
    method = text(facts.get("quantization")).lower()
    if method not in ("", "none"):
        return 1.0
    named = re.search(
        r"awq|gptq|fp8|int4|int8|nvfp4|mxfp4|w4a16|w8a8|bnb|gguf", text(facts.get("model")), re.IGNORECASE
    )
    return 1.0 if named else 0.0 if "model" in facts and "quantization" in facts else None


def _kv_fp8(facts: dict[str, Fact]) -> float | None:
    return float(text(facts["kv_cache_dtype"]).startswith("fp8")) if "kv_cache_dtype" in facts else None


def _cpu(facts: dict[str, Fact]) -> float | None:
    device, version = text(facts.get("device")).lower(), text(facts.get("engine_version"))
    if device == "cpu" or "cpu" in version or "env.VLLM_CPU_KVCACHE_SPACE" in facts:
        return 1.0
    return 0.0 if device else None


def _disaggregated(facts: dict[str, Fact]) -> float | None:
    mode, role = text(facts.get("disaggregation")), text(facts.get("kv_role"))
    if mode in ("prefill", "decode") or role in ("kv_producer", "kv_consumer"):
        return 1.0
    return 0.0 if "model" in facts else None


def _decode_role(facts: dict[str, Fact]) -> float | None:
    mode, role = text(facts.get("disaggregation")), text(facts.get("kv_role"))
    return 1.0 if mode == "decode" or role == "kv_consumer" else 0.0 if mode or role else None


def _prefill_role(facts: dict[str, Fact]) -> float | None:
    mode, role = text(facts.get("disaggregation")), text(facts.get("kv_role"))
    return 1.0 if mode == "prefill" or role == "kv_producer" else 0.0 if mode or role else None


def _spec_lookup(facts: dict[str, Fact]) -> float | None:
    """1 for lookup methods (n-gram, suffix), which may find nothing to copy; 0 for drafts that have weights."""
    method = text(facts.get("spec_method")).lower()
    return None if not method or method == "none" else float(bool(re.search(r"ngram|n-gram|lookup|suffix", method)))


def _external(facts: dict[str, Fact]) -> float | None:
    connector = text(facts.get("kv_connector")) or text(facts.get("kv_offload"))
    if connector.lower() not in ("", "none") or number(facts.get("hicache")):
        return 1.0
    return 0.0 if "model" in facts else None


def _mla(facts: dict[str, Fact]) -> float | None:
    model = text(facts.get("model")) or text(facts.get("served_model"))
    return float(bool(_MLA_MODELS.search(model))) if model else None


def _billions_per_rank(facts: dict[str, Fact]) -> float | None:
    """Parameters in billions by the model's name over tensor-parallel ranks."""
    named = re.search(
        r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![a-zA-Z])", text(facts.get("model")).replace("-", " ").replace("_", " ")
    )
    ranks = number(facts.get("tp"))
    return float(named[1]) / ranks if named and ranks else None


def _has(ident: str) -> Callable[[dict[str, Fact]], float | None]:
    return lambda facts: float(text(facts.get(ident)).lower() not in ("", "none", "auto", "false"))


def _autoscaled(facts: dict[str, Fact]) -> float | None:
    """1 when a manifest of an autoscaler is there, None when nobody shows one."""
    return 1.0 if any(i.startswith("k8s.") and _AUTOSCALER.search(i) for i in facts) else None


def _scales_on_utilization(facts: dict[str, Fact]) -> float | None:
    """1 when the autoscaler's metric or query is a utilization, 0 when it is another one."""
    watched = " ".join(text(facts.get(f"k8s.{n}")) for n in ("hpa_metric", "keda_query")).lower()
    return float(bool(re.search(r"util|gpu_busy|sm_active", watched))) if watched.strip() else None


def _graph_max(facts: dict[str, Fact]) -> float | None:
    given = number(facts.get("graph_max_batch"))
    if given is not None:
        return given
    sizes = facts.get("graph_sizes")
    if sizes is None or not isinstance(sizes.value, tuple) or not sizes.value:
        return None
    return max(float(s) for s in sizes.value)


_SIGNALS: dict[str, Callable[[dict[str, Fact]], float | None]] = {
    "config_chunked_prefill": _chunked,
    "config_chunked_switched_off": _switched_off("chunked_prefill"),
    "config_prefix_switched_off": _switched_off("prefix_caching"),
    "config_chunk_budget": _number_of("chunk_budget"),
    "config_batched_tokens": _number_of("max_num_batched_tokens"),
    "config_mixed_chunk": _number_of("mixed_chunk"),
    "config_prefix_caching": _number_of("prefix_caching"),
    "config_enforce_eager": _number_of("enforce_eager"),
    "config_attention_explicit": _number_of("attention_backend_explicit"),
    "config_max_num_seqs": _number_of("max_num_seqs"),
    "config_max_model_len": _number_of("max_model_len"),
    "config_memory_utilization": _number_of("gpu_memory_utilization"),
    "config_kv_tokens": _number_of("kv_tokens"),
    "config_kv_block_size": _number_of("kv_block_size"),
    "config_kv_max_concurrency": _number_of("kv_max_concurrency"),
    "config_graph_max_batch": _graph_max,
    "config_tp": _number_of("tp"),
    "config_pp": _number_of("pp"),
    "config_dp": _number_of("dp"),
    "config_ep": _number_of("ep"),
    "config_cp": _number_of("cp"),
    "config_dp_attention": _number_of("dp_attention"),
    "config_mla": _mla,
    "billions_per_rank": _billions_per_rank,
    "config_spec": _spec,
    "config_spec_tokens": _number_of("spec_tokens"),
    "config_lora": _number_of("lora"),
    "config_max_loras": _number_of("max_loras"),
    "config_kv_fp8": _kv_fp8,
    "config_weights_quantized": _quantized,
    "config_disaggregated": _disaggregated,
    "config_decode_role": _decode_role,
    "config_prefill_role": _prefill_role,
    "config_spec_lookup": _spec_lookup,
    "config_autoscaled": _autoscaled,
    "config_kv_connector": _external,
    "config_hicache": _number_of("hicache"),
    "config_cpu": _cpu,
    "config_log_stats_off": _number_of("disable_log_stats"),
    "config_hash_seed": _has("env.PYTHONHASHSEED"),
    "config_mamba_align": lambda facts: float(text(facts.get("mamba_cache_mode")) == "align"),
    "config_version_known": lambda facts: float("engine_version" in facts),
    "config_scales_on_utilization": lambda facts: _scales_on_utilization(facts),
    "client_offline": _number_of("client_offline"),
    "client_request_rate": _number_of("client_request_rate"),
}
CONFIG_SIGNALS = tuple(_SIGNALS)


def _typed(value: str) -> FactValue | None:
    if value in ("None", ""):
        return None
    if value in ("True", "False"):
        return value == "True"
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        return value


def _same(a: FactValue, b: FactValue) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(float(a) - float(b)) <= 0.01 * max(abs(float(a)), abs(float(b)))
    return str(a).lower() == str(b).lower()
