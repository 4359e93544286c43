"""Numbers as people write them: thousands separators, percent, ms, GiB. The only place that formats a quantity."""

from __future__ import annotations

import math
import re

# Ratios that people read as a share of a whole; the others (3.0 per finished request) stay plain numbers.
_SHARES = re.compile(
    r"usage|share|hit_ratio|hit_log|hit_gap|log_gap|acceptance|_position|utilization|_gain\b|worker_cpu|kv_rank|kv_rising"
    r"|_follows_|efficiency|graph_over|over_graph|spec_decay"
)


def plain(value: float) -> str:
    """A bare number for people: ``4,096``, ``3.4``, ``0.012``; ``?`` when it is not finite."""
    if not math.isfinite(value):
        return "?" if math.isnan(value) else ("unlimited" if value > 0 else "-unlimited")
    if abs(value) >= 1e18:
        return f"{value:.1e}"
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:.1f}"
    digits = 2 if size >= 0.1 else 3 if size >= 0.001 else 6
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0"


def percent(value: float) -> str:
    """A ratio as a percentage: ``100 %``, ``3.4 %``."""
    if not math.isfinite(value * 100):
        return "?"
    shown = value * 100
    return f"{plain(round(shown) if abs(shown) >= 10 else round(shown, 1))} %"


def seconds(value: float) -> str:
    """Seconds as ``250 ms``, ``1.4 s``, ``27 s``, ``15 min`` or ``2.5 h``."""
    size = abs(value)
    if not math.isfinite(value):
        return "?"
    if size >= 3.6e15:
        return f"{plain(value / 3600)} h"
    if 0 < size < 0.9995:
        shown = value * 1000
        return f"{shown:.0f} ms" if size >= 0.01 else f"{shown:.1f} ms"
    if size < 10:
        return f"{value:.1f}".removesuffix(".0") + " s"
    if size < 600:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if size < 7200 else f"{value / 3600:.1f} h"


def size(value: float) -> str:
    """Bytes as ``6.2 GiB``, ``512 MiB`` or ``96 B``."""
    for unit, factor in (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if abs(value) >= factor:
            return f"{plain(value / factor)} {unit}"
    return f"{plain(value)} B"


def quantity(value: float, unit: str, signal: str = "") -> str:
    """A value for a sentence that names what is counted: ``57``, ``93 %``, ``27 s``, ``61.3 tokens/s``, ``6.2 GiB``."""
    if unit == "ratio":
        return percent(value) if _SHARES.search(signal) else plain(value)
    if unit in ("s", "seconds"):
        return seconds(value)
    if unit in ("bytes", "bytes/s"):
        return size(value) + unit.removeprefix("bytes")
    return f"{plain(value)} {unit}" if "/" in unit else plain(value)


def counted(value: float, unit: str, signal: str = "") -> str:
    """A value that stands alone: as ``quantity``, with the counted thing behind it (``57 requests``, ``1 slot``)."""
    said = quantity(value, unit, signal)
    if unit in ("", "ratio", "s", "seconds", "bytes", "bool", "boolean") or "/" in unit:
        return said
    return f"{said} {unit[:-1] if value == 1 and unit.endswith('s') else unit}"
