"""Facts from named settings, whatever named them: flags, environment, argument dumps, configuration answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnose.model import Fact, FactValue
from diagnose.sources import launch_flags as table
from diagnose.sources.launch_convert import Pairs, convert, to_int, typed

_TABLES: dict[str, tuple[table.Row, ...]] = {
    "vllm": table.VLLM, "sglang": table.SGLANG, "router": table.ROUTER, "client": table.CLIENT,
}  # fmt: skip
_INDEX: dict[str, dict[str, tuple[str, str]]] = {}


def index(kind: str) -> dict[str, tuple[str, str]]:
    """Fact and conversion by setting name for "vllm", "sglang", "router" or "client"."""
    if kind not in _INDEX:
        _INDEX[kind] = {name: (fact, how) for fact, how, names in _TABLES[kind] for name in names.split()}
    return _INDEX[kind]


def stands_alone(kind: str, name: str) -> bool:
    """Whether this flag takes no value."""
    return name in table.ALONE or index(kind).get(name, ("", ""))[1].split(":")[0] in ("bool", "not", "on")


def from_settings(
    settings: Mapping[str, Any], kind: str, source: str, where: str, run: str, *, mode: str = "set"
) -> Iterator[Fact]:
    """Facts of one set of settings.

    mode: ``set`` what an operator wrote (unknown names become ``flag.<name>``), ``dump`` every argument with its
    default (unknown names are dropped), ``resolved`` the engine's own configuration (as dump; None means off).
    """
    pairs: Pairs = []
    resolved = mode == "resolved"
    for raw, value in settings.items():
        name = str(raw).strip().lstrip("-").replace("-", "_")
        if resolved and kind == "vllm":
            name = table.RESOLVED_VLLM.get(name, name)
        fact, how = index(kind).get(name, ("", ""))
        if fact:
            pairs += convert(fact, how, value, resolved)
        elif mode == "set" and name not in table.IGNORED and not name.endswith(table.SECRETS):
            pairs += _unknown(name, value)
    pairs += _implied(dict(pairs), kind, settings)
    seen: set[tuple[str, FactValue]] = set()
    for pair in pairs:
        if pair not in seen:
            seen.add(pair)
            yield Fact(pair[0], pair[1], source, where, run)


def _unknown(name: str, value: Any) -> Pairs:
    """A flag that no row lists, under its own name; nested values one level down."""
    if isinstance(value, dict):
        return [pair for key, inner in list(value.items())[:40] for pair in _unknown(f"{name}.{key}", inner)]
    if isinstance(value, list):
        flat = tuple(v for v in value if isinstance(v, bool | int | float | str))
        return [(f"flag.{name}", flat)] if flat else []
    return [] if value is None else [(f"flag.{name}", typed(value))]


def _implied(have: Mapping[str, FactValue], kind: str, settings: Mapping[str, Any]) -> Pairs:
    """Facts that follow from others of the same set."""
    out: Pairs = []
    if kind == "vllm" and "max_num_batched_tokens" in have and have.get("chunked_prefill", True) is not False:
        out.append(("chunk_budget", have["max_num_batched_tokens"]))
    if kind == "vllm" and have.get("spec_model") and "spec_method" not in have:
        out.append(("spec_method", "ngram" if have["spec_model"] == "[ngram]" else "draft_model"))
    if have.get("kv_offload") == "native" and kind == "vllm":
        backend = settings.get("kv_offloading_backend", settings.get("kv-offloading-backend"))
        out += [("kv_offload", str(backend))] if backend not in (None, "native") else []
    if kind == "sglang":
        out += _implied_sglang(have, settings)
    if have.get("lora_adapters") and "lora" not in have:
        out.append(("lora", True))
    return out


def _implied_sglang(have: Mapping[str, FactValue], settings: Mapping[str, Any]) -> Pairs:
    out: Pairs = []
    if isinstance(have.get("chunk_budget"), int):
        out.append(("chunked_prefill", have["chunk_budget"] != -1))
    if have.get("hicache") is True and "kv_offload" not in have:
        out.append(("kv_offload", "hicache"))
    drafts = to_int(settings.get("speculative_num_draft_tokens"))
    if drafts is not None and "spec_tokens" not in have:
        # With one branch per step the draft tokens count the target's own token too; n-gram counts drafts only.
        out.append(("spec_tokens", drafts if have.get("spec_method") == "ngram" else max(drafts - 1, 1)))
    if drafts is not None:
        out.append(("flag.speculative_num_draft_tokens", drafts))
    return out


def from_environment(env: Mapping[str, str], source: str, where: str, run: str) -> Iterator[Fact]:
    """``env.<NAME>`` for the variables that steer an engine, and the settings that some of them stand for."""
    for name, value in env.items():
        if name.startswith(table.ENV_PREFIXES):
            yield Fact(f"env.{name}", typed(value), source, where, run)
        if name == "VLLM_ATTENTION_BACKEND" and value:
            yield Fact("attention_backend", str(value), source, where, run)
            yield Fact("attention_backend_explicit", True, source, where, run)
        if name.startswith("LMCACHE_") and name != "LMCACHE_TRACK_USAGE":
            yield Fact("kv_offload", "lmcache", source, where, run)
