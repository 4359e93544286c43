"""Histograms as cumulative counts by upper edge: differences, quantiles and shares, as Prometheus computes them."""

from __future__ import annotations

import math
from dataclasses import dataclass

Buckets = dict[float, float]


@dataclass(frozen=True)
class Histogram:
    """Cumulative counts by upper edge (in base units), with sum and count."""

    buckets: Buckets
    total: float
    count: float


def quantile(q: float, hist: Histogram) -> float | None:
    """Quantile with Prometheus's interpolation, in the histogram's unit; None without observations or buckets."""
    edges = sorted(hist.buckets)
    if len(edges) < 2 or not math.isinf(edges[-1]) or hist.buckets[edges[-1]] <= 0:
        return None
    rank = q * hist.buckets[edges[-1]]
    at = next(n for n, edge in enumerate(edges) if hist.buckets[edge] >= rank)
    if at == len(edges) - 1:
        return edges[-2]
    low = 0.0 if at == 0 else edges[at - 1]
    below = 0.0 if at == 0 else hist.buckets[edges[at - 1]]
    inside = hist.buckets[edges[at]] - below
    if at == 0 and edges[0] <= 0:
        return edges[0]
    return edges[at] if inside <= 0 else low + (edges[at] - low) * (rank - below) / inside


def share_above(edge: float, hist: Histogram) -> float | None:
    """Share of observations above the bucket edge at or next above ``edge``; None without such an edge."""
    top = max(hist.buckets, default=0.0)
    at = min((e for e in hist.buckets if e >= edge * (1 - 1e-9) and not math.isinf(e)), default=None)
    if at is None or not hist.buckets.get(top):
        return None
    return 1.0 - hist.buckets[at] / hist.buckets[top]


def delta(before: Histogram | None, after: Histogram | None) -> Histogram | None:
    """Observations between two readings; one that appears later started from zero; None without the later one."""
    if after is None:
        return None
    if before is None:
        return after
    buckets = {e: max(0.0, v - before.buckets.get(e, 0.0)) for e, v in after.buckets.items()}
    return Histogram(buckets, max(0.0, after.total - before.total), max(0.0, after.count - before.count))


def add(a: Histogram, b: Histogram) -> Histogram:
    """Both histograms together."""
    buckets = {e: a.buckets.get(e, 0.0) + b.buckets.get(e, 0.0) for e in {*a.buckets, *b.buckets}}
    return Histogram(buckets, a.total + b.total, a.count + b.count)
