"""A lenient reader of PromQL as people write it, Grafana variables included: selectors, calls, operators as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

AGGREGATIONS = frozenset(
    ("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "quantile", "topk", "bottomk", "count_values")
)
_LISTS = frozenset(("by", "without", "on", "ignoring", "group_left", "group_right"))
_WORDS = frozenset(("and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"))
_DEEPEST = 100  # nested parentheses that are followed; deeper ones are no query that a person wrote
_TOKEN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
    |(?P<var>\$\{[^}]*\}|\$\w+|\[\[\w+\]\])
    |(?P<number>\d[\w.]*)
    |(?P<name>[a-zA-Z_:][\w:]*)
    |(?P<op>=~|!~|!=|==|<=|>=|.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Selector:
    """A metric with its matchers; ``name`` is "" where only ``__name__`` or labels select."""

    name: str
    matchers: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Call:
    """A function, an aggregation or (``name`` "") a pair of parentheses; ``grouping`` is by / without / ""."""

    name: str
    arguments: tuple[tuple[Item, ...], ...]
    grouping: str = ""
    labels: tuple[str, ...] = ()


Item = Selector | Call | str


def parse(text: str) -> tuple[Item, ...]:
    """The items of an expression. Never fails: what is not understood becomes an operator."""
    return _Reader(text).sequence()[0]


def walk(items: tuple[Item, ...]) -> Iterator[tuple[Selector, tuple[Call, ...]]]:
    """Every selector with the calls around it, outermost first."""
    yield from _walk(items, ())


def calls(items: tuple[Item, ...]) -> Iterator[Call]:
    """Every call and pair of parentheses, outermost first."""
    for item in items:
        if isinstance(item, Call):
            yield item
            for argument in item.arguments:
                yield from calls(argument)


def sequences(items: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """Every run of operands and operators: the whole, and each argument."""
    yield items
    for call in calls(items):
        yield from call.arguments


def _walk(items: tuple[Item, ...], around: tuple[Call, ...]) -> Iterator[tuple[Selector, tuple[Call, ...]]]:
    for item in items:
        if isinstance(item, Selector):
            yield item, around
        elif isinstance(item, Call):
            for argument in item.arguments:
                yield from _walk(argument, (*around, item))


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = [(m.lastgroup or "op", m[0]) for m in _TOKEN.finditer(text) if m.lastgroup != "skip"]
        self.at = self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def sequence(self) -> tuple[tuple[Item, ...], str]:
        """Items up to a comma or a closing parenthesis, and which it was ("" at the end)."""
        items: list[Item] = []
        while self.at < len(self.tokens):
            kind, token = self.tokens[self.at]
            self.at += 1
            if token in (",", ")"):
                return tuple(items), token
            if kind == "name":
                self._name(token, items)
            elif token == "(":
                items.append(Call("", self._arguments()))
            elif token == "{":
                items.append(Selector("", self._matchers()))
            elif token == "[":
                self._until("]")
            elif kind == "op":
                items.append(token)
        return tuple(items), ""

    def _name(self, token: str, items: list[Item]) -> None:
        word = token.lower()
        if word in _LISTS and self.peek() == "(":
            labels = self._labels()
            if word in ("by", "without") and items and isinstance(items[-1], Call):
                last = items[-1]
                items[-1] = Call(last.name, last.arguments, word, labels)
        elif word in _WORDS or word in _LISTS:
            items.append(word)
        elif word in AGGREGATIONS and self.peek().lower() in ("by", "without"):
            grouping = self.peek().lower()
            self.at += 1
            labels = self._labels() if self.peek() == "(" else ()
            self._take("(")
            items.append(Call(word, self._arguments(), grouping, labels))
        elif self._take("("):
            items.append(Call(word, self._arguments()))
        else:
            items.append(Selector(token, self._matchers() if self._take("{") else ()))

    def _take(self, token: str) -> bool:
        found = self.peek() == token
        self.at += found
        return found

    def _arguments(self) -> tuple[tuple[Item, ...], ...]:
        found: list[tuple[Item, ...]] = []
        end = "," if self.depth < _DEEPEST else ""
        self.depth += 1
        while end == ",":
            items, end = self.sequence()
            found.append(items)
        self.depth -= 1
        return tuple(found)

    def _labels(self) -> tuple[str, ...]:
        self.at += 1
        return tuple(token for kind, token in self._until(")") if kind in ("name", "var"))

    def _matchers(self) -> tuple[tuple[str, str, str], ...]:
        tokens = self._until("}")
        return tuple(
            (tokens[i - 1][1], tokens[i][1], tokens[i + 1][1].strip("\"'`"))
            for i in range(1, len(tokens) - 1)
            if tokens[i][1] in ("=", "!=", "=~", "!~")
        )

    def _until(self, end: str) -> list[tuple[str, str]]:
        found = []
        while self.at < len(self.tokens):
            kind, token = self.tokens[self.at]
            self.at += 1
            if token == end:
                break
            found.append((kind, token))
        return found
