"""Comparison of engine versions: ``0.9.2``, ``0.4.9.post6``, ``0.32.0+cpu``, ``0.6.4.dev22``."""

from __future__ import annotations

import re


def key(version: str) -> tuple[int, ...]:
    """Sortable numbers of a version; () when it is not one. ``.postN`` sorts after the release, ``devN`` is ignored."""
    match = re.match(r"v?(\d+(?:\.\d+)*)(?:\.?post(\d+))?", version.strip())
    if match is None:
        return ()
    numbers = [int(n) for n in match[1].split(".")]
    return (*numbers, *[0] * (4 - len(numbers)), int(match[2] or 0))


def in_range(version: str, since: str, until: str) -> bool:
    """Whether a version lies in since..until (both inclusive, "" is open); an unknown version fits everything."""
    at = key(version)
    if not at:
        return True
    return (not since or key(since) <= at) and (not until or at <= key(until))
