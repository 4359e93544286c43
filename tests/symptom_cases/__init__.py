"""Cases of every symptom as data: present, absent and look-alike by hand; at the line and missing data are derived.

A value is a number, ``At(threshold, offset)``, or a tuple of those (the highest counts). Signals that are not named are
missing. A case that puts a plain number on a signal which is compared with a threshold holds for the defaults only.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from diagnose.symptoms.declare import At, Symptom

Given = float | At | tuple[At, ...]
Table = Mapping[str, Mapping[str, Given]]


@dataclass(frozen=True)
class Case:
    """Signals under which a symptom must be present (or absent); for a look-alike the title says why it is fine."""

    symptom: str
    kind: str
    title: str
    verdict: str
    signals: Mapping[str, Given]

    def values(self, bounds: Mapping[str, float]) -> dict[str, float]:
        """The signals as numbers under these thresholds."""
        return {name: _number(given, bounds) for name, given in self.signals.items()}

    def is_relative(self, symptom: Symptom) -> bool:
        """Whether the case holds for any legal thresholds, not only for the defaults."""
        from diagnose.symptoms import grammar

        lines = {c.signal for c in grammar.compares(symptom.node()) if isinstance(c.bound, str)}
        return all(isinstance(self.signals[s], At | tuple) for s in lines & self.signals.keys())


def of(symptom: str, present: Table, absent: Table, look_alike: Table) -> tuple[Case, ...]:
    """The cases of one symptom, by title."""
    tables = (("present", "present", present), ("absent", "absent", absent), ("look-alike", "absent", look_alike))
    return tuple(
        Case(symptom, kind, title, verdict, signals)
        for kind, verdict, table in tables
        for title, signals in table.items()
    )


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every hand-written case of every family."""
    return tuple(_read())


def _read() -> Iterator[Case]:
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        for group in importlib.import_module(f"{__name__}.{module}").CASES:
            yield from group


def _number(given: Given, bounds: Mapping[str, float]) -> float:
    if isinstance(given, tuple):
        return max(_number(g, bounds) for g in given)
    return bounds[given.threshold] + given.offset if isinstance(given, At) else given
