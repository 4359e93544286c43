"""The guide walk: findings and configuration in, one next step (or none) and the state of all twelve entries out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from diagnose import facts as facts_module
from diagnose import notes as notes_module
from diagnose import subjects as subjects_module
from diagnose.compare import Comparison
from diagnose.evaluate import findings
from diagnose.guide import Entry, Move, all_entries, find_move
from diagnose.guide.declare import COSTS
from diagnose.model import (
    Diagnosis,
    EntryStatus,
    Fact,
    Finding,
    Missing,
    ModelDiagnosis,
    Observations,
    TargetSummary,
)
from diagnose.settings import Settings
from diagnose.step import next_step
from diagnose.subjects import Subject
from diagnose.symptoms import Symptom, all_symptoms, grammar

UNOBSERVED = "target not observed"  # how sources word a target that gave nothing
WORST_FIRST = ("engine-fault", "act", "cannot-tell", "healthy")


@dataclass(frozen=True)
class Candidate:
    """A move that addresses a present symptom of a subject."""

    entry: Entry
    move: Move
    symptom: Symptom
    subject: Subject
    finding: Finding


@dataclass(frozen=True)
class Group:
    """Subjects of one model with their findings; ``open`` are present findings that nothing else explains."""

    model: str
    subjects: tuple[Subject, ...]
    findings: tuple[Finding, ...]
    open: tuple[tuple[Subject, Symptom, Finding], ...]


def diagnose(observations: Observations, settings: Settings) -> Diagnosis:
    """The diagnosis of everything that was observed: one walk per model, the top level is the worst."""
    subjects, comparison = subjects_module.subjects(observations)
    bounds = {ident: settings.bounds(ident) for ident in all_symptoms()}
    groups = [_group(model, members, bounds) for model, members in _by_model(subjects).items()]
    models = tuple(_walk(group, comparison) for group in groups)
    worst = min(models, key=lambda m: WORST_FIRST.index(m.verdict), default=None)
    verdict, step = (worst.verdict, worst.next) if worst else ("cannot-tell", None)
    if verdict == "healthy" and any(m.why.startswith(UNOBSERVED) for m in observations.missing):
        verdict = "cannot-tell"
    everything = tuple(f for g in groups for f in g.findings)
    return Diagnosis(
        verdict,
        step,
        tuple(sorted(everything, key=lambda f: ("present", "unknown", "absent", "not-applicable").index(f.verdict))),
        worst.guide if worst else _guide((), (), None, None),
        models,
        tuple(_summary(s, groups, comparison) for s in subjects if s.kind in ("target", "run")),
        _facts(subjects),
        (*observations.missing, *_missing(verdict, groups, models)),
        (*observations.notes, *notes_module.notes(subjects, groups_open(groups), comparison)),
    )


def groups_open(groups: Iterable[Group]) -> tuple[tuple[Subject, Symptom, Finding], ...]:
    """All unexplained present findings."""
    return tuple(item for g in groups for item in g.open)


def _by_model(subjects: tuple[Subject, ...]) -> dict[str, list[Subject]]:
    """Subjects by model; what names no model (or only one model is there) joins the others."""
    models = list(dict.fromkeys(s.model for s in subjects if s.model and s.kind in ("target", "fleet")))
    if len(models) < 2:
        return {(models or [next((s.model for s in subjects if s.model), "")])[0]: list(subjects)} if subjects else {}
    shared = [s for s in subjects if s.model not in models and s.kind != "target"]
    named = {m: [*(s for s in subjects if s.model == m), *shared] for m in models}
    nameless = [s for s in subjects if s.kind == "target" and not s.model]
    return {**named, "": nameless} if nameless else named


def _group(model: str, members: list[Subject], bounds: Mapping[str, Mapping[str, float]]) -> Group:
    found = [(s, f) for s in members for f in findings(s, bounds)]
    symptoms = all_symptoms()
    present = [(s, symptoms[f.symptom], f) for s, f in found if f.verdict == "present"]
    return Group(
        model, tuple(members), tuple(f for _, f in found), tuple(p for p in present if not _explained(p, present))
    )


def _explained(item: tuple[Subject, Symptom, Finding], present: list[tuple[Subject, Symptom, Finding]]) -> bool:
    """Whether another present symptom of the same subject, or of the whole fleet or comparison, explains this one."""
    subject, symptom, _ = item
    return any(
        symptom.id in other.explains
        and other.id != symptom.id
        and (where.name == subject.name or where.kind in ("fleet", "comparison"))
        for where, other, _ in present
    )


def _walk(group: Group, comparison: Comparison | None) -> ModelDiagnosis:
    verdict, chosen, later = _decide(group)
    step = None
    if chosen:
        reasons = _reasons(chosen, group)
        step = next_step(chosen.entry, chosen.move, chosen.subject, reasons, chosen.finding.confidence)
    return ModelDiagnosis(group.model, verdict, step, _guide(group.subjects, group.findings, chosen, later))


def _decide(group: Group) -> tuple[str, Candidate | None, tuple[Candidate, ...]]:
    """Fault, then a cause that hurts, then an incomplete view, then an unused free win, then healthy."""
    if _kind(group, "fault"):
        return "engine-fault", None, ()
    causes = _candidates(group, "cause")
    measured = tuple(c for c in causes if c.subject.kind == "comparison")
    causes = measured or causes  # a measured difference is the answer
    chances = _candidates(group, "opportunity")
    if causes:
        return "act", causes[0], (*causes[1:], *chances)
    if _kind(group, "monitoring") or _kind(group, "effect") or _kind(group, "cause"):
        return "cannot-tell", None, chances
    if chances:
        return "act", chances[0], chances[1:]
    if _kind(group, "benign") or _all_seen(group):
        return "healthy", None, ()
    return "cannot-tell", None, ()


def _all_seen(group: Group) -> bool:
    """Whether load was seen, and on every engine that was asked: a healthy one does not vouch for its neighbour."""
    engines = [s for s in group.subjects if s.kind == "target" and (s.engine in ("vllm", "sglang") or s.scrapes > 0)]
    seen = [s for s in group.subjects if s.signals.get("load_seen") and s.signals["load_seen"].value > 0]
    return bool(seen) and all(s in seen for s in engines if len(engines) > 1)


def _kind(group: Group, kind: str) -> list[tuple[Subject, Symptom, Finding]]:
    return [item for item in group.open if item[1].kind == kind]


def _candidates(group: Group, kind: str) -> tuple[Candidate, ...]:
    """One move per open symptom of this kind, in the guide's order, then cheap before costly."""
    found = []
    for subject, symptom, finding in _kind(group, kind):
        move = next((m for m in symptom.moves if _possible(m, subject, group)), None)
        if move is None and subject.kind == "comparison":  # the runs were measured: what differs is possible
            move = next(iter(symptom.moves), None)
        if move is not None:
            entry, declared = find_move(move)
            found.append(Candidate(entry, declared, symptom, subject, finding))
    return tuple(sorted(found, key=lambda c: (c.entry.id, COSTS.index(c.move.cost))))


