"""Many targets as a table, worst first."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from diagnose.model import Diagnosis, TargetSummary
from diagnose.report import words
from diagnose.symptoms import all_symptoms

ROWS = 14
_LONG = 24
_SIGNALS = (
    ("run", "requests_running"),
    ("wait", "requests_waiting"),
    ("KV", "kv_usage_max"),
    ("TTFT", "ttft_mean"),
    ("ITL", "itl_mean"),
)
HEADINGS = ("target", "verdict", "finding", *(label for label, _ in _SIGNALS))
_KINDS = ("fault", "cause", "opportunity", "effect", "monitoring", "info", "benign")
_SEVERITIES = ("page", "ticket", "info")


@dataclass(frozen=True)
class Table:
    """Rows of text under HEADINGS, and one line about the rows that were left out ("" when none were)."""

    rows: tuple[tuple[str, ...], ...]
    rest: str


def table(diagnosis: Diagnosis) -> Table:
    """The worst ROWS targets; the others are counted by verdict."""
    findings = _worst(diagnosis)
    ordered = sorted(diagnosis.targets, key=lambda t: _rank(t, findings))
    rest = Counter(words.VERDICT_WORDS.get(t.verdict, t.verdict).lower() for t in ordered[ROWS:])
    counted = ", ".join(f"{n:,} {verdict}" for verdict, n in rest.most_common())
    ending = _ending([t.name for t in diagnosis.targets])
    return Table(
        tuple(_row(t, findings.get(t.name, ""), ending) for t in ordered[:ROWS]),
        f"and {len(ordered) - ROWS:,} more: {counted}" if rest else "",
    )


def _worst(diagnosis: Diagnosis) -> dict[str, str]:
    """The worst present symptom by target: its id."""
    symptoms = all_symptoms()
    held: dict[str, tuple[tuple[int, int], str]] = {}
    for finding in diagnosis.findings:
        symptom = symptoms.get(finding.symptom)
        if finding.verdict != "present":
            continue
        rank = (_KINDS.index(symptom.kind), _SEVERITIES.index(symptom.severity)) if symptom else (9, 9)
        if finding.target not in held or rank < held[finding.target][0]:
            held[finding.target] = (rank, finding.symptom)
    return {target: name for target, (_, name) in held.items()}


def _rank(target: TargetSummary, findings: dict[str, str]) -> tuple[int, int, float, str]:
    verdict = words.VERDICT_ORDER.index(target.verdict) if target.verdict in words.VERDICT_ORDER else 9
    symptom = all_symptoms().get(findings.get(target.name, ""))
    waiting = target.signals.get("requests_waiting")
    severity = _SEVERITIES.index(symptom.severity) if symptom else 9
    return verdict, severity, -(waiting.value if waiting else 0.0), target.name


def _ending(names: list[str]) -> str:
    """What all names end in, from a dot or colon on: it only takes room (``.serving.svc:8000``)."""
    shared = os.path.commonprefix([name[::-1] for name in names])[::-1]
    starts = [i for i, c in enumerate(shared) if c in ".:"]
    return shared[starts[0] :] if starts and max(map(len, names)) > _LONG else ""


def _row(target: TargetSummary, finding: str, ending: str) -> tuple[str, ...]:
    numbers = [_number(target, signal) for _, signal in _SIGNALS]
    return (
        words.clean(target.name.removesuffix(ending)),
        words.VERDICT_WORDS.get(target.verdict, target.verdict).lower(),
        finding.replace("_", " "),
        *numbers,
    )


def _number(target: TargetSummary, signal: str) -> str:
    value = target.signals.get(signal)
    return words.quantity(value.value, words.unit_of(signal), signal) if value else "-"
