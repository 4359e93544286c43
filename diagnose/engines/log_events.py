"""One-off log lines that mean something: id, pattern, what it tells, and the facts that it implies.

A pattern is tried only on lines that hold its ``hint`` (a literal). Named groups become the event's fields.
Several patterns may share an id, one per wording; ``since`` and ``until`` are the engine versions with that wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from diagnose import units
from diagnose.model import FactValue


@dataclass(frozen=True)
class FactRule:
    """A fact from one named group (``how``: int, float, gib, text, lower, sizes, max) or a constant.

    ``group`` may add up several groups: ``k_gib+v_gib``.
    """

    fact: str
    group: str = ""
    how: str = "text"
    value: FactValue | None = None


@dataclass(frozen=True)
class LogPattern:
    """One wording of one event. ``fixed`` are fields that the wording itself implies."""

    id: str
    engine: str
    hint: str
    regex: str
    meaning: str
    example: str
    since: str = ""
    until: str = ""
    facts: tuple[FactRule, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()


@cache
def patterns() -> tuple[LogPattern, ...]:
    """All patterns: vLLM, SGLang, and the stack around them."""
    from diagnose.engines import log_events_sglang, log_events_stack, log_events_vllm

    return log_events_vllm.PATTERNS + log_events_sglang.PATTERNS + log_events_stack.PATTERNS


@cache
def _by_hint() -> tuple[tuple[str, tuple[tuple[int, LogPattern], ...]], ...]:
    """Numbered patterns by hint: one look for a literal decides over all of them."""
    hints: dict[str, list[tuple[int, LogPattern]]] = {}
    for number, pattern in enumerate(patterns()):
        hints.setdefault(pattern.hint, []).append((number, pattern))
    return tuple((hint, tuple(numbered)) for hint, numbered in hints.items())


@cache
def ids() -> frozenset[str]:
    """Every event id that a pattern can give."""
    return frozenset(p.id for p in patterns())


@cache
def compiled(regex: str) -> re.Pattern[str]:
    """The compiled pattern; compiled when its hint is seen for the first time."""
    return re.compile(regex)


def match(line: str) -> Iterator[tuple[LogPattern, dict[str, str]]]:
    """The patterns that a line matches, with the text of their groups; the first wording of an id wins."""
    hinted = [group for hint, group in _by_hint() if hint in line]
    if not hinted:
        return
    seen: set[str] = set()
    for _, pattern in sorted((p for group in hinted for p in group), key=lambda numbered: numbered[0]):
        if pattern.id not in seen:
            found = compiled(pattern.regex).search(line)
            if found:
                seen.add(pattern.id)
                yield pattern, {k: v for k, v in found.groupdict().items() if v is not None}


def fields(pattern: LogPattern, groups: dict[str, str]) -> dict[str, str]:
    """The event's fields: numbers without separators; ``x_gib`` becomes ``x`` (or ``bytes``) in bytes."""
    out = dict(pattern.fixed)
    for name, text in groups.items():
        number = text.replace(",", "").rstrip(".")
        plain = number.lstrip("-").replace(".", "", 1).isdigit()
        if plain and (name == "gib" or name.endswith("_gib")):
            out[name.removesuffix("_gib").replace("gib", "bytes")] = str(int(units.gib(float(number))))
        else:
            out[re.sub(r"\d$", "", name)] = number if plain else text.strip()
    return out


def facts(pattern: LogPattern, groups: dict[str, str]) -> Iterator[tuple[str, FactValue]]:
    """The facts that a matched line implies; a group that cannot be read gives none."""
    for rule in pattern.facts:
        if not rule.group:
            if rule.value is not None:
                yield rule.fact, rule.value
            continue
        parts = [_convert(groups[name], rule.how) for name in rule.group.split("+") if name in groups]
        if len(parts) > 1 and all(isinstance(part, int | float) for part in parts):
            yield rule.fact, sum(part for part in parts if isinstance(part, int | float))
        elif len(parts) == 1 and parts[0] is not None:
            yield rule.fact, parts[0]


def _convert(text: str, how: str) -> FactValue | None:
    try:
        if how == "int":
            return int(float(text.replace(",", "").rstrip(".")))
        if how == "float":
            return float(text.replace(",", "").rstrip("."))
        if how == "gib":
            return int(units.gib(float(text.replace(",", "").rstrip("."))))
        if how == "sizes":
            return tuple(sorted({int(n) for n in re.findall(r"\d+", text)})) or None
        if how == "max":
            return max(int(n) for n in re.findall(r"\d+", text))
    except (ValueError, OverflowError):
        return None
    return text.strip().lower() if how == "lower" else text.strip()