def _possible(reference: str, subject: Subject, group: Group) -> bool:
    """Whether a move is neither applied nor ruled out nor tried in vain, and no requirement is known to fail."""
    entry, move = find_move(reference)
    values = subject.values
    tried = [s.signals for s in group.subjects if s.kind == "comparison"]
    key = f"ab_{entry.id.replace('.', '_')}_gain"
    if (
        any(key in s and s[key].value < 0.1 and not reference.startswith("3.2") for s in tried)
        and subject.kind == "run"
    ):
        return False
    if move.applied and _holds(move.applied, values):
        return False
    if move.ruled_out and _holds(move.ruled_out, values):
        return False
    return not move.requires or _holds(move.requires, values) is not False


def _holds(condition: str, values: Mapping[str, float]) -> bool | None:
    return grammar.evaluate(grammar.parse(condition), values, {})


def _reasons(chosen: Candidate, group: Group) -> tuple[str, ...]:
    """What the chosen symptom rests on, then the other open symptoms that this entry also addresses."""
    reasons = [notes_module.say(chosen.symptom, chosen.subject)]
    for subject, symptom, _ in group.open:
        if symptom.id != chosen.symptom.id and any(m.startswith(chosen.entry.id) for m in symptom.moves):
            reasons.append(notes_module.say(symptom, subject))
    return tuple(dict.fromkeys(r for r in reasons if r))[:4]


