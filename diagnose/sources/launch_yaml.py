"""Manifests: Kubernetes pods, compose files, Helm values, KServe, autoscalers, and engine configuration in YAML."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from diagnose.model import Fact, FactValue
from diagnose.sources import launch_convert, launch_facts, launch_shell, pyrepr
from diagnose.sources.launch_commands import from_image

_LOOKS = re.compile(r"^\s*(?:- )?[\"']?[\w./-]+[\"']?\s*:(?:\s|$)|^\s*-\s+\S|^\s*[\[{]\s*[\"{]", re.M)
_LMCACHE = {"chunk_size", "local_cpu", "max_local_cpu_size", "local_disk", "max_local_disk_size", "remote_url",
            "remote_serde", "enable_p2p", "enable_nixl", "cache_policy", "save_decode_cache"}  # fmt: skip
_WORD_KEYS = ("entrypoint", "command", "args", "arguments", "extraArgs", "vllmExtraArgs", "Entrypoint", "Cmd")
_CONFIGS = ("vllmConfig", "engineArgs", "engine_kwargs", "engine_args")
_HELM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject", "ScaledJob", "VariantAutoscaling", "PodAutoscaler")
MAX_DOCUMENTS = 200


def load(text: str) -> list[Any]:
    """The documents of a YAML text that hold mappings or lists; empty when it is not such a text."""
    if not _LOOKS.search(text):
        return []
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = [doc for doc, _ in zip(yaml.load_all(text, Loader=loader), range(MAX_DOCUMENTS), strict=False)]
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError, TypeError):
        return []
    if any(isinstance(doc, str) for doc in documents):
        return []
    return [doc for doc in documents if isinstance(doc, dict | list)]


def walk(node: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every mapping in a document, outer ones first."""
    if depth > 40:
        return
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value, depth + 1)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value, depth + 1)


def container_words(node: dict[str, Any]) -> tuple[dict[str, str], list[str], str]:
    """Environment, words of the command and image of one container or service; empty where it has none."""
    parts: list[str] = []
    for key in _WORD_KEYS:
        script = parts[-1:] in (["-c"], ["-lc"]) and isinstance(node.get(key), str)
        parts += [node[key]] if script else _as_words(node.get(key))
    image = node.get("image")
    if isinstance(image, dict):
        node = image
    if isinstance(node.get("repository"), str):
        image = f"{node['repository']}:{node.get('tag', '')}"
    return _environment(node), parts, image if isinstance(image, str) else ""


def _as_words(value: Any) -> list[str]:
    if isinstance(value, str):
        try:
            return shlex.split(value.replace("\\\n", " "))
        except ValueError:
            return value.split()
    if not isinstance(value, list):
        return []
    words: list[str] = []
    for item in value:
        text = _word(item)
        # `- --max-model-len 4096` is one item by mistake and holds two words; a script behind `-c` is one word.
        several = isinstance(item, str) and text.startswith("-") and " " in text.strip() and "{" not in text
        words += _as_words(text) if several else [text]
    return words


def _environment(node: dict[str, Any]) -> dict[str, str]:
    out: dict[str, str] = {}
    for key in ("env", "environment", "envs", "Env"):
        value = node.get(key)
        if isinstance(value, dict):
            out |= {str(k): _word(v) for k, v in value.items() if isinstance(v, str | int | float | bool)}
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict) and "name" in item and "value" in item:
                out[str(item["name"])] = _word(item["value"])
            elif isinstance(item, str) and "=" in item:
                name, _, given = item.partition("=")
                out[name] = given
    return out


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def manifest_facts(document: Any, run: str, where: str) -> Iterator[Fact]:
    """``k8s.*`` facts, which belong to the deployment and so to no run, and those of Helm values."""
    for node in walk(document):
        for name, value in _kubernetes(node):
            yield Fact(f"k8s.{name}", value, "launch", where)
        config = next((node[key] for key in _CONFIGS if isinstance(node.get(key), dict)), None)
        if config is not None:
            yield from launch_facts.from_settings(_snake(config), "vllm", "launch", where, run)
            extra = [*_as_words(config.get("extraArgs"))]
            settings, _ = launch_shell.flags(extra, "vllm")
            yield from launch_facts.from_settings(settings, "vllm", "launch", where, run)
            if isinstance(node.get("modelURL"), str):
                yield Fact("model", node["modelURL"], "launch", where, run)
        if isinstance(cache := node.get("lmcacheConfig"), dict) and cache.get("enabled"):
            yield Fact("kv_offload", "lmcache", "launch", where, run)
        logic = node.get("routingLogic")
        if isinstance(logic, str):
            yield Fact("router_mode", logic, "launch", where)


