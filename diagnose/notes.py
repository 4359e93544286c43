"""Sentences about findings: what a symptom rests on in numbers, how to get what is missing, what to keep in mind."""

from __future__ import annotations

import re
from collections.abc import Iterable

from diagnose import facts as facts_module
from diagnose.compare import Comparison
from diagnose.engines.catalog import signal_unit
from diagnose.model import Finding
from diagnose.report.words import quantity
from diagnose.subjects import Subject
from diagnose.symptoms import Symptom

_FIELD = re.compile(r"\{(\w+)\}")


def say(symptom: Symptom, subject: Subject) -> str:
    """The symptom's evidence sentence with the subject's numbers; parts whose numbers are missing are left out."""
    parts = []
    for part in re.split(r"(?<=[,;:]) ", symptom.say or symptom.title):
        names = _FIELD.findall(part)
        if all(n in subject.signals for n in names):
            parts.append(_FIELD.sub(lambda m: quantity(subject.signals[m[1]].value, signal_unit(m[1]), m[1]), part))
    return " ".join(parts).rstrip(",;: ") or symptom.title


def how(symptom: Symptom) -> str:
    """How to get what a symptom misses."""
    text = symptom.missing
    if "log" in text and "scrape" not in text and "counter" not in text:
        return "add the engine log: --log FILE"
    if "launch" in text or "flags" in text or "--max" in text:
        return "add the launch command: --launch FILE"
    if "benchmark" in text:
        return "benchmark each configuration and put the results under bench/"
    return "scrape /metrics twice under load: diagnose now URL, or diagnose capture URL -o bundle.tar.gz"


def notes(
    subjects: tuple[Subject, ...],
    present: Iterable[tuple[Subject, Symptom, Finding]],
    comparison: Comparison | None,
) -> tuple[str, ...]:
    """What a reader must know beside the verdict."""
    out = []
    for subject, symptom, _ in present:
        if symptom.kind in ("benign", "info") and symptom.id not in ("idle", "light_load"):
            out.append(f"{symptom.title}: {say(symptom, subject)}")
    for subject in subjects:
        out += _about(subject)
    if comparison is not None:
        for pair in comparison.pairs[:3]:
            where = f" ({pair.condition})" if pair.condition else ""
            out.append(f"{pair.better} beats {pair.worse} by {quantity(pair.gain, 'ratio')} in {pair.metric}{where}")
        out += [f"{a} and {b} differ in more than one thing: not comparable" for a, b in comparison.mixed[:2]]
    if any(
        s.signals.get("preemptions_per_finished") and s.signals["preemptions_per_finished"].value > 0.1
        for s in subjects
    ):
        out.append("A benchmark taken while requests were preempted is not publishable.")
    return tuple(dict.fromkeys(out))


def _about(subject: Subject) -> list[str]:
    out = []
    signals = subject.signals
    if "resets" in signals and signals["resets"].value:
        out.append(f"{subject.name}: {signals['resets'].value:.0f} interval(s) dropped: a counter fell or a restart")
    if "clock_steps" in signals and signals["clock_steps"].value:
        out.append(f"{subject.name}: {signals['clock_steps'].value:.0f} scrape(s) dropped, the clock did not advance")
    if "duplicate_ranks" in signals and signals["duplicate_ranks"].value > 1:
        out.append(
            f"{subject.name}: {signals['duplicate_ranks'].value:.0f} identical series of one scheduler, counted once"
        )
    if subject.scrapes == 1:
        out.append(
            f"{subject.name}: one scrape only, counters give values since start; take two scrapes at least 15 s apart"
        )
    for conflict in facts_module.conflicts(subject.facts.values()):
        first, second = conflict.first, conflict.second
        out.append(f"{conflict.id}: {first.where} says {first.value}, {second.where} says {second.value}")
    return out