def _guide(
    subjects: tuple[Subject, ...],
    found: tuple[Finding, ...],
    chosen: Candidate | None,
    later: tuple[Candidate, ...] | None,
) -> tuple[EntryStatus, ...]:
    return tuple(_status(entry, subjects, found, chosen, later or ()) for entry in all_entries().values())


def _status(
    entry: Entry,
    subjects: tuple[Subject, ...],
    found: tuple[Finding, ...],
    chosen: Candidate | None,
    later: tuple[Candidate, ...],
) -> EntryStatus:
    if chosen and chosen.entry.id == entry.id:
        return EntryStatus(entry.id, entry.title, "next", chosen.symptom.title)
    waiting = next((c for c in later if c.entry.id == entry.id), None)
    if waiting:
        return EntryStatus(entry.id, entry.title, "later", waiting.symptom.title)
    for subject in subjects:
        values = subject.values
        if entry.moves[0].applied and _holds(entry.moves[0].applied, values):
            why = notes_module.condition_words(entry.moves[0].applied, subject.signals)
            return EntryStatus(entry.id, entry.title, "already-applied", why)
        if all(m.ruled_out and _holds(m.ruled_out, values) for m in entry.moves):
            why = notes_module.condition_words(entry.moves[0].ruled_out, subject.signals)
            return EntryStatus(entry.id, entry.title, "ruled-out", why)
    if not subjects:
        return EntryStatus(entry.id, entry.title, "unknown", "needs an engine to look at")
    relevant = {
        s.id
        for s in all_symptoms().values()
        if any(m.startswith(entry.id) for m in s.moves)
        and s.kind in ("cause", "opportunity")
        and not s.when.startswith("ab_")
    }
    verdicts = {f.symptom: f for f in found if f.symptom in relevant}
    unknown = [f for f in verdicts.values() if f.verdict == "unknown"]
    if verdicts and len(unknown) == len(verdicts):
        needs = all_symptoms()[unknown[0].symptom].missing
        return EntryStatus(entry.id, entry.title, "unknown", f"needs {needs}")
    return EntryStatus(entry.id, entry.title, "not-indicated", "no symptom asks for it")


def _summary(subject: Subject, groups: list[Group], comparison: Comparison | None) -> TargetSummary:
    group = next(g for g in groups if subject in g.subjects)
    alone = Group(group.model, (subject,), (), tuple(i for i in group.open if i[0].name == subject.name))
    verdict = _decide(alone)[0]
    return TargetSummary(
        subject.name,
        subject.engine,
        subject.version,
        subject.model,
        subject.scrapes,
        subject.window,
        verdict,
        subject.signals,
    )


def _facts(subjects: tuple[Subject, ...]) -> tuple[Fact, ...]:
    """The resolved facts of all subjects, each once; version defaults last."""
    held: dict[tuple[str, str], Fact] = {}
    for subject in subjects:
        for fact in subject.facts.values():
            held.setdefault((fact.id, str(fact.value)), fact)
    return tuple(sorted(held.values(), key=lambda f: (facts_module.TRUST.index(f.source), f.id)))


def _missing(verdict: str, groups: list[Group], walks: tuple[ModelDiagnosis, ...]) -> tuple[Missing, ...]:
    """What would decide: inputs of open monitoring symptoms, then those of guide entries that stayed unknown."""
    out: list[Missing] = []
    for group in groups:
        for _, symptom, _ in group.open:
            if symptom.kind == "monitoring" or (symptom.kind == "effect" and verdict == "cannot-tell"):
                out.append(Missing(symptom.missing or symptom.title, symptom.title, notes_module.how(symptom.missing)))
    for walk in walks:
        for entry in walk.guide:
            if entry.status == "unknown":
                need = entry.why.removeprefix("needs ")
                out.append(Missing(need, f"to judge {entry.id} {entry.title}", notes_module.how(need)))
    if verdict == "cannot-tell" and not out:
        load = "running and waiting requests, KV usage and token counters under load"
        out.append(Missing(load, "nothing that was seen says how the engine is doing", notes_module.how(load)))
    return tuple({m.what: m for m in reversed(out)}.values())[::-1]
