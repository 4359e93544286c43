"""Generated parts of the runbook pages: the header of an alert, and the guide's moves with their flags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from diagnose.engines.catalog import signal_title, signal_unit
from diagnose.generate import alerts, promql
from diagnose.guide import Flag, find_move
from diagnose.report.words import ENGINE_NAMES, counted, quantity
from diagnose.settings import Settings, resolve
from diagnose.symptoms import Symptom, all_symptoms, grammar

BEGIN, END = "<!-- generated -->", "<!-- end generated -->"
BEGIN_MOVES, END_MOVES = "<!-- generated moves -->", "<!-- end generated moves -->"
SECTIONS = ("Meaning", "Impact", "Diagnosis", "Mitigation", "Verify and undo")
_FALLBACK = "N"


def names(settings: Settings | None = None) -> tuple[str, ...]:
    """Names of all alerts, in the order of their rules."""
    return tuple(_rules(settings or resolve()))


def header(alert_name: str, settings: Settings | None = None) -> str:
    """The header block of an alert's page, markers included. Raises KeyError for a name that is no alert."""
    resolved = settings or resolve()
    return "\n".join((BEGIN, *_header(alert_name, _rules(resolved)[alert_name], resolved), END))


def moves(alert_name: str) -> str:
    """The guide's moves for an alert in order, with the flags of both engines, markers included."""
    symptom = _symptom(alert_name)
    lines = [line for n, ref in enumerate(symptom.moves if symptom else (), 1) for line in _move(n, ref)]
    return "\n".join((BEGIN_MOVES, *lines, END_MOVES))


def render_all(existing: Mapping[str, str], settings: Settings | None = None) -> dict[str, str]:
    """Pages by alert name with their generated blocks replaced.

    A page that is missing beside others becomes a skeleton to fill; where there are none, none are made.
    """
    resolved = settings or resolve()
    return {name: _page(name, existing.get(name, ""), resolved) for name in names(resolved)} if existing else {}


def _page(name: str, text: str, settings: Settings) -> str:
    if not text:
        sections = "\n\n".join(f"## {title}\n\nTODO" for title in SECTIONS)
        text = f"# {name}\n\n{BEGIN}\n{END}\n\n{sections}\n"
    text = _replaced(text, BEGIN, END, header(name, settings))
    return _replaced(text, BEGIN_MOVES, END_MOVES, moves(name)) if BEGIN_MOVES in text else text


def _replaced(text: str, begin: str, end: str, block: str) -> str:
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    return before + block + after if found and closed else text


