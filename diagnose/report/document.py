"""What a report shows, as plain sections that every format lays out in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from diagnose.model import Diagnosis, Finding, Missing, NextStep, TargetSummary
from diagnose.report import fleet, load, standing, words
from diagnose.symptoms import Symptom, all_symptoms

_SHOWN = 3  # missing inputs and notes that are told in full
MANY = 3  # more targets than this are shown as a table
_KIND_ORDER = ("fault", "cause", "monitoring", "opportunity", "effect", "benign", "info")


@dataclass(frozen=True)
class Section:
    """A labelled part of the report; ``strong`` lines are the change itself."""

    label: str
    lines: tuple[str, ...]
    strong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """One report: who, how much was seen, the verdict, one headline, sections in order, the fleet's table."""

    subject: str
    seen: str
    verdict: str
    headline: str
    confidence: str
    sections: tuple[Section, ...]
    table: fleet.Table | None = None


def page(diagnosis: Diagnosis) -> Page:
    """The report of a diagnosis."""
    sections = (
        *_step(diagnosis),
        Section("load", load.summary(diagnosis.targets)),
        Section("models", _models(diagnosis)),
        Section("also", _also(diagnosis)),
        Section("guide", standing.guide_lines(diagnosis.guide)),
        Section("missing", _missing(diagnosis)),
        Section("note", _notes(diagnosis)),
    )
    return Page(
        subject=_subject(diagnosis.targets),
        seen=_seen(diagnosis.targets),
        verdict=diagnosis.verdict,
        headline=_headline(diagnosis),
        confidence=diagnosis.next.confidence if diagnosis.next else "",
        sections=tuple(s for s in sections if s.lines or s.strong),
        table=fleet.table(diagnosis) if len(diagnosis.targets) > MANY else None,
    )


def _subject(targets: tuple[TargetSummary, ...]) -> str:
    if not targets:
        return "no engine seen"
    if len(targets) > MANY:
        engines = words.article_list(
            sorted({words.engine_name(t.engine, t.version) for t in targets if t.engine}), ", "
        )
        models = sorted({words.clean(t.model) for t in targets if t.model})
        named = words.count(len(models), "model") if len(models) > 1 else "".join(models)
        return words.article_list((engines or "unknown engine", named))
    first = targets[0]
    names = ", ".join(words.clean(t.name) for t in targets)
    return words.article_list((words.engine_name(first.engine, first.version), words.clean(first.model), names))


def _seen(targets: tuple[TargetSummary, ...]) -> str:
    scrapes = sum(t.scrapes for t in targets)
    if not targets:
        return ""
    if not scrapes:
        return "no scrapes"
    where = f" of {words.count(len(targets), 'target')}" if len(targets) > 1 else ""
    windows = [t.window for t in targets if t.window]
    return f"{words.count(scrapes, 'scrape')}{where}" + (f" over {words.seconds(max(windows))}" if windows else "")


def _headline(diagnosis: Diagnosis) -> str:
    if diagnosis.next is not None:
        return words.clean(f"{diagnosis.next.id} {diagnosis.next.title}")
    if diagnosis.verdict == "engine-fault":
        return "Repair the engine first: tuning would not help, and its numbers mislead."
    if diagnosis.verdict == "healthy":
        return "Nothing to change now."
    return "Get what is missing: the evidence does not decide what to change."


def _step(diagnosis: Diagnosis) -> tuple[Section, ...]:
    if diagnosis.next is not None:
        return _change(diagnosis.next, diagnosis)
    if diagnosis.verdict == "engine-fault":
        return (Section("fault", _faults(diagnosis)), Section("do", _repair(diagnosis)))
    if diagnosis.verdict == "healthy":
        return (Section("looked", _looked(diagnosis)),)
    return (Section("why", _unclear(diagnosis)), Section("get", _get(diagnosis.missing)))


def _change(step: NextStep, diagnosis: Diagnosis) -> tuple[Section, ...]:
    why = step.why or tuple(words.sentence(f) for f in present(diagnosis)[:3])
    return (
        Section("NEXT", (), tuple(words.clean(c) for c in step.change)),
        Section("why", tuple(words.singular(words.clean(w)) for w in why)),
        Section("moves", _joined(step.expect, "; ")),
        Section("check", _joined((step.measure,))),
        Section("undo", _joined((step.undo,))),
        Section("then", _joined((t for t in step.then if not t.endswith(".")), " · ")),
    )


def _joined(parts: Iterable[str], joint: str = " ") -> tuple[str, ...]:
    text = joint.join(words.clean(p).rstrip(".") if joint != " " else words.clean(p) for p in parts if p)
    return (text,) if text else ()


def present(diagnosis: Diagnosis) -> list[Finding]:
    """Findings that are present, faults and causes first."""
    found = [f for f in diagnosis.findings if f.verdict == "present"]
    return sorted(found, key=lambda f: _KIND_ORDER.index(_kind(f)))


def _symptom(finding: Finding) -> Symptom | None:
    return all_symptoms().get(finding.symptom)


def _kind(finding: Finding) -> str:
    symptom = _symptom(finding)
    return symptom.kind if symptom else "info"


