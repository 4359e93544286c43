"""The small language of conditions: ``signal op threshold`` joined by and / or / unless, with Kleene's three values.

    preemptions_per_finished > storm and requests_finished >= 5
    kv_usage_max >= full and (requests_waiting > 0 or preemption_rate > 0) unless stale_seconds > 30

The right-hand side is a threshold name of the symptom, or a number (only 0 and 1 are meant as plain numbers).
A missing signal makes its comparison ``None``; ``None and False`` is False, ``None or True`` is True, and
``a unless b`` is ``a and not b`` where an unknown ``b`` counts as not there (an exception must be seen to apply).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

OPS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip
_TOKEN = re.compile(r"\s*(>=|<=|==|!=|>|<|\(|\)|[A-Za-z_][A-Za-z0-9_]*|-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Compare:
    """``signal op bound``; ``bound`` is a threshold name or a number."""

    signal: str
    op: str
    bound: str | float


@dataclass(frozen=True)
class Known:
    """``known(signal)``: true when the signal is there, false when it is missing; never unknown."""

    signal: str


@dataclass(frozen=True)
class Not:
    part: Node


@dataclass(frozen=True)
class Join:
    """``kind`` is and, or, unless."""

    kind: str
    left: Node
    right: Node


Node = Compare | Known | Not | Join


@functools.cache
def parse(text: str) -> Node:
    """The tree of a condition. Raises ValueError with the place of the fault."""
    tokens = _tokens(text)
    node, rest = _join(tokens, 0, text)
    if rest != len(tokens):
        raise ValueError(f"condition {text!r}: unexpected {tokens[rest]!r}")
    return node


def compares(node: Node) -> Iterator[Compare]:
    """All comparisons of a tree, left to right."""
    if isinstance(node, Compare):
        yield node
    elif isinstance(node, Not):
        yield from compares(node.part)
    elif isinstance(node, Join):
        yield from compares(node.left)
        yield from compares(node.right)


def signals(node: Node) -> set[str]:
    """Names of the signals that a tree reads."""
    if isinstance(node, Known):
        return {node.signal}
    if isinstance(node, Compare):
        return {node.signal}
    if isinstance(node, Not):
        return signals(node.part)
    return signals(node.left) | signals(node.right)


def bound_of(node: Compare, bounds: Mapping[str, float]) -> float:
    """The number on the right-hand side. Raises KeyError for a threshold that is not declared."""
    return bounds[node.bound] if isinstance(node.bound, str) else node.bound


def evaluate(node: Node, values: Mapping[str, float], bounds: Mapping[str, float]) -> bool | None:
    """True, False, or None where a missing signal leaves it open."""
    if isinstance(node, Known):
        return node.signal in values
    if isinstance(node, Compare):
        value = values.get(node.signal)
        return None if value is None else OPS[node.op](value, bound_of(node, bounds))
    if isinstance(node, Not):
        part = evaluate(node.part, values, bounds)
        return None if part is None else not part
    left, right = evaluate(node.left, values, bounds), evaluate(node.right, values, bounds)
    if node.kind == "or":
        return True if left or right else None if left is None or right is None else False
    if node.kind == "unless":
        right = not right
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"condition {text!r}: cannot read from {text[at:]!r}")
        tokens.append(match[1])
        at = match.end()
    return tokens


def _join(tokens: list[str], at: int, text: str) -> tuple[Node, int]:
    """``unless`` binds weakest, then ``or``, then ``and``."""
    return _level(tokens, at, text, ("unless", "or", "and"))


def _level(tokens: list[str], at: int, text: str, kinds: tuple[str, ...]) -> tuple[Node, int]:
    if not kinds:
        return _atom(tokens, at, text)
    left, at = _level(tokens, at, text, kinds[1:])
    while at < len(tokens) and tokens[at] == kinds[0]:
        right, at = _level(tokens, at + 1, text, kinds[1:])
        left = Join(kinds[0], left, right)
    return left, at


def _atom(tokens: list[str], at: int, text: str) -> tuple[Node, int]:
    if at >= len(tokens):
        raise ValueError(f"condition {text!r}: ends too early")
    if tokens[at] == "not":
        part, at = _atom(tokens, at + 1, text)
        return Not(part), at
    if tokens[at] == "(":
        node, at = _join(tokens, at + 1, text)
        if at >= len(tokens) or tokens[at] != ")":
            raise ValueError(f"condition {text!r}: missing )")
        return node, at + 1
    if tokens[at] == "known" and tokens[at + 1 : at + 2] == ["("] and tokens[at + 3 : at + 4] == [")"]:
        return Known(tokens[at + 2]), at + 4
    if at + 2 >= len(tokens) or tokens[at + 1] not in OPS:
        raise ValueError(f"condition {text!r}: expected 'signal op threshold' at {tokens[at]!r}")
    right = tokens[at + 2]
    bound: str | float = right if re.match(r"[A-Za-z_]", right) else float(right)
    return Compare(tokens[at], tokens[at + 1], bound), at + 3