def _rules(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for group in alerts.groups(settings):
        for rule in group["rules"]:  # type: ignore[attr-defined]
            if "alert" in rule:
                found.setdefault(rule["alert"], []).append(rule)
    return found


def _symptom(alert_name: str) -> Symptom | None:
    return next((s for s in all_symptoms().values() if s.alert == alert_name), None)


def _header(name: str, rules: list[dict[str, Any]], settings: Settings) -> Iterator[str]:
    symptom = _symptom(name)
    yield "| | |"
    yield "|---|---|"
    yield f"| Alert | {name} |"
    for rule in rules:
        hold = str(rule.get("for", "0s"))
        yield f"| Severity | {rule['labels']['severity']}, {'at once' if hold in ('0m', '0s') else f'after {hold}'} |"
        yield f"| Fires when | {_fires(symptom, rule, settings)} |"
    if symptom:
        yield from _thresholds(symptom, rules[0], settings)
        yield f"| In words | `diagnose explain {symptom.id}` |"
    yield f"| Guide | {_guide(symptom, rules[0])} |"


def _thresholds(symptom: Symptom, rule: Mapping[str, Any], settings: Settings) -> Iterator[str]:
    """The thresholds that the rule holds, with their values."""
    seen = {str(c.bound): c.signal for c in grammar.compares(symptom.node()) if _readable(c.signal)}
    numbers = set(re.findall(r"[<>=]\s*([-\d.e+]+)", str(rule["expr"])))
    for threshold in symptom.thresholds:
        key = f"{symptom.id}.{threshold.name}"
        if threshold.name in seen and f"{settings.values[key]:.12g}" in numbers:
            yield f"| Threshold `{key}` | {quantity(settings.values[key], threshold.unit, seen[threshold.name])} |"


def _fires(symptom: Symptom | None, rule: Mapping[str, Any], settings: Settings) -> str:
    """The condition in words; of a rule that was written by hand, its own description."""
    made = alerts.alert(symptom, settings) if symptom else None
    by_hand = made is None or made["expr"] != rule["expr"]
    said = None if by_hand or symptom is None else words(symptom.node(), settings.bounds(symptom.id))
    if said is None:
        text = re.sub(r"\{\{.*?\}\}", "...", str(rule["annotations"]["description"]))
        return " ".join(text.split()).replace("|", "/")
    return said[0].upper() + said[1:]


def _guide(symptom: Symptom | None, rule: Mapping[str, Any]) -> str:
    if symptom and symptom.moves:
        entry, move = find_move(symptom.moves[0])
        return f"{entry.id} {entry.title}; first move: {move.title}"
    entry_id = str(rule["annotations"].get("guide_entry", "none"))
    return "no tuning: see Mitigation" if entry_id == "none" else entry_id


def words(node: grammar.Node, bounds: Mapping[str, float]) -> str | None:
    """A condition in words, as far as metrics can say it (as the alert does); None when they cannot."""
    if isinstance(node, grammar.Compare):
        return _comparison(node, bounds) if _readable(node.signal) else None
    if isinstance(node, grammar.Known):
        return f"{signal_title(node.signal)} known" if promql.renderable(node.signal) else None
    if isinstance(node, grammar.Not):
        inner = words(node.part, bounds)
        return f"NOT ({inner})" if inner else None
    left, right = words(node.left, bounds), words(node.right, bounds)
    if node.kind == "and":
        negative = [isinstance(p, grammar.Not) for p in (node.left, node.right)]
        if left is None or right is None:
            return left if negative[1] else right if negative[0] else None
    elif left is None or right is None:
        return left if node.kind == "unless" else left or right
    return f"{_nested(node.left, left, node.kind)} {node.kind.upper()} {_nested(node.right, right, node.kind)}"


def _readable(signal: str) -> bool:
    return promql.renderable(signal) or signal.startswith("config_")


def _nested(part: grammar.Node, text: str, kind: str) -> str:
    return f"({text})" if isinstance(part, grammar.Join) and part.kind != kind else text


def _comparison(node: grammar.Compare, bounds: Mapping[str, float]) -> str:
    title, value = signal_title(node.signal), grammar.bound_of(node, bounds)
    if node.signal.startswith("config_") and node.op == "==" and value in (0, 1):
        return f"{title} {'on' if value else 'off'}"
    return f"{title} {node.op} {counted(value, signal_unit(node.signal), node.signal)}"


def _move(number: int, ref: str) -> Iterator[str]:
    entry, move = find_move(ref)
    yield f"{number}. **{ref}: {move.title}** ({entry.title}; cost: {move.cost})"
    for flag in move.flags:
        if not flag.until:
            yield f"   - {_since(flag)}: {_text(flag, move.fallback or _FALLBACK)}"
    if any(flag.until for flag in move.flags):
        yield f"   - Older versions: `diagnose explain {ref}`"
    yield f"   - Check: {move.measure}"
    if move.undo:
        yield f"   - Undo: {move.undo}"


def _since(flag: Flag) -> str:
    return f"{ENGINE_NAMES.get(flag.engine, flag.engine)}{f' from {flag.since}' if flag.since else ''}"


def _text(flag: Flag, value: str) -> str:
    """The flag as code, which also keeps ``<...>`` from being read as HTML."""
    return f"`{flag.text.replace('{value}', value).replace('`', chr(39))}`"
