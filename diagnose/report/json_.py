"""The report as one JSON document, schema ``diagnose.report/1`` (``schema.json``). NaN and Inf never appear."""

from __future__ import annotations

import json
import math
import re
from importlib import resources
from typing import Any

from diagnose.model import (
    Diagnosis,
    EntryStatus,
    Evidence,
    Fact,
    Finding,
    ModelDiagnosis,
    NextStep,
    TargetSummary,
    Value,
)
from diagnose.report import words
from diagnose.symptoms import all_symptoms

SCHEMA_ID = "diagnose.report/1"
_SECRET = re.compile(
    r"(^|[._-])(api_?key|token|secret|password|passwd|credential|authorization)s?($|[._-])", re.IGNORECASE
)
_NOT_SECRET = re.compile(r"tokens$|_token_|token_budget|tokenizer", re.IGNORECASE)


def render(diagnosis: Diagnosis) -> str:
    """The document with trailing newline."""
    return json.dumps(document(diagnosis), indent=2, allow_nan=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    text = resources.files("diagnose.report").joinpath("schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def document(diagnosis: Diagnosis) -> dict[str, Any]:
    """The document as plain dicts and lists."""
    return {
        "schema": SCHEMA_ID,
        "verdict": diagnosis.verdict,
        "next": _next(diagnosis.next),
        "symptoms": [_finding(f) for f in diagnosis.findings],
        "guide": [_entry(e) for e in diagnosis.guide],
        "models": [_model(m) for m in diagnosis.models],
        "targets": [_target(t) for t in diagnosis.targets],
        "facts": [_fact(f) for f in diagnosis.facts],
        "missing": [
            {"what": words.clean(m.what), "why": words.clean(m.why), "how": words.clean(m.how)}
            for m in diagnosis.missing
        ],
        "notes": [words.clean(n) for n in diagnosis.notes],
    }


def _next(step: NextStep | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "id": step.id,
        "move": step.move,
        "direction": step.direction,
        "title": words.clean(step.title),
        "change": [words.clean(c) for c in step.change],
        "why": [words.clean(w) for w in step.why],
        "expect": [words.clean(e) for e in step.expect],
        "measure": words.clean(step.measure),
        "undo": words.clean(step.undo),
        "then": [words.clean(t) for t in step.then],
        "confidence": step.confidence,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    symptom = all_symptoms().get(finding.symptom)
    return {
        "id": finding.symptom,
        "verdict": finding.verdict,
        "severity": symptom.severity if symptom else "info",
        "confidence": finding.confidence,
        "target": words.clean(finding.target),
        "evidence": [_evidence(e) for e in finding.evidence],
        "missing": list(finding.missing),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "signal": evidence.signal,
        "value": _number(evidence.value),
        "unit": evidence.unit,
        "op": evidence.op,
        "threshold": _number(evidence.threshold),
        "source": words.clean(evidence.source),
        "window": _number(evidence.window),
    }


def _entry(entry: EntryStatus) -> dict[str, Any]:
    return {"id": entry.id, "title": entry.title, "status": entry.status, "why": words.clean(entry.why)}


def _model(model: ModelDiagnosis) -> dict[str, Any]:
    return {
        "model": words.clean(model.model),
        "verdict": model.verdict,
        "next": _next(model.next),
        "guide": [_entry(e) for e in model.guide],
    }


def _target(target: TargetSummary) -> dict[str, Any]:
    return {
        "name": words.clean(target.name),
        "engine": target.engine,
        "version": words.clean(target.version),
        "model": words.clean(target.model),
        "scrapes": target.scrapes,
        "window": _number(target.window),
        "verdict": target.verdict,
        "signals": {name: _value(name, value) for name, value in sorted(target.signals.items())},
    }


def _value(name: str, value: Value) -> dict[str, Any]:
    return {
        "value": _number(value.value),
        "unit": words.unit_of(name),
        "source": words.clean(value.source),
        "window": _number(value.window),
        "since_start": value.since_start,
    }


def _fact(fact: Fact) -> dict[str, Any]:
    secret = _SECRET.search(fact.id) and not _NOT_SECRET.search(fact.id)
    return {
        "id": words.clean(fact.id),
        "value": "<redacted>" if secret else _plain(fact.value),
        "source": fact.source,
        "where": words.clean(fact.where),
        "run": words.clean(fact.run),
    }


def _plain(value: object) -> Any:
    """A fact's value for JSON; a number that is not finite becomes text (an open request rate is "inf")."""
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return words.clean(value) if isinstance(value, str) else value


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
