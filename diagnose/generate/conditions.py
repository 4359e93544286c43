"""Conditions of symptoms as PromQL over recorded series, with literal thresholds.

A branch that rests on signals which metrics cannot give is left out: the alert then says less, never more.
Configuration signals are read from ``engine:config_*`` (recorded from the configuration exporter where it runs).
"""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.generate import promql
from diagnose.symptoms import Symptom, grammar

LEVELS = ("engine", "model")


def level(symptom: Symptom) -> str:
    """``model`` when the symptom compares ranks or replicas of a model, else ``engine``."""
    return "model" if grammar.signals(symptom.node()) & promql.FLEET.keys() else "engine"


def expression(symptom: Symptom, bounds: Mapping[str, float]) -> str | None:
    """The alert's condition, None when metrics cannot say it at all."""
    return render(symptom.node(), bounds, level(symptom))


def render(node: grammar.Node, bounds: Mapping[str, float], prefix: str) -> str | None:
    """PromQL of a condition tree, None when nothing of it can be said."""
    if isinstance(node, grammar.Compare):
        known = promql.renderable(node.signal) or node.signal.startswith("config_")
        return f"{prefix}:{node.signal} {node.op} {grammar.bound_of(node, bounds):.12g}" if known else None
    if isinstance(node, grammar.Known):
        return f"{prefix}:{node.signal}" if promql.renderable(node.signal) else None
    if isinstance(node, grammar.Not):
        return None  # only meaningful beside an ``and``, see _and
    if node.kind == "and":
        return _and(node, bounds, prefix)
    left, right = render(node.left, bounds, prefix), render(node.right, bounds, prefix)
    if node.kind == "unless":
        return left if left is None or right is None else f"({left}) unless ({right})"
    return f"({left}) or ({right})" if left and right else left or right


def _and(node: grammar.Join, bounds: Mapping[str, float], prefix: str) -> str | None:
    positive: list[grammar.Node] = []
    negative: list[grammar.Not] = []
    for part in (node.left, node.right):
        if isinstance(part, grammar.Not):
            negative.append(part)
        else:
            positive.append(part)
    said = [render(p, bounds, prefix) for p in positive]
    if not said or any(s is None for s in said):
        return None
    text = " and ".join(f"({s})" for s in said)
    for part in negative:
        inner = render(part.part, bounds, prefix)
        text = f"({text}) unless ({inner})" if inner else text
    return text
