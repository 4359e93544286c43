"""Sentences about findings: what a symptom rests on in numbers, how to get what is missing, what to keep in mind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from diagnose import facts as facts_module
from diagnose.compare import Comparison
from diagnose.engines.catalog import signal_title, signal_unit
from diagnose.model import Finding, Value
from diagnose.subjects import Subject
from diagnose.symptoms import Symptom, grammar
from diagnose.wording import quantity

_COUNTS = {"config_tp", "config_pp", "config_dp", "config_max_loras", "config_spec_tokens", "config_max_num_seqs"}
_FIELD = re.compile(r"\{(\w+)\}")


def say(symptom: Symptom, subject: Subject) -> str:
    """The symptom's evidence sentence with the subject's numbers; parts whose numbers are missing are left out."""
    parts = []
    for part in re.split(r"(?<=[,;:]) ", symptom.say or symptom.title):
        names = _FIELD.findall(part)
        if all(n in subject.signals for n in names):
            parts.append(_FIELD.sub(lambda m: quantity(subject.signals[m[1]].value, signal_unit(m[1]), m[1]), part))
    return " ".join(parts).rstrip(",;: ") or symptom.title


def how(what: str) -> str:
    """How to get an input that is missing."""
    words = what.lower()
    if "benchmark" in words:
        return "benchmark each configuration, change one thing at a time, and put the results under bench/"
    if "manifest" in words or "launch" in words or "flags" in words or "prompts share" in words:
        return "add the launch command or manifest: --launch FILE"
    if "log" in words and "counter" not in words and "scrape" not in words:
        return "add the engine log from its start: --log FILE"
    return "scrape twice under load: diagnose now URL, or diagnose capture URL -o bundle.tar.gz"


def condition_words(condition: str, signals: Mapping[str, Value]) -> str:
    """The comparisons of a condition that hold, in words: ``engine on a CPU``, ``prompt length, mean 114 tokens``."""
    words = []
    for compare in grammar.compares(grammar.parse(condition)):
        if compare.signal not in signals or isinstance(compare.bound, str):
            continue
        value = signals[compare.signal].value
        if grammar.OPS[compare.op](value, compare.bound):
            words.append(_state(compare.signal, value))
    return ", ".join(dict.fromkeys(words)) or condition


def _state(signal: str, value: float) -> str:
    title = signal_title(signal)
    if signal.startswith("config_") and value in (0.0, 1.0) and signal not in _COUNTS:
        return title if value else f"no {title}"
    return f"{title} {quantity(value, signal_unit(signal), signal)}"


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
    measured = any("client_closed_loop" in s.signals or "bench_ttft_mean" in s.signals for s in subjects)
    if measured and any(
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
