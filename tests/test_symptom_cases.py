"""Every symptom: present, absent, at the line, missing data, and a healthy look-alike, for any legal thresholds."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping

import pytest
from conftest import DATA, subject
from symptom_cases import Case, all_cases

from diagnose.evaluate import check
from diagnose.symptoms import Symptom, all_symptoms, grammar
from diagnose.symptoms.grammar import Compare, Join, Known, Node, Not

SYMPTOMS = all_symptoms()
DEFAULTS = {ident: symptom.bounds() for ident, symptom in SYMPTOMS.items()}
SEEDS = (7, 23, 101)
INCLUSIVE = (">=", "<=")


def legal(seed: int) -> dict[str, dict[str, float]]:
    """Thresholds anywhere within their bounds; log-uniform, since many bounds span decades."""
    rng = random.Random(seed)
    return {
        s.id: {
            t.name: math.exp(rng.uniform(math.log(max(t.low, 1e-3 * t.high)), math.log(t.high))) for t in s.thresholds
        }
        for s in SYMPTOMS.values()
    }


def verdict(symptom: str, signals: Mapping[str, float], bounds: Mapping[str, float]) -> str:
    """The verdict, with not-applicable as a kind of absent."""
    found = check(SYMPTOMS[symptom], subject(signals), bounds).verdict
    return "absent" if found == "not-applicable" else found


def name(case: Case) -> str:
    return f"{case.symptom}-{case.kind}-{case.title[:40]}"


@pytest.mark.parametrize("case", all_cases(), ids=name)
def test_case(case: Case) -> None:
    bounds = DEFAULTS[case.symptom]
    assert verdict(case.symptom, case.values(bounds), bounds) == case.verdict


@pytest.mark.parametrize("seed", SEEDS)
def test_relative_cases_hold_for_any_legal_thresholds(seed: int) -> None:
    bounds = legal(seed)
    wrong = [
        (name(c), c.values(bounds[c.symptom]), bounds[c.symptom])
        for c in all_cases()
        if c.is_relative(SYMPTOMS[c.symptom])
        and verdict(c.symptom, c.values(bounds[c.symptom]), bounds[c.symptom]) != c.verdict
    ]
    assert not wrong


@pytest.mark.parametrize("symptom", SYMPTOMS.values(), ids=list(SYMPTOMS))
def test_every_kind_of_case_is_there(symptom: Symptom) -> None:
    own = [c for c in all_cases() if c.symptom == symptom.id]
    for kind in ("present", "absent", "look-alike"):
        of_kind = [c for c in own if c.kind == kind]
        assert of_kind, f"{symptom.id} has no case {kind!r}: add one under tests/symptom_cases/"
        if kind != "look-alike":
            assert any(c.is_relative(symptom) for c in of_kind), (
                f"{symptom.id}: write {kind} relative to its thresholds"
            )
    assert all(" " in c.title for c in own if c.kind == "look-alike"), "a look-alike says why it is fine"


def test_no_case_for_a_symptom_that_does_not_exist() -> None:
    assert {c.symptom for c in all_cases()} <= SYMPTOMS.keys()


def lines(symptom: Symptom) -> list[tuple[str, str]]:
    """The (signal, threshold) pairs that a symptom compares, each once."""
    return list(
        dict.fromkeys((c.signal, c.bound) for c in grammar.compares(symptom.node()) if isinstance(c.bound, str))
    )


LINES = [(s.id, *line) for s in SYMPTOMS.values() for line in lines(s)]


@pytest.mark.parametrize(("ident", "signal", "threshold"), LINES, ids=["-".join(line) for line in LINES])
def test_at_the_line(ident: str, signal: str, threshold: str) -> None:
    """Each threshold decides in some case, and the value exactly on it falls on the side that the operator says."""
    ops = {c.op for c in grammar.compares(SYMPTOMS[ident].node()) if (c.signal, c.bound) == (signal, threshold)}
    decided = [
        _sides(c, signal, threshold, DEFAULTS[ident]) for c in all_cases() if c.symptom == ident and signal in c.signals
    ]
    decisive = [(below, at, above) for below, at, above in decided if below != above]
    assert decisive, f"no case of {ident} in which {signal} at {threshold} decides"
    if len(ops) == 1:
        inclusive = next(iter(ops)) in INCLUSIVE
        lower = next(iter(ops)) in ("<", "<=")
        for below, at, above in decisive:
            inside, outside = (below, above) if lower else (above, below)
            assert at == (inside if inclusive else outside)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_the_line_of_any_legal_thresholds(seed: int) -> None:
    bounds = legal(seed)
    for ident, signal, threshold in LINES:
        ops = {c.op for c in grammar.compares(SYMPTOMS[ident].node()) if (c.signal, c.bound) == (signal, threshold)}
        for case in (c for c in all_cases() if c.symptom == ident and signal in c.signals and len(ops) == 1):
            below, at, above = _sides(case, signal, threshold, bounds[ident])
            inside = (below if next(iter(ops))[0] == "<" else above) if next(iter(ops)) in INCLUSIVE else None
            assert below == above or inside is None or at == inside, (ident, signal, threshold)


def _sides(case: Case, signal: str, threshold: str, bounds: Mapping[str, float]) -> tuple[bool, bool, bool]:
    """Whether the symptom is present a hair below, at and above the threshold."""
    at = bounds[threshold]
    tiny = max(abs(at) * 1e-9, 1e-12)
    values = case.values(bounds)
    return tuple(  # type: ignore[return-value]
        verdict(case.symptom, {**values, signal: v}, bounds) == "present" for v in (at - tiny, at, at + tiny)
    )


@pytest.mark.parametrize("symptom", [s for s in SYMPTOMS.values() if not s.thresholds], ids=lambda s: s.id)
def test_symptoms_without_thresholds_compare_with_zero_or_one_only(symptom: Symptom) -> None:
    """There is no line to stand on, so "at the line" does not apply; a hidden number would be a threshold."""
    assert not [c for c in grammar.compares(symptom.node()) if isinstance(c.bound, str)]


@pytest.mark.parametrize("symptom", SYMPTOMS.values(), ids=list(SYMPTOMS))
def test_nothing_known_is_unknown(symptom: Symptom) -> None:
    assert verdict(symptom.id, {}, symptom.bounds()) == "unknown"


@pytest.mark.parametrize("symptom", [s for s in SYMPTOMS.values() if s.applies], ids=lambda s: s.id)
def test_applicability(symptom: Symptom) -> None:
    """A symptom that is known not to apply says so; where nobody knows, it is judged by what is seen."""
    node = grammar.parse(symptom.applies)
    assert isinstance(node, Compare)
    case = next(c for c in all_cases() if c.symptom == symptom.id and c.kind == "present")
    signals = {k: v for k, v in case.values(symptom.bounds()).items() if k != node.signal or k in node_signals(symptom)}
    other = -1.0 if node.op in (">=", ">") else grammar.bound_of(node, symptom.bounds()) + 1
    assert check(symptom, subject({**signals, node.signal: other}), symptom.bounds()).verdict == "not-applicable"
    assert check(symptom, subject(signals), symptom.bounds()).verdict == "present"


def node_signals(symptom: Symptom) -> set[str]:
    return grammar.signals(symptom.node())


@pytest.mark.parametrize("case", [c for c in all_cases() if c.kind in ("present", "absent")], ids=name)
def test_missing_data(case: Case) -> None:
    """Without one of its signals a symptom is decided only if every value of that signal decides it the same way."""
    bounds = DEFAULTS[case.symptom]
    values = case.values(bounds)
    node = SYMPTOMS[case.symptom].node()
    excepted = set(_known(node)) | set(_exceptions(node))
    for signal in values.keys() & grammar.signals(node) - excepted:
        rest = {k: v for k, v in values.items() if k != signal}
        found = verdict(case.symptom, rest, bounds)
        if found != "unknown":
            others = {verdict(case.symptom, {**rest, signal: v}, bounds) for v in _probes(node, signal, bounds)}
            assert others == {found}, f"without {signal} the verdict is {found}, but its value matters"


def _probes(node: Node, signal: str, bounds: Mapping[str, float]) -> Iterator[float]:
    yield from (-1e12, 0.0, 1.0, 1e12)
    for compare in grammar.compares(node):
        if compare.signal == signal:
            at = grammar.bound_of(compare, bounds)
            yield from (at - 1e-6, at, at + 1e-6)


def _known(node: Node) -> Iterator[str]:
    """Signals whose mere presence counts."""
    if isinstance(node, Known):
        yield node.signal
    elif isinstance(node, Not):
        yield from _known(node.part)
    elif isinstance(node, Join):
        yield from (*_known(node.left), *_known(node.right))


def _exceptions(node: Node) -> Iterator[str]:
    """Signals behind ``unless``: an exception that is not seen does not apply."""
    if isinstance(node, Join):
        if node.kind == "unless":
            yield from grammar.signals(node.right)
        yield from (*_exceptions(node.left), *_exceptions(node.right))
    elif isinstance(node, Not):
        yield from _exceptions(node.part)


GUIDE = {
    "preemption_storm.storm": 0.1,
    "kv_pressure.full": 0.95,
    "batch_cap_bound.roomy": 0.85,
    "light_load.low": 0.5,
    "headroom_unused.low": 0.5,
    "low_prefix_hit_rate.low": 0.05,
    "spec_undecided.half": 0.5,
}


@pytest.mark.parametrize(("key", "number"), GUIDE.items(), ids=list(GUIDE))
def test_defaults_that_the_guide_states(key: str, number: float) -> None:
    symptom, _, threshold = key.partition(".")
    assert DEFAULTS[symptom][threshold] == number


def test_lines_are_as_agreed() -> None:
    """Rules, dashboards and users' files rest on these lines: who moves one also changes ``data/lines.tsv``."""
    agreed = set((DATA / "lines.tsv").read_text(encoding="utf-8").splitlines()[1:])
    declared = {
        "\t".join((s.id, c.signal, c.op, c.bound, f"{s.bounds()[c.bound]:g}"))
        for s in SYMPTOMS.values()
        for c in grammar.compares(s.node())
        if isinstance(c.bound, str)
    }
    moved = [f"- {line}" for line in sorted(agreed - declared)] + [f"+ {line}" for line in sorted(declared - agreed)]
    assert not moved, "\n".join(moved)


