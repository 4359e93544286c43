"""The condition language: three-valued logic, precedence, exceptions, places of errors, round trip."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.symptoms import grammar
from diagnose.symptoms.grammar import Compare, Join, Known, Node, Not

A, B, C = Compare("a", ">", 0.0), Compare("b", ">", 0.0), Compare("c", ">", 0.0)
TRUTH = {True: 1.0, False: 0.0, None: None}


def ask(text: str, **signals: float | None) -> bool | None:
    return grammar.evaluate(grammar.parse(text), {k: v for k, v in signals.items() if v is not None}, {"line": 10.0})


@pytest.mark.parametrize(("left", "right"), [*itertools.product((True, False, None), repeat=2)])
def test_kleene(left: bool | None, right: bool | None) -> None:
    signals = {"a": TRUTH[left], "b": TRUTH[right]}
    both = False if False in (left, right) else None if None in (left, right) else True
    either = True if True in (left, right) else None if None in (left, right) else False
    unless = False if left is False or right is True else left
    assert ask("a > 0 and b > 0", **signals) is both
    assert ask("a > 0 or b > 0", **signals) is either
    assert ask("a > 0 unless b > 0", **signals) is unless
    assert ask("not a > 0", **signals) is (None if left is None else not left)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a > 0 or b > 0 and c > 0", Join("or", A, Join("and", B, C))),
        ("a > 0 and b > 0 or c > 0", Join("or", Join("and", A, B), C)),
        ("(a > 0 or b > 0) and c > 0", Join("and", Join("or", A, B), C)),
        ("a > 0 unless b > 0 or c > 0", Join("unless", A, Join("or", B, C))),
        ("a > 0 or b > 0 unless c > 0", Join("unless", Join("or", A, B), C)),
        ("a > 0 and b > 0 and c > 0", Join("and", Join("and", A, B), C)),
        ("not a > 0 and b > 0", Join("and", Not(A), B)),
        ("known(a) and b > 0", Join("and", Known("a"), B)),
        ("  a>0  ", A),
    ],
)
def test_precedence(text: str, tree: Node) -> None:
    assert grammar.parse(text) == tree


@pytest.mark.parametrize(
    ("op", "below", "at", "above"),
    [
        (">", False, False, True),
        (">=", False, True, True),
        ("<", True, False, False),
        ("<=", True, True, False),
        ("==", False, True, False),
        ("!=", True, False, True),
    ],
)
def test_operators_at_a_threshold(op: str, below: bool, at: bool, above: bool) -> None:
    assert [ask(f"a {op} line", a=v) for v in (9.999, 10.0, 10.001)] == [below, at, above]
    assert [ask(f"a {op} 10", a=v) for v in (9.999, 10.0, 10.001)] == [below, at, above]
    assert ask(f"a {op} line") is None


def test_known_is_never_unknown_and_zero_is_known() -> None:
    assert (ask("known(a)", a=0), ask("known(a)")) == (True, False)
    assert ask("not known(a)", a=5) is False


def test_an_exception_must_be_seen_to_apply() -> None:
    assert ask("a > 0 unless b > 0", a=1) is True
    assert ask("a > 0 unless b > 0 or c > 0", a=1, b=0) is True
    assert ask("a > 0 unless b > 0", b=1) is False
    assert ask("a > 0 unless b > 0", b=0) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "ends too early"),
        ("a >", "expected 'signal op threshold' at 'a'"),
        ("a > 0 and", "ends too early"),
        ("(a > 0", "missing )"),
        ("a > 0)", "unexpected ')'"),
        ("a > 0 b > 0", "unexpected 'b'"),
        ("a ? 0", "cannot read from ' ? 0'"),
        ("a > 0 and b", "expected 'signal op threshold' at 'b'"),
        ("a = 0", "cannot read from"),
        ("known(a", "expected 'signal op threshold' at 'known'"),
        ("a > 90%", "cannot read from '%'"),
    ],
)
def test_errors_name_the_place(text: str, place: str) -> None:
    with pytest.raises(ValueError, match="condition") as raised:
        grammar.parse(text)
    assert place in str(raised.value) and repr(text) in str(raised.value)


def test_an_undeclared_threshold_is_an_error_not_a_verdict() -> None:
    with pytest.raises(KeyError):
        grammar.evaluate(grammar.parse("a > lien"), {"a": 1.0}, {"line": 1.0})


def test_what_a_condition_reads() -> None:
    node = grammar.parse("a > 0 and not b >= line or known(c) unless d < 1")
    assert grammar.signals(node) == {"a", "b", "c", "d"}
    assert [(c.signal, c.bound) for c in grammar.compares(node)] == [("a", 0.0), ("b", "line"), ("d", 1.0)]


_NAMES = st.sampled_from(["a", "b_2", "kv_usage"])
_LEAVES = st.builds(
    Compare, _NAMES, st.sampled_from(sorted(grammar.OPS)), st.sampled_from(["line", 0.0, 1.0, -2.0, 0.25])
) | st.builds(Known, _NAMES)
_TREES = st.recursive(
    _LEAVES,
    lambda parts: st.builds(Not, parts) | st.builds(Join, st.sampled_from(["and", "or", "unless"]), parts, parts),
    max_leaves=12,
)


def printed(node: Node) -> str:
    """The condition in full parentheses."""
    if isinstance(node, Compare):
        return f"{node.signal} {node.op} {node.bound}"
    if isinstance(node, Known):
        return f"known({node.signal})"
    if isinstance(node, Not):
        return f"not ({printed(node.part)})"
    return f"({printed(node.left)}) {node.kind} ({printed(node.right)})"


@given(_TREES)
def test_round_trip(tree: Node) -> None:
    assert grammar.parse(printed(tree)) == tree


@given(_TREES, st.dictionaries(_NAMES, st.sampled_from([-3.0, 0.0, 1.0, 10.0]), max_size=3), _NAMES)
def test_without_exceptions_a_further_signal_never_turns_a_decision(
    tree: Node, signals: dict[str, float], extra: str
) -> None:
    """What is decided stays decided when more becomes known (``unless`` and ``known`` are made to differ)."""
    text = printed(tree)
    if "unless" in text or "known" in text or extra in signals:
        return
    before = grammar.evaluate(tree, signals, {"line": 10.0})
    for value in (-9.0, 0.0, 99.0):
        after = grammar.evaluate(tree, {**signals, extra: value}, {"line": 10.0})
        assert before is None or after is before
