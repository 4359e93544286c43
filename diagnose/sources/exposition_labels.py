"""Label sets as shared objects: each is parsed once and stands for every series that has it."""

from __future__ import annotations

import re

from diagnose.sources.exposition_line import Labels, MalformedLine, escaped, parse_labels

_SHAPES = 100
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)


class LabelSets:
    """The label sets seen so far; ``known`` maps the text between the braces to its set. Equal sets are one object.

    Give the same one to the scrapes of one target: the later ones cost neither time nor memory for their labels.
    """

    def __init__(self) -> None:
        self.known: dict[str, Labels] = {}
        self.orders: dict[frozenset[str], tuple[str, ...]] = {}
        self.shapes: dict[tuple[str, ...], re.Pattern[str]] = {}
        self.reordered: set[re.Pattern[str]] = set()
        self.shape = re.compile(r"(?!)")

    def plain(self, raw: str) -> Labels:
        """The label set of text of a known shape, without escapes or white space. Raises MalformedLine otherwise."""
        match = self.shape.fullmatch(raw) or self.other_shape(raw)
        known = self.known.get(raw)
        if known is None:
            labels = match.groupdict()
            self.known[raw] = known = self.shared(labels) if self.shape in self.reordered else labels
        return known

    def other_shape(self, raw: str) -> re.Match[str]:
        """Matches text that has other label names than the text before it."""
        for shape in self.shapes.values():
            if match := shape.fullmatch(raw):
                self.shape = shape
                return match
        raise MalformedLine("not plain")

    def careful(self, raw: str, bare: bool) -> Labels:
        """The label set of the text between the braces; ``bare`` when the metric name must be among the labels."""
        labels = parse_labels(raw)
        if ("__name__" in labels) != bare:
            raise MalformedLine("no metric name" if bare else "metric name given twice")
        shared = self.shared(labels)
        if not bare:
            self.known[raw] = shared
        return shared

    def shared(self, labels: Labels) -> Labels:
        """The one object that stands for this label set, so that identity is equality within an exposition."""
        shape = tuple(labels)
        order = self.orders.setdefault(frozenset(shape), shape)
        plain = ",".join(f'{name}="{escaped(labels[name])}"' for name in order)
        if "__name__" not in labels:
            self.learn(shape, order != shape)
        return self.known.setdefault(plain, {name: labels[name] for name in order})

    def learn(self, shape: tuple[str, ...], reordered: bool) -> None:
        """Remember label names in an order that was seen, so that the like is split by one pattern."""
        if shape not in self.shapes and len(self.shapes) < _SHAPES and all(map(_LABEL_NAME.fullmatch, shape)):
            pattern = re.compile(",".join(f'{name}="(?P<{name}>[^"\\\\]*)"' for name in shape))
            self.shapes[shape] = pattern
            if reordered:  # the same names came in another order before: equal sets must be found there
                self.reordered.add(pattern)