@pytest.mark.parametrize("symptom", SYMPTOMS.values(), ids=list(SYMPTOMS))
def test_declaration_is_consistent(symptom: Symptom) -> None:
    compared = {
        c.bound for c in grammar.compares(symptom.node()) if isinstance(c, Compare) and isinstance(c.bound, str)
    }
    assert compared == symptom.bounds().keys()
    assert all(t.low <= t.default <= t.high and t.reason for t in symptom.thresholds)
    assert isinstance(symptom.explains, tuple) and set(symptom.explains) <= SYMPTOMS.keys() - {symptom.id}
    assert isinstance(symptom.moves, tuple)
    assert symptom.moves or symptom.kind not in ("cause", "opportunity")
    assert symptom.missing and symptom.meaning


def test_a_symptom_about_something_that_is_off_does_not_apply() -> None:
    """Known off is not-applicable; unknown is evaluated all the same: the evidence decides then."""
    symptom, bounds = SYMPTOMS["low_spec_acceptance"], DEFAULTS["low_spec_acceptance"]
    bad = {"spec_acceptance": 0.1, "spec_accept_length": 1.1, "spec_drafted": 9000}
    assert check(symptom, subject({**bad, "config_spec": 0}), bounds).verdict == "not-applicable"
    assert check(symptom, subject({**bad, "config_spec": 1}), bounds).verdict == "present"
    assert check(symptom, subject(bad), bounds).verdict == "present"
