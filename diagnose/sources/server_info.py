"""Configuration that a running server states itself: /version, /v1/models, /server_info, /get_server_info and kin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnose import units
from diagnose.model import Fact, FactValue
from diagnose.sources import launch_convert, launch_facts, pyrepr

# Sections of vLLM's JSON configuration whose keys are settings in their own right.
_SECTIONS = ("model_config", "cache_config", "parallel_config", "scheduler_config", "lora_config", "device_config",
             "speculative_config", "kv_transfer_config", "kv_events_config", "compilation_config", "attention_config",
             "structured_outputs_config", "observability_config", "offload_config")  # fmt: skip
_WHOLE = ("speculative_config", "kv_transfer_config", "kv_events_config", "compilation_config", "attention_config",
          "structured_outputs_config", "device_config")  # fmt: skip
_ENVIRONMENT = ("VLLM_ATTENTION_BACKEND", "VLLM_USE_V1", "VLLM_CPU_KVCACHE_SPACE", "VLLM_USE_FLASHINFER_SAMPLER",
                "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "VLLM_ENABLE_V1_MULTIPROCESSING", "VLLM_SERVER_DEV_MODE",
                "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "VLLM_ALL2ALL_BACKEND", "VLLM_FLASH_ATTN_VERSION")  # fmt: skip
# SGLang's internal state: memory in GB by pool.
_SGLANG_MEMORY = {"weight": "weight_bytes", "kvcache": "kv_bytes", "cuda_graph": "graph_bytes", "graph": "graph_bytes"}
_SGLANG_KEYS = {"tp_size", "model_path", "mem_fraction_static", "max_total_num_tokens", "internal_states",
                "chunked_prefill_size", "disable_radix_cache"}  # fmt: skip
Pairs = Iterator[tuple[str, FactValue]]


def parse_server_info(obj: Any, where: str, run: str) -> tuple[Fact, ...]:
    """Facts (source ``server_info``) of one answer, or of several keyed by path; strange shapes give none."""
    found: dict[tuple[str, FactValue], Fact] = {}
    for fact_id, value in _facts(obj, where, run, 0):
        found.setdefault((fact_id, value), Fact(fact_id, value, "server_info", where, run))
    return tuple(found.values())


def _facts(obj: Any, where: str, run: str, depth: int) -> Pairs:
    if depth > 4:
        return
    if isinstance(obj, str):
        obj = pyrepr.parse(obj) if obj.strip()[:1] == "{" else {"vllm_config": obj}
    if isinstance(obj, list):
        for item in obj[:64]:
            yield from _facts(item, where, run, depth + 1)
    if not isinstance(obj, Mapping):
        return
    paths = [key for key in obj if isinstance(key, str) and key.lstrip("GET ").startswith("/")]
    for key in [*paths, "server_args", "server_info", "result"]:
        if isinstance(obj.get(key), dict | list | str):
            yield from _facts(obj[key], where, run, depth + 1)
    yield from _models(obj)
    yield from _vllm(obj, where, run)
    yield from _sglang(obj, where, run)
    if "model_path" in obj and "is_generation" in obj:
        yield "model", str(obj["model_path"])
    if isinstance(obj.get("version"), str) and len(obj) <= 3:
        yield "engine_version", obj["version"]


def _models(obj: Mapping[str, Any]) -> Pairs:
    """/v1/models: served name, model, its length; entries with a parent are LoRA adapters."""
    cards = obj.get("data")
    if obj.get("object") != "list" or not isinstance(cards, list):
        return
    cards = [card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)]
    bases = [card for card in cards if not card.get("parent")]
    for card in bases[:1]:
        yield "served_model", card["id"]
        if isinstance(card.get("root"), str):
            yield "model", card["root"]
        length = launch_convert.to_int(card.get("max_model_len"))
        if length is not None:
            yield "max_model_len", length
        if card.get("owned_by") in ("vllm", "sglang"):
            yield "engine", card["owned_by"]
    if len(bases) < len(cards):
        yield "lora", True
        yield "lora_adapters", len(cards) - len(bases)


def _vllm(obj: Mapping[str, Any], where: str, run: str) -> Pairs:
    """vLLM's /server_info in its text or JSON form."""
    config = obj.get("vllm_config")
    if isinstance(config, str) and "tensor_parallel_size=" in config:
        settings: Mapping[str, Any] = pyrepr.parse_items(config)
    elif isinstance(config, dict):
        settings = _flattened(config)
    elif "cache_config" in obj and "scheduler_config" in obj:
        settings = _flattened(obj)
    else:
        return
    yield "engine", "vllm"
    for fact in launch_facts.from_settings(settings, "vllm", "server_info", where, run, mode="resolved"):
        yield fact.id, fact.value
    environment = obj.get("vllm_env")
    for name in _ENVIRONMENT if isinstance(environment, dict) else ():
        value = environment.get(name) if isinstance(environment, dict) else None
        if value is not None:
            yield f"env.{name}", launch_convert.typed(value)


def _flattened(config: Mapping[str, Any]) -> dict[str, Any]:
    """The sections' keys side by side; nested settings such as ``speculative_config`` whole."""
    flat: dict[str, Any] = {name: config[name] for name in _WHOLE if name in config}
    for name in _SECTIONS:
        section = config.get(name)
        if name in _WHOLE or not isinstance(section, dict):
            continue
        for key, value in section.items():
            if not isinstance(value, dict):
                flat.setdefault(key, value)
    if isinstance(config.get("lora_config"), dict):
        flat["enable_lora"] = True
    if isinstance(config.get("instance_id"), str) or "speculative_config" in config:
        flat.setdefault("speculative_config", None)
    return flat


def _sglang(obj: Mapping[str, Any], where: str, run: str) -> Pairs:
    """SGLang's flat answer: server arguments, scheduler limits, and the state of each scheduler."""
    if len(_SGLANG_KEYS & obj.keys()) < 2:
        return
    yield "engine", "sglang"
    for fact in launch_facts.from_settings(obj, "sglang", "server_info", where, run, mode="resolved"):
        yield fact.id, fact.value
    states = obj.get("internal_states")
    for state in states[:1] if isinstance(states, list) else ():
        if isinstance(state, dict):
            yield from _state(state)


def _state(state: Mapping[str, Any]) -> Pairs:
    memory = state.get("memory_usage")
    for name, fact in _SGLANG_MEMORY.items():
        size = memory.get(name) if isinstance(memory, dict) else None
        if isinstance(size, int | float) and not isinstance(size, bool):
            yield fact, int(units.gib(size))
    tokens = memory.get("token_capacity") if isinstance(memory, dict) else state.get("max_total_num_tokens")
    if (count := launch_convert.to_int(tokens)) is not None:
        yield "kv_tokens", count
    limit = launch_convert.to_int(state.get("effective_max_running_requests_per_dp"))
    if limit is not None:
        yield "max_num_seqs", limit
