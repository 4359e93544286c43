"""Recordings in a real Prometheus or VictoriaMetrics: every bundle is one instance of job ``engines``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from diagnose.model import Labels, Scrape


def openmetrics(instances: Mapping[str, Iterable[Scrape]]) -> str:
    """Scrapes by instance as OpenMetrics text with timestamps; the series of a name are contiguous."""
    lines: dict[str, list[str]] = {}
    for instance, scrapes in instances.items():
        for scrape in scrapes:
            for name, series in scrape.samples.items():
                for labels, value in series:
                    text = ",".join(f'{k}="{_escaped(v)}"' for k, v in _named(labels, instance).items())
                    lines.setdefault(name, []).append(f"{name}{{{text}}} {_number(value)} {scrape.time:.3f}")
    return "\n".join([*(line for name in sorted(lines) for line in lines[name]), "# EOF", ""])


def exposition(instances: Mapping[str, Iterable[Scrape]]) -> str:
    """The same with milliseconds, for VictoriaMetrics."""
    return re.sub(r" (\d+)\.(\d{3})$", r" \1\2", openmetrics(instances).removesuffix("# EOF\n"), flags=re.MULTILINE)


def _named(labels: Labels, instance: str) -> Labels:
    return {**labels, "job": "engines", "instance": instance}


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else repr(value)


def written(folder: Path, instances: Mapping[str, Iterable[Scrape]]) -> Path:
    """A file of the scrapes for ``promtool tsdb create-blocks-from openmetrics``."""
    path = folder / "instances.om"
    path.write_text(openmetrics(instances), encoding="utf-8")
    return path
