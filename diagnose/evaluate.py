"""Symptoms against signals: one finding per symptom and subject, with evidence and with what is missing."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.engines.catalog import signal_unit
from diagnose.model import Evidence, Finding, Value
from diagnose.subjects import Subject
from diagnose.symptoms import Symptom, all_symptoms, grammar

Bounds = Mapping[str, Mapping[str, float]]
_ORDER = ("high", "medium", "low")


def findings(subject: Subject, bounds: Bounds) -> tuple[Finding, ...]:
    """The finding of every symptom on one subject; ``bounds`` are thresholds by symptom and name."""
    return tuple(
        check(symptom, subject, bounds.get(symptom.id, symptom.bounds())) for symptom in all_symptoms().values()
    )


def check(symptom: Symptom, subject: Subject, bounds: Mapping[str, float]) -> Finding:
    """Present, absent, unknown (a missing signal leaves it open) or not-applicable, for one symptom."""
    values = subject.values
    if symptom.applies and grammar.evaluate(grammar.parse(symptom.applies), values, bounds) is False:
        return Finding(symptom.id, "not-applicable", subject.name)
    node = symptom.node()
    outcome = grammar.evaluate(node, values, bounds)
    verdict = "unknown" if outcome is None else "present" if outcome else "absent"
    missing = tuple(sorted(s for s in grammar.signals(node) if s not in values)) if outcome is None else ()
    evidence = tuple(
        _evidence(c, subject.signals, bounds, outcome) for c in grammar.compares(node) if c.signal in values
    )
    return Finding(symptom.id, verdict, subject.name, _confidence(symptom, subject, node), evidence, missing)


def _evidence(
    compare: grammar.Compare, signals: Mapping[str, Value], bounds: Mapping[str, float], outcome: bool | None
) -> Evidence:
    value = signals[compare.signal]
    bound = grammar.bound_of(compare, bounds)
    return Evidence(
        compare.signal, value.value, signal_unit(compare.signal), compare.op, bound, value.source, value.window
    )


def _confidence(symptom: Symptom, subject: Subject, node: grammar.Node) -> str:
    """The symptom's own confidence, one step lower where it rests on values since start or on too little traffic."""
    read = [subject.signals[s] for s in grammar.signals(node) if s in subject.signals]
    lower = subject.scrapes == 1 or any(v.since_start for v in read)
    return _ORDER[min(2, _ORDER.index(symptom.confidence) + lower)]
