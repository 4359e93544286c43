"""Scrapes of one target as canonical metrics over time: resolved by presence, rank copies removed, resets found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from diagnose import histograms, ranks
from diagnose.engines.catalog import METRICS, Metric, Spelling
from diagnose.histograms import Histogram
from diagnose.model import Labels, Scrape, Series

_ENGINE_PREFIXES = {"vllm": ("vllm:", "vllm_", "ray_vllm_"), "sglang": ("sglang:", "sglang_", "ray_sglang_")}


# gauges outside these bounds are defects of the exporter, not measurements
_PLAUSIBLE = {"ratio": (0.0, 2.0), "requests": (0.0, 1e6)}
_MIN_SPACING = 0.1  # seconds: closer scrapes give rates of noise


@dataclass(frozen=True)
class Interval:
    """Two neighbouring scrapes between which counters can be compared: indexes and covered seconds."""

    start: int
    end: int
    seconds: float


@dataclass
class TargetSeries:
    """Canonical metrics of one target over its scrapes, in time order."""

    name: str
    scrapes: tuple[Scrape, ...]
    clock_steps: int = 0
    _cache: dict[str, list[dict[str, float] | None]] = field(default_factory=dict)
    _found: dict[str, tuple[Spelling, str] | None] = field(default_factory=dict)

    @cached_property
    def engine(self) -> str:
        """``vllm``, ``sglang``, ``dynamo``, ... by the prefixes present, "" when none is."""
        names = {n for s in self.scrapes for n in s.samples}
        for engine, prefixes in _ENGINE_PREFIXES.items():
            if any(n.startswith(prefixes) and _has_engine_series(self.scrapes, n) for n in names):
                return engine
        for prefix in ("dynamo", "lmcache", "llm_d_epp", "inference", "smg", "vllm"):
            if any(n.startswith(prefix) for n in names):
                return "router" if prefix in ("llm_d_epp", "inference", "smg", "vllm") else prefix
        return ""

    @cached_property
    def model(self) -> str:
        """The served model by label ``model_name``, "" when no series says."""
        for scrape in reversed(self.scrapes):
            for series in scrape.samples.values():
                for labels, _ in series:
                    if labels.get("model_name"):
                        return labels["model_name"]
        return ""

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """Neighbouring scrapes without a counter reset or restart between them."""
        return tuple(i for i, reset in self._pairs if not reset)

    @cached_property
    def resets(self) -> int:
        """Intervals that were dropped because a counter fell or the process restarted."""
        return sum(reset for _, reset in self._pairs)

    @cached_property
    def segment(self) -> int:
        """Index of the first scrape after the last reset: gauges before it belong to another process."""
        return max((i.end for i, reset in self._pairs if reset), default=0)

    @cached_property
    def _pairs(self) -> tuple[tuple[Interval, bool], ...]:
        pairs = []
        for n in range(1, len(self.scrapes)):
            before, after = self.scrapes[n - 1], self.scrapes[n]
            pairs.append((Interval(n - 1, n, after.time - before.time), _was_reset(before, after)))
        return tuple(pairs)

    @cached_property
    def window(self) -> float | None:
        """Seconds covered by usable intervals, None when there is none."""
        return sum(i.seconds for i in self.intervals) or None

    def present(self, metric_id: str) -> bool:
        """Whether any scrape has the metric under any of its spellings."""
        return self._resolve(METRICS[metric_id]) is not None

    def ranks(self, metric_id: str) -> list[dict[str, float] | None]:
        """Per scrape: value by data-parallel rank ("" when there are no ranks), None where the scrape lacks it."""
        if metric_id not in self._cache:
            metric = METRICS[metric_id]
            found = self._resolve(metric)
            self._cache[metric_id] = [self._by_rank(s, found, metric) if found else None for s in self.scrapes]
        return self._cache[metric_id]

    def values(self, metric_id: str) -> list[float | None]:
        """Per scrape: ranks combined as the metric says (sum, max or mean)."""
        combine = METRICS[metric_id].combine
        return [None if not r else _combine(combine, list(r.values())) for r in self.ranks(metric_id)]

    def gauge(self, metric_id: str) -> list[tuple[float, float]]:
        """(time, value) of each scrape since the last restart that has the metric."""
        values = self.values(metric_id)
        return [(s.time, v) for s, v in list(zip(self.scrapes, values, strict=True))[self.segment :] if v is not None]

    def increase(self, metric_id: str) -> float | None:
        """Reset-corrected increase of a counter over all usable intervals; None when it is not there or none is usable.

        A series that appears later started from zero: engines in multiprocess mode create it on the first event.
        """
        if not self.present(metric_id) or not self.intervals:
            return None
        values = self.values(metric_id)
        return sum(max(0.0, (values[i.end] or 0.0) - (values[i.start] or 0.0)) for i in self.intervals)

    def increases(self, metric_id: str) -> list[tuple[Interval, float]]:
        """Increase per usable interval, [] when the counter is not there."""
        values = self.values(metric_id)
        if not self.present(metric_id):
            return []
        return [(i, max(0.0, (values[i.end] or 0.0) - (values[i.start] or 0.0))) for i in self.intervals]

    def lifetime(self, metric_id: str) -> float | None:
        """Newest raw value of a counter (since start), None when it is not there."""
        return next((v for v in reversed(self.values(metric_id)) if v is not None), None)

    def histogram(self, metric_id: str, interval: Interval | None = None) -> Histogram | None:
        """Bucket deltas over one interval, or over all usable ones; since start when the target has a single scrape."""
        found = self._resolve(METRICS[metric_id])
        if found is None:
            return None
        if len(self.scrapes) == 1:
            return self._hist_at(0, found)
        spans = (interval,) if interval else self.intervals
        total: Histogram | None = None
        for span in spans:
            delta = histograms.delta(self._hist_at(span.start, found), self._hist_at(span.end, found))
            total = delta if total is None else histograms.add(total, delta) if delta else total
        return total

    def info(self, metric_id: str) -> Labels | None:
        """Labels of the newest series of an info metric (by value, then by scrape), None when it is not there."""
        found = self._resolve(METRICS[metric_id])
        if found is None:
            return None
        for scrape in reversed(self.scrapes):
            series = scrape.samples.get(found[1], [])
            if series:
                return max(series, key=lambda item: item[1])[0]
        return None

    def infos(self, metric_id: str) -> list[Labels]:
        """Labels of every series of an info metric in the newest scrape, [] when it is not there."""
        found = self._resolve(METRICS[metric_id])
        return [labels for labels, _ in self.scrapes[-1].samples.get(found[1], [])] if found else []

    def by_label(self, metric_id: str) -> dict[str, float]:
        """Increase per value of the spelling's ``label`` (for example spec position), {} when it is not there."""
        found = self._resolve(METRICS[metric_id])
        out: dict[str, float] = {}
        if found is None:
            return out
        for i in self.intervals:
            before, after = (
                ranks.by_label(self.scrapes[n].samples.get(found[1], []), found[0].label) for n in (i.start, i.end)
            )
            for key, value in after.items():
                out[key] = out.get(key, 0.0) + max(0.0, value - before.get(key, 0.0))
        return out

    def copies(self, metric_id: str) -> int:
        """Most identical series of one scheduler in a scrape (tensor or context parallel ranks), 1 when clean."""
        found = self._resolve(METRICS[metric_id])
        most = 1
        for scrape in self.scrapes if found else ():
            groups: dict[ranks.Key, list[float]] = {}
            for labels, value in scrape.samples.get(found[1] if found else "", []):
                groups.setdefault(ranks.key(labels), []).append(value)
            same = [len(v) for v in groups.values() if len(set(v)) == 1]
            most = max([most, *same])
        return most

    def _resolve(self, metric: Metric) -> tuple[Spelling, str] | None:
        if metric.id not in self._found:
            self._found[metric.id] = next(self._spelt(metric), None)
        return self._found[metric.id]

    def _spelt(self, metric: Metric) -> Iterator[tuple[Spelling, str]]:
        suffix = "_count" if metric.kind == "histogram" else ""
        for engine, spellings in metric.spellings.items():
            if engine in _ENGINE_PREFIXES and engine != self.engine:
                continue
            for spelling in spellings:
                for name in _names(spelling.name):
                    if any(ranks.select(s.samples.get(name + suffix, []), spelling) for s in self.scrapes):
                        yield spelling, name

    def _by_rank(self, scrape: Scrape, found: tuple[Spelling, str], metric: Metric) -> dict[str, float] | None:
        spelling, name = found
        low, high = _PLAUSIBLE.get(metric.unit if metric.kind == "gauge" else "", (0.0, math.inf))
        chosen = ranks.select(scrape.samples.get(name, []), spelling)
        series = [(labels, value) for labels, value in chosen if low <= value <= high]
        return ranks.by_rank(series, spelling.scale) if series else None

    def _hist_at(self, index: int, found: tuple[Spelling, str]) -> Histogram | None:
        spelling, name = found
        samples = self.scrapes[index].samples
        count = ranks.by_rank(ranks.select(samples.get(f"{name}_count", []), spelling), 1.0)
        if not count:
            return None
        total = ranks.by_rank(ranks.select(samples.get(f"{name}_sum", []), spelling), spelling.scale)
        edges: dict[str, Series] = {}
        for labels, value in ranks.select(samples.get(f"{name}_bucket", []), spelling):
            edges.setdefault(labels.get("le", ""), []).append(({k: v for k, v in labels.items() if k != "le"}, value))
        buckets = {_edge(le) * spelling.scale: sum(ranks.by_rank(s, 1.0).values()) for le, s in edges.items()}
        return Histogram(buckets, sum(total.values()), sum(count.values()))