def _said(findings: Iterable[Finding], diagnosis: Diagnosis, limit: int) -> tuple[str, ...]:
    """One sentence per symptom; the target is named where there are several, and repeats are counted."""
    signals = {t.name: t.signals for t in diagnosis.targets}
    by_symptom: dict[str, list[Finding]] = {}
    for finding in findings:
        by_symptom.setdefault(finding.symptom, []).append(finding)
    lines = []
    for same in by_symptom.values():
        where = ""
        if len(diagnosis.targets) > 1:
            where = (
                f"{words.clean(same[0].target)}: "
                if len(same) == 1
                else f"{len(same)} targets, {words.clean(same[0].target)} first: "
            )
        lines.append(where + words.sentence(same[0], signals.get(same[0].target)))
    more = len(lines) - limit
    return tuple(lines[:limit]) + ((f"and {words.count(more, 'more finding')}",) if more > 0 else ())


def _faults(diagnosis: Diagnosis) -> tuple[str, ...]:
    faults = [f for f in present(diagnosis) if _kind(f) == "fault"]
    return _said(faults or present(diagnosis), diagnosis, 4)


def _repair(diagnosis: Diagnosis) -> tuple[str, ...]:
    faults = [s for s in map(_symptom, present(diagnosis)) if s is not None and s.kind == "fault"]
    meanings = tuple(dict.fromkeys(words.clean(s.meaning) for s in faults if s.meaning))[:2]
    return (
        *meanings,
        f"Save the evidence before a restart: diagnose capture {_url(diagnosis)} -o fault.tar.gz --log FILE",
    )


def _url(diagnosis: Diagnosis) -> str:
    """The address of the faulty target when its name is one, else a placeholder."""
    names = [t.name for t in diagnosis.targets if t.verdict == "engine-fault"]
    return names[0] if names and re.fullmatch(r"[\w.-]+:\d+", names[0]) else "URL"


def _unclear(diagnosis: Diagnosis) -> tuple[str, ...]:
    monitoring = [f for f in present(diagnosis) if _kind(f) == "monitoring"]
    return _said(monitoring, diagnosis, 3)


def _get(missing: tuple[Missing, ...]) -> tuple[str, ...]:
    """What would decide: what this input lacks; where that is nothing, what every entry of the guide needs."""
    own = tuple(m for m in missing if not m.why.startswith("to judge")) or missing
    if not own:
        return ("Two scrapes under load, the engine's log and its launch command.",)
    rest = standing.more(len(missing) - min(len(own), _SHOWN), "input")
    return tuple(standing.missing_line(m) for m in own[:_SHOWN]) + rest


def _looked(diagnosis: Diagnosis) -> tuple[str, ...]:
    """How many symptoms were ruled out, and how many could not be looked at."""
    verdicts = [f.verdict for f in diagnosis.findings]
    absent, unknown = verdicts.count("absent"), verdicts.count("unknown")
    looked = f"{words.count(absent, 'symptom')} looked for and not there"
    blind = f"; {unknown:,} could not be looked at (inputs missing)" if unknown else ""
    return (
        f"{looked}{blind}. Look again at the daily peak." if absent or unknown else "Look again at the daily peak.",
    )


def _models(diagnosis: Diagnosis) -> tuple[str, ...]:
    if len(diagnosis.models) < 2:
        return ()
    lines = [
        words.article_list(
            (
                words.clean(m.model) or "unnamed",
                words.VERDICT_WORDS.get(m.verdict, m.verdict),
                f"{m.next.id} {m.next.title}" if m.next else "",
            )
        )
        for m in sorted(diagnosis.models, key=lambda m: words.VERDICT_ORDER.index(m.verdict))
    ]
    return (*lines[:6], *((f"and {len(lines) - 6} more",) if len(lines) > 6 else ()))


def _also(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Titles of present findings that the lines above do not speak of."""
    shown = {"engine-fault": "fault", "cannot-tell": "monitoring"}.get(diagnosis.verdict, "")
    entry = diagnosis.next.id if diagnosis.next else ""
    others = [f for f in present(diagnosis) if _kind(f) != shown and not (entry and _addresses(f, entry))]
    titles = list(dict.fromkeys(standing.shorten(words.clean(_title(f))) for f in others))
    more = f"{len(titles) - _SHOWN} more" if len(titles) > _SHOWN else ""
    return _joined((*titles[:_SHOWN], more), " · ")


def _addresses(finding: Finding, entry: str) -> bool:
    symptom = _symptom(finding)
    return symptom is not None and any(move.startswith(f"{entry}/") for move in symptom.moves)


def _title(finding: Finding) -> str:
    symptom = _symptom(finding)
    return symptom.title if symptom else finding.symptom.replace("_", " ")


def _missing(diagnosis: Diagnosis) -> tuple[str, ...]:
    """What to add for a fuller view; a cannot-tell report has said it at its top."""
    return () if diagnosis.verdict == "cannot-tell" else standing.missing_lines(diagnosis)


def _notes(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The step's own remarks (whole sentences), then what the walk noted, once for all targets that share it."""
    own = [t for t in diagnosis.next.then if t.endswith(".")] if diagnosis.next else []
    names = {f"{t.name}: " for t in diagnosis.targets}
    shared: dict[str, list[str]] = {}
    for note in (*own, *diagnosis.notes):
        head = next((n for n in names if note.startswith(n)), "")
        shared.setdefault(note.removeprefix(head), []).append(head)
    told = [
        f"{len(heads)} targets: {rest}" if len(heads) > 1 and heads[0] else heads[0] + rest
        for rest, heads in shared.items()
    ]
    return tuple(words.clean(n) for n in told[:_SHOWN]) + standing.more(len(told) - _SHOWN, "note")
