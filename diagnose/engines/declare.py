"""What the tables of an engine consist of: spellings, canonical metrics, signals."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spelling:
    """One exposed name (without _bucket/_sum/_count), newest first in its list.

    ``only`` keeps series whose label has one of the values; ``without`` drops them; ``scale`` converts to base units;
    ``kind`` overrides the metric's kind where an engine exports it differently (a counter as a gauge).
    """

    name: str
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    without: dict[str, tuple[str, ...]] = field(default_factory=dict)
    scale: float = 1.0
    kind: str = ""
    label: str = ""


@dataclass(frozen=True)
class Metric:
    """A canonical engine metric.

    ``kind``: gauge, counter, histogram, info. ``combine`` says how data-parallel ranks add up: sum, max or mean.
    """

    id: str
    kind: str
    unit: str
    combine: str
    spellings: dict[str, tuple[Spelling, ...]]


@dataclass(frozen=True)
class Calc:
    """How a signal is computed from metrics over a window.

    ``op``: mean, max, min, last (gauge) · rate, increase (counter) · ratio (increase of a over increase of b) ·
    per (a over b with both known) · hist_mean, quantile, share_above (histogram; ``q`` is the quantile or the edge in s).
    """

    op: str
    metrics: tuple[str, ...]
    q: float = 0.0


@dataclass(frozen=True)
class Signal:
    """A canonical quantity with unit and meaning. ``calc`` is None where logs, configuration or shapes give it."""

    id: str
    unit: str
    title: str
    meaning: str = ""
    calc: Calc | None = None
