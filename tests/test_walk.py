"""Invariants of the guide walk over random mixtures of known situations, and of the declarations that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from unittest import mock

import pytest
from conftest import subject
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from symptom_cases import Case, all_cases

from diagnose import walk
from diagnose.evaluate import findings
from diagnose.guide import all_entries, find_move
from diagnose.model import Diagnosis, Observations
from diagnose.settings import resolve
from diagnose.subjects import Subject
from diagnose.symptoms import all_symptoms, grammar

SYMPTOMS = all_symptoms()
BOUNDS = {ident: symptom.bounds() for ident, symptom in SYMPTOMS.items()}
SETTINGS = resolve()
STATUSES = {"next", "later", "already-applied", "not-indicated", "ruled-out", "unknown"}
SITUATIONS = [c.values(BOUNDS[c.symptom]) for c in all_cases()]
READS = {
    s.id: grammar.signals(s.node()) | (grammar.signals(grammar.parse(s.applies)) if s.applies else set())
    for s in SYMPTOMS.values()
}
READ = sorted(set().union(*READS.values()))
LOAD = {"load_seen": 1.0, "requests_running_max": 4.0}
fast = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def diagnosed(*subjects: Subject) -> Diagnosis:
    with mock.patch.object(walk.subjects_module, "subjects", lambda _: (subjects, None)):
        return walk.diagnose(Observations(), SETTINGS)


def mixtures() -> st.SearchStrategy[dict[str, float]]:
    """Up to three known situations together, some signals lost, some changed, with or without load."""
    numbers = st.sampled_from([0.0, 0.01, 0.3, 0.5, 0.9, 1.0, 2.0, 16.0, 500.0, 1e6, -1.0])
    return st.builds(
        lambda parts, lost, noise, load: {
            k: v for k, v in {**{k: v for p in parts for k, v in p.items()}, **noise, **load}.items() if k not in lost
        },
        st.lists(st.sampled_from(SITUATIONS), max_size=3),
        st.sets(st.sampled_from(READ), max_size=4),
        st.dictionaries(st.sampled_from(READ), numbers, max_size=4),
        st.sampled_from([{}, LOAD, {**LOAD, "tokens_moved": 900.0}]),
    )


@fast
@given(mixtures(), st.sampled_from(["vllm", "sglang", ""]))
def test_one_step_or_none_and_every_entry_has_one_status(signals: dict[str, float], engine: str) -> None:
    found = diagnosed(subject(signals, engine=engine))
    assert (found.verdict == "act") == (found.next is not None)
    assert found.verdict in walk.WORST_FIRST
    assert [e.id for e in found.guide] == list(all_entries())
    assert all(e.status in STATUSES and e.why for e in found.guide)
    marked = [e.id for e in found.guide if e.status == "next"]
    assert marked == ([found.next.id] if found.next else [])


@fast
@given(mixtures())
def test_a_fault_never_gives_advice(signals: dict[str, float]) -> None:
    found = diagnosed(subject(signals))
    present = {f.symptom for f in found.findings if f.verdict == "present"}
    explained = {e for p in present for e in SYMPTOMS[p].explains}
    if any(SYMPTOMS[p].kind == "fault" for p in present - explained):
        assert (found.verdict, found.next) == ("engine-fault", None)


@fast
@given(mixtures())
def test_what_hurts_is_never_called_healthy(signals: dict[str, float]) -> None:
    found = diagnosed(subject(signals))
    present = {f.symptom for f in found.findings if f.verdict == "present"}
    explained = {e for p in present for e in SYMPTOMS[p].explains}
    if found.verdict == "healthy":
        assert not [p for p in present - explained if SYMPTOMS[p].kind in ("fault", "cause", "effect", "monitoring")]


@fast
@given(
    st.dictionaries(
        st.sampled_from([s for s in READ if s.startswith(("config_", "spec_", "graph_"))]),
        st.sampled_from([0.0, 1.0, 4.0]),
        max_size=6,
    )
)
def test_without_load_nothing_is_healthy(signals: dict[str, float]) -> None:
    """Missing data alone never gives healthy: somebody must have seen requests, or an idle engine."""
    found = diagnosed(subject(signals))
    if found.verdict == "healthy":
        benign = [f.symptom for f in found.findings if f.verdict == "present" and SYMPTOMS[f.symptom].kind == "benign"]
        assert benign


CAUSES = [c for c in all_cases() if c.kind == "present" and SYMPTOMS[c.symptom].kind == "cause"]


@pytest.mark.parametrize("case", CAUSES, ids=lambda c: f"{c.symptom}-{c.title[:30]}")
def test_a_cause_whose_moves_are_all_impossible_is_not_healthy(case: Case) -> None:
    signals = {**impossible(case.symptom), **LOAD, **case.values(BOUNDS[case.symptom])}
    found = diagnosed(subject(signals))
    present = {f.symptom for f in found.findings if f.verdict == "present"}
    if case.symptom in present - {e for p in present for e in SYMPTOMS[p].explains}:
        assert found.verdict != "healthy"


def impossible(symptom: str) -> dict[str, float]:
    """Signals that rule out, or show as applied, as many of the symptom's moves as one set can."""
    steps = {">": 1.0, "<": -1.0, "!=": 1.0}
    moves = [find_move(m)[1] for m in SYMPTOMS[symptom].moves]
    nodes = [grammar.parse(c) for m in moves for c in (m.applied, m.ruled_out) if c]
    compares = [c for node in nodes for c in grammar.compares(node)]
    return {c.signal: grammar.bound_of(c, {}) + steps.get(c.op, 0.0) for c in compares}