def targets(scrapes: tuple[Scrape, ...]) -> tuple[TargetSeries, ...]:
    """One TargetSeries per target name; scrapes whose clock does not advance are dropped and counted."""
    grouped: dict[str, list[Scrape]] = {}
    for scrape in scrapes:
        grouped.setdefault(scrape.target, []).append(scrape)
    out = []
    for name, group in grouped.items():
        kept: list[Scrape] = []
        for scrape in group:
            if not kept or scrape.time >= kept[-1].time + _MIN_SPACING:
                kept.append(scrape)
        out.append(TargetSeries(name, tuple(kept), len(group) - len(kept)))
    return tuple(out)


def _names(name: str) -> tuple[str, ...]:
    flat = name.replace(":", "_", 1)
    return (name, flat, f"ray_{flat}") if ":" in name else (name,)


def _has_engine_series(scrapes: tuple[Scrape, ...], name: str) -> bool:
    return any(ranks.is_engine(labels) for s in scrapes for labels, _ in s.samples.get(name, []))


def _combine(how: str, values: list[float]) -> float:
    return sum(values) if how == "sum" else max(values) if how == "max" else sum(values) / len(values)


def _edge(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _was_reset(before: Scrape, after: Scrape) -> bool:
    """A counter fell, or the process started anew."""
    for name, series in after.samples.items():
        if name == "process_start_time_seconds":
            old = before.samples.get(name)
            if old and series and series[0][1] > old[0][1] + 1:
                return True
        elif name.endswith(("_total", "_count")) and after.types.get(name, "counter") != "gauge":
            old_values = {_all(labels): v for labels, v in before.samples.get(name, [])}
            if any(value < old_values.get(_all(labels), value) for labels, value in series):
                return True
    return False


def _all(labels: Labels) -> ranks.Key:
    return tuple(sorted(labels.items()))
