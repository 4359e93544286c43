"""Alert rules: one per symptom with an alert name, and those that the grammar cannot say (written here by hand)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose.generate import conditions, handwritten, promql
from diagnose.generate.records import Group, Rule
from diagnose.guide import find_move
from diagnose.settings import Settings
from diagnose.symptoms import Symptom, all_symptoms

RUNBOOKS = "https://github.com/llm-diagnose/llm-diagnose/blob/main/runbooks"
DASHBOARD = "/d/llm-engine?var-model={{ $labels.model_name }}"
# a start-up or a rollout: the engine has been scraped for less than ten minutes
_YOUNG = "(count_over_time(engine:requests_running_last[15m]) < 10)"
# pages that make no sense while an engine starts or sleeps
_GUARDED = ("LLMEngineHung", "LLMPreemptionStorm", "LLMKVCachePressure", "LLMGraphPoolGrowth")


def groups(settings: Settings) -> list[Group]:
    """The generated alerts and the hand-written ones."""
    made = [rule for s in all_symptoms().values() if s.alert and (rule := alert(s, settings)) is not None]
    by_hand = list(handwritten.rules(settings))
    taken = {rule["alert"] for rule in by_hand}
    return [
        {"name": "llm-symptoms", "rules": [rule for rule in made if rule["alert"] not in taken]},
        {"name": "llm-handwritten", "rules": by_hand},
    ]


def alert(symptom: Symptom, settings: Settings) -> Rule | None:
    """The alert of one symptom, None when metrics cannot say its condition."""
    condition = conditions.expression(symptom, settings.bounds(symptom.id))
    if condition is None:
        return None
    if symptom.alert in _GUARDED and conditions.level(symptom) == "engine":
        condition = f"({condition})\nunless {_YOUNG}"
    return {
        "alert": symptom.alert,
        "expr": condition,
        "for": _duration(symptom.hold),
        "labels": {"severity": symptom.severity, "symptom": symptom.id},
        "annotations": dict(page_text(symptom)),
    }


def page_text(symptom: Symptom) -> Iterator[tuple[str, str]]:
    """Summary, description with numbers, the guide's step, and where to read on."""
    where = (
        "{{ $labels.model_name }} {{ $labels.instance }}"
        if conditions.level(symptom) == "engine"
        else "{{ $labels.model_name }}"
    )
    yield "summary", f"{symptom.title} ({where})"
    yield "description", f"{symptom.meaning} {numbers(symptom)}".strip()
    yield "next_step", step(symptom)
    yield "guide_entry", symptom.moves[0].partition("/")[0] if symptom.moves else "none"
    yield "runbook_url", f"{RUNBOOKS}/{symptom.alert}.md"
    yield "dashboard_url", DASHBOARD


def step(symptom: Symptom) -> str:
    """The guide's first move for a symptom in one sentence, or what to do where the guide has none."""
    if not symptom.moves:
        return "No tuning: " + (
            "restart the engine, keep its log, then upgrade." if symptom.kind == "fault" else "see the runbook."
        )
    entry, move = find_move(symptom.moves[0])
    flags = "; ".join(
        dict.fromkeys(f"{f.engine}: {f.text.replace('{value}', move.fallback or 'N')}" for f in move.flags[:4])
    )
    return f"{entry.id} {entry.title}: {move.title}. {flags}. Exact numbers: diagnose now URL."


def numbers(symptom: Symptom) -> str:
    """The recorded signals of a symptom's sentence, as template queries for the alerting series."""
    level = conditions.level(symptom)
    wanted = ("instance", "model_name", "rank") if level == "engine" else ("model_name",)
    names = [n for n in dict.fromkeys(re.findall(r"\{(\w+)\}", symptom.say)) if promql.renderable(n)]
    parts = []
    for name in names:
        matchers = ",".join(f"{label}='%s'" for label in wanted)
        values = " ".join(f"$labels.{label}" for label in wanted)
        query = f'printf "{level}:{name}{{{matchers}}}" {values}'
        parts.append(f"{name} {{{{ with {query} | query }}}}{{{{ . | first | value | humanize }}}}{{{{ end }}}}")
    return "Now: " + ", ".join(parts) + "." if parts else ""


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:g}s"