def test_nothing_is_cannot_tell() -> None:
    for found in (diagnosed(subject({})), diagnosed(), walk.diagnose(Observations(), SETTINGS)):
        assert (found.verdict, found.next, len(found.guide)) == ("cannot-tell", None, 12)


@fast
@given(mixtures(), st.sampled_from(READ), st.sampled_from([0.0, 1.0, 1e9]))
def test_a_signal_that_a_symptom_does_not_read_changes_nothing(
    signals: dict[str, float], extra: str, value: float
) -> None:
    before = {f.symptom: f.verdict for f in findings(subject(signals), BOUNDS)}
    after = {f.symptom: f.verdict for f in findings(subject({**signals, extra: value}), BOUNDS)}
    for ident, verdict in before.items():
        if extra not in READS[ident]:
            assert after[ident] == verdict


@fast
@given(mixtures())
def test_the_step_is_possible(signals: dict[str, float]) -> None:
    """Neither on already, nor ruled out, nor against a requirement that is known to fail."""
    found = diagnosed(subject(signals))
    if found.next is not None:
        _, move = find_move(f"{found.next.id}/{found.next.move}")
        assert holds(move.applied, signals) is not True or not move.applied
        assert holds(move.ruled_out, signals) is not True or not move.ruled_out
        assert not move.requires or holds(move.requires, signals) is not False
        assert found.next.change and found.next.measure and found.next.undo and found.next.why
        assert "{value}" not in " ".join(found.next.change)


@fast
@given(mixtures(), mixtures())
def test_the_order_of_targets_does_not_matter(one: dict[str, float], two: dict[str, float]) -> None:
    a, b = subject(one, name="a"), subject(two, name="b")
    assert diagnosed(a, b).verdict == diagnosed(b, a).verdict


@fast
@given(mixtures(), mixtures())
def test_the_worst_model_decides(one: dict[str, float], two: dict[str, float]) -> None:
    from dataclasses import replace

    a, b = replace(subject(one, name="a"), model="one"), replace(subject(two, name="b"), model="two")
    found = diagnosed(a, b)
    assert {m.model for m in found.models} == {"one", "two"}
    assert found.verdict == min((m.verdict for m in found.models), key=walk.WORST_FIRST.index)


def holds(condition: str, signals: Mapping[str, float]) -> bool | None:
    return grammar.evaluate(grammar.parse(condition), signals, {}) if condition else None