def _snake(config: dict[str, Any]) -> dict[str, Any]:
    """Helm's camelCase keys as flag names."""
    return {_HELM.sub("_", str(key)).lower(): value for key, value in config.items() if key != "extraArgs"}


def _kubernetes(node: dict[str, Any]) -> Iterator[tuple[str, FactValue]]:
    """Replicas, autoscaling metrics and queries, GPUs."""
    for key, name in (("replicas", "replicas"), ("replicaCount", "replicas"), ("minReplicas", "min_replicas"),
                      ("minReplicaCount", "min_replicas"), ("maxReplicas", "max_replicas"),
                      ("maxReplicaCount", "max_replicas"), ("cooldownPeriod", "cooldown_seconds"),
                      ("pollingInterval", "polling_seconds")):  # fmt: skip
        if isinstance(node.get(key), int) and not isinstance(node.get(key), bool):
            yield name, node[key]
    if str(node.get("kind")) in _SCALERS:
        yield "autoscaler", str(node["kind"])
    if isinstance(node.get("pluginRef"), str):
        yield f"epp.{node['pluginRef']}", launch_convert.to_float(node.get("weight", 1)) or 0.0
    for limit in (node.get("limits"), node.get("requests")):
        if isinstance(limit, dict):
            for key, value in limit.items():
                if str(key).endswith("/gpu") and (count := launch_convert.to_int(value)) is not None:
                    yield "gpus", count
    yield from _scaling(node)


def _scaling(node: dict[str, Any]) -> Iterator[tuple[str, FactValue]]:
    metadata = node.get("metadata")
    if "type" in node and isinstance(metadata, dict):
        query = metadata.get("query") or metadata.get("metricName")
        if query:
            yield "keda_query", str(query)
            if (limit := pyrepr.scalar(str(metadata.get("threshold")))) is not None:
                yield "keda_threshold", limit
        elif node["type"] in ("cpu", "memory"):
            yield "keda_query", str(node["type"])
    metric = node.get("metric")
    name = metric.get("name") if isinstance(metric, dict) else None
    if name is None and node.get("type") == "Resource" and isinstance(node.get("resource"), dict):
        name, node = node["resource"].get("name"), node["resource"]
    if name is None:
        return
    yield "hpa_metric", str(name)
    target = node.get("target")
    for key in ("averageValue", "value", "averageUtilization") if isinstance(target, dict) else ():
        if isinstance(target, dict) and key in target:
            yield "hpa_target", str(target[key])


def engine_config(document: Any, run: str, where: str) -> Iterator[Fact]:
    """Facts of an engine's own YAML (``--config``) or of LMCache's; nothing for any other document."""
    if not isinstance(document, dict):
        return
    names = {str(key).replace("-", "_") for key in document}
    if len(names & _LMCACHE) >= 2 or (names and names <= _LMCACHE):
        yield Fact("kv_offload", "lmcache", "launch", where)
        for key, value in document.items():
            if isinstance(value, bool | int | float | str):
                yield Fact(f"lmcache.{str(key).replace('-', '_')}", value, "launch", where)
        return
    hits = {kind: len(names & launch_facts.index(kind).keys()) for kind in ("vllm", "sglang")}
    kind = max(hits, key=lambda k: hits[k])
    if hits[kind] >= 2 and hits[kind] * 2 >= len(names):
        yield from launch_facts.from_settings(document, kind, "launch", where, run)


def image_facts(image: str, run: str, where: str) -> Iterator[Fact]:
    """Engine and version of a container image, where its name tells."""
    engine, _, version = from_image(image)
    if engine:
        yield Fact("engine", engine, "launch", where, run)
    if version:
        yield Fact("engine_version", version, "launch", where, run)
