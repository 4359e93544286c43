"""Queries in people's own files: Grafana dashboards, Prometheus rules, PrometheusRule, ConfigMap, ScaledObject."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnose.errors import UsageError

LARGEST = 32 * 1024 * 1024  # bytes; generated dashboards stay far below
_DASHBOARD_KEYS = ("panels", "rows", "templating", "elements", "targets", "dashboard")
_NOT_PROMQL = ("loki", "tempo", "elasticsearch", "influxdb", "postgres", "mysql", "cloudwatch", "jaeger", "pyroscope")


@dataclass(frozen=True)
class Query:
    """One expression of a file; ``where`` names the panel, variable or rule, ``record`` what a rule defines."""

    file: str
    where: str
    text: str
    record: str = ""


def read(path: str) -> tuple[Query, ...]:
    """The queries of a file. Raises UsageError, one line, for what is neither a dashboard nor a rule file."""
    text = _text(path)
    found = tuple(_queries(path, _documents(path, text)))
    if not found:
        raise UsageError("has no query: not a Grafana dashboard nor a rule file", where=path)
    return found


def _text(path: str) -> str:
    place = Path(path)
    try:
        if place.is_dir():
            raise UsageError("is a folder", where=path, hint="Name its files, for example rules/*.yaml")
        if place.stat().st_size > LARGEST:
            raise UsageError("is larger than 32 MiB", where=path)
        return place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError("no such file", where=path) from None
    except UnicodeDecodeError:
        raise UsageError("is not text", where=path) from None
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror or error})", where=path) from None


def _documents(path: str, text: str) -> list[Any]:
    if text.lstrip().startswith(("{", "[")):
        try:
            return [json.loads(text)]
        except ValueError as error:
            if path.endswith(".json"):
                raise UsageError(f"is not JSON: {error}", where=path) from None
        except RecursionError:
            raise UsageError("is nested too deeply", where=path) from None
    import yaml

    try:
        return list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise UsageError(f"is not YAML: {' '.join(str(error).split())[:160]}", where=path) from None
    except (RecursionError, ValueError):
        raise UsageError("is not YAML that can be read", where=path) from None


def _queries(path: str, documents: list[Any]) -> Iterator[Query]:
    for document in documents:
        if not isinstance(document, Mapping):
            continue
        if isinstance(document.get("items"), list) and document.get("kind", "").endswith("List"):
            yield from _queries(path, document["items"])
        elif document.get("kind") == "ConfigMap" and isinstance(document.get("data"), Mapping):
            for name, text in document["data"].items():
                if str(name).endswith((".json", ".yaml", ".yml", ".rules")):
                    yield from _queries(path, _documents(f"{path} ({name})", str(text)))
        elif groups := _groups(document):
            yield from _rules(path, groups)
        elif document.get("kind") == "ScaledObject":
            yield from _keda(path, document)
        elif any(key in document for key in _DASHBOARD_KEYS) or document.get("kind") == "Dashboard":
            yield from _dashboard(path, document, "dashboard")


def _groups(document: Mapping[str, Any]) -> list[Any]:
    spec = document.get("spec")
    for holder in (document, spec):
        if isinstance(holder, Mapping) and isinstance(holder.get("groups"), list):
            return list(holder["groups"])
    return []


def _rules(path: str, groups: list[Any]) -> Iterator[Query]:
    for group in groups:
        for rule in _list(group, "rules"):
            if isinstance(rule, Mapping) and isinstance(rule.get("expr"), (str, int, float)):
                record = str(rule.get("record") or "")
                name = f"record {record}" if record else f"alert {rule.get('alert', '?')}"
                yield Query(path, name, str(rule["expr"]), record)


def _keda(path: str, document: Mapping[str, Any]) -> Iterator[Query]:
    spec = document.get("spec")
    for trigger in _list(spec, "triggers"):
        metadata = trigger.get("metadata") if isinstance(trigger, Mapping) else None
        if isinstance(metadata, Mapping) and isinstance(metadata.get("query"), str):
            yield Query(path, f"trigger {trigger.get('type', '?')}", metadata["query"])


def _list(holder: Any, key: str) -> list[Any]:
    value = holder.get(key) if isinstance(holder, Mapping) else None
    return value if isinstance(value, list) else []


def _dashboard(path: str, node: Any, title: str) -> Iterator[Query]:
    """Every ``expr`` below a node, and the queries of variables; ``title`` is of the nearest panel."""
    if isinstance(node, list):
        for item in node:
            yield from _dashboard(path, item, title)
        return
    if not isinstance(node, Mapping) or _other_source(node):
        return
    if isinstance(node.get("title"), str) and node["title"]:
        title = f"panel {node['title']}" if "type" in node or "targets" in node else node["title"]
    if isinstance(node.get("expr"), str):
        yield Query(path, title, node["expr"])
    if node.get("type") == "query" and isinstance(node.get("name"), str) and (text := _variable(node)):
        yield Query(path, f"variable {node['name']}", text)
    for key, value in node.items():
        if key != "query" or not isinstance(value, str):
            yield from _dashboard(path, value, title)


def _variable(node: Mapping[str, Any]) -> str:
    query = node.get("query")
    if isinstance(query, Mapping):
        query = query.get("query")
    return query if isinstance(query, str) else ""


def _other_source(node: Mapping[str, Any]) -> bool:
    source = node.get("datasource")
    kind = source.get("type", "") if isinstance(source, Mapping) else source
    return isinstance(kind, str) and kind.lower().startswith(_NOT_PROMQL)
