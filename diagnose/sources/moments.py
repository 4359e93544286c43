"""When a scrape was taken, from the names of files that people choose: ``before``, ``after``, ``metrics-2``, ``t0``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from diagnose.model import Scrape

SPACING = 15.0  # seconds, when neither names nor file times tell
_RANKS = {"before": 0, "start": 0, "first": 0, "begin": 0, "pre": 0, "during": 1, "middle": 1, "load": 1,
          "after": 2, "end": 2, "second": 2, "last": 2, "post": 2}  # fmt: skip
_PLAIN = {"scrape", "metrics", "metric", "t", "dump", "m", "s", "snapshot", "sample", "prom"}
_NAME = re.compile(r"([a-z]*)[-_. ]?(\d{0,9})")


@dataclass(frozen=True)
class Taken:
    """A scrape, the name of its file, and whether its time is known (a number in the name)."""

    scrape: Scrape
    name: str
    sure: bool


def is_moment(name: str) -> bool:
    """Whether a file's name tells a time or an order, not an engine."""
    found = _NAME.fullmatch(name.lower())
    return found is not None and (found.group(1) in _RANKS or found.group(1) in _PLAIN)


def _order(taken: Taken) -> tuple[int, int, str]:
    found = _NAME.fullmatch(taken.name.lower())
    word, digits = found.groups() if found else ("", "")
    return _RANKS.get(word, 1), int(digits or 0), taken.name


def in_order(several: Iterable[Taken]) -> tuple[tuple[Scrape, ...], tuple[str, ...]]:
    """Scrapes in time order, and notes. Files of one target that were written at once and have no time are spaced."""
    by_target: dict[str, list[Taken]] = {}
    for taken in several:
        by_target.setdefault(taken.scrape.target, []).append(taken)
    scrapes: list[Scrape] = []
    notes: list[str] = []
    for target in sorted(by_target):
        own = sorted(by_target[target], key=lambda taken: taken.scrape.time)
        gaps = [b.scrape.time - a.scrape.time for a, b in zip(own, own[1:], strict=False)]
        if gaps and min(gaps) < 1.0 and not any(taken.sure for taken in own):
            first = own[0].scrape.time
            own = sorted(own, key=_order)
            own = [replace(t, scrape=replace(t.scrape, time=first + SPACING * n)) for n, t in enumerate(own)]
            names = ", ".join(t.name for t in own[:4])
            notes.append(f"{target}: the files do not say when, taken to be {SPACING:.0f} s apart in the order {names}")
        scrapes += [taken.scrape for taken in own]
    return tuple(scrapes), tuple(notes)