STORM = {
    "preemptions": 267.0,
    "preemptions_per_finished": 3.0,
    "kv_usage_max": 1.0,
    "requests_waiting": 57.0,
    "load_seen": 1.0,
}


def test_the_cause_is_acted_on_not_its_effects() -> None:
    found = diagnosed(subject({**STORM, "itl_stall_share": 0.03}))
    assert found.next is not None and found.next.id == "2.1"
    present = {f.symptom for f in found.findings if f.verdict == "present"}
    assert {"preemption_storm", "kv_pressure", "queue_growth", "long_prefill_stall"} <= present


def test_a_queue_without_a_cause_is_cannot_tell() -> None:
    found = diagnosed(subject({"requests_waiting": 40.0, "load_seen": 1.0}))
    assert (found.verdict, found.next) == ("cannot-tell", None)
    assert found.missing


def test_a_fault_beats_a_cause() -> None:
    assert diagnosed(subject({**STORM, "corrupted": 3.0})).verdict == "engine-fault"


def test_a_cause_beats_a_free_win_and_the_win_comes_later() -> None:
    found = diagnosed(subject({**STORM, "config_prefix_caching": 0.0, "config_prefix_switched_off": 1.0}))
    assert found.next is not None and found.next.id == "2.1"
    assert {e.id: e.status for e in found.guide}["1.2"] == "later"


def test_among_causes_the_order_of_the_guide_decides() -> None:
    both = {
        "itl_stall_share": 0.05,
        "spec_acceptance": 0.01,
        "spec_drafted": 90000.0,
        "config_spec": 1.0,
        "load_seen": 1.0,
    }
    found = diagnosed(subject(both))
    assert found.next is not None and found.next.id == "1.1"
    assert {e.id: e.status for e in found.guide}["3.2"] == "later"


def test_what_is_on_is_never_advised() -> None:
    found = diagnosed(subject({"config_prefix_caching": 1.0, "config_chunked_prefill": 1.0, "load_seen": 1.0}))
    status = {e.id: e.status for e in found.guide}
    assert (status["1.1"], status["1.2"]) == ("already-applied", "already-applied")


def test_the_number_of_the_storm_is_computed() -> None:
    lengths = {
        "kv_capacity_tokens": 4096.0,
        "prompt_len_mean": 114.0,
        "output_len_mean": 900.0,
        "requests_running_max": 14.0,
    }
    step = diagnosed(subject({**STORM, **lengths, "config_max_num_seqs": 64.0})).next
    assert step is not None and "3" in step.change[0] and any("4,096" in line for line in step.change)


def test_explanations_do_not_go_in_circles() -> None:
    """Two symptoms that explain each other would both vanish."""

    def reach(ident: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
        for other in SYMPTOMS[ident].explains:
            if other not in seen:
                seen = reach(other, seen | {other})
        return seen

    assert [ident for ident in SYMPTOMS if ident in reach(ident)] == []


def test_what_is_harmless_or_a_hint_never_explains_a_fault() -> None:
    faults = {s.id for s in SYMPTOMS.values() if s.kind == "fault"}
    for symptom in SYMPTOMS.values():
        if symptom.kind in ("info", "effect", "opportunity", "monitoring"):
            assert not faults & set(symptom.explains), symptom.id


@pytest.mark.parametrize("symptom", SYMPTOMS.values(), ids=list(SYMPTOMS))
def test_moves_of_symptoms_exist(symptom: object) -> None:
    for reference in SYMPTOMS[getattr(symptom, "id", "")].moves:
        find_move(reference)


def test_sizings_of_moves_exist() -> None:
    from diagnose import step

    asked = {m.sizing for e in all_entries().values() for m in e.moves if m.sizing}
    assert asked <= step._SIZINGS.keys()


def test_the_guide_is_complete() -> None:
    entries = all_entries()
    assert list(entries) == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3"]
    assert sum(len(e.moves) for e in entries.values()) >= 35
    assert len(SYMPTOMS) >= 28
