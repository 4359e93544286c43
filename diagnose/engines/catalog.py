"""Canonical metrics and how each engine spells them; the names that any engine of the catalog exports.

Resolution is by presence, newest spelling first; a version only explains. Spellings of one metric are never summed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from diagnose.engines.declare import Calc, Metric, Signal, Spelling
from diagnose.engines.metrics import METRICS
from diagnose.engines.signals import SIGNALS

__all__ = ["METRICS", "SIGNALS", "Calc", "CatalogRow", "Metric", "Signal", "Spelling", "known_families", "rows"]

STACK_TABLES = ("vllm", "sglang", "others")


@dataclass(frozen=True)
class CatalogRow:
    """One exposed name of the catalog tables with its version range."""

    table: str
    concept: str
    name: str
    kind: str
    since: str
    until: str
    replaced_by: str
    gated_by: str
    note: str


@functools.cache
def rows() -> tuple[CatalogRow, ...]:
    """All rows of the catalog tables (``engines/*.tsv``), from the engines' own source."""
    return tuple(row for table in STACK_TABLES for row in _read(table))


@functools.cache
def known_families() -> frozenset[str]:
    """Names of all families that the catalog knows, as exposed (``vllm:num_requests_running``)."""
    return frozenset(row.name for row in rows()).union(_used_names())


def _used_names() -> Iterator[str]:
    for metric in METRICS.values():
        for spellings in metric.spellings.values():
            yield from (s.name for s in spellings)


def _read(table: str) -> Iterator[CatalogRow]:
    text = resources.files("diagnose.engines").joinpath(f"{table}.tsv").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        cells = [*line.split("\t"), *[""] * 11][:11]
        concept, _, names, kind, _, _, since, until, replaced, gated, _ = cells
        for name in names.split(" / "):
            if name.strip():
                yield CatalogRow(table, concept, name.strip(), kind, since, until, replaced, gated, line.split("\t")[-1])


def signal_unit(ident: str) -> str:
    """Unit of a signal; generated names (``config_*``, ``log_*``, ``ab_*``) have units by their kind."""
    if ident in SIGNALS:
        return SIGNALS[ident].unit
    return {"log": "lines", "ab": "ratio"}.get(ident.split("_", 1)[0], "")


def signal_title(ident: str) -> str:
    """Title of a signal, made from the name where it is not declared."""
    if ident in SIGNALS:
        return SIGNALS[ident].title
    kind, _, rest = ident.partition("_")
    words = rest.replace("_", " ")
    return {"config": f"configured {words}", "log": f"log lines: {words}", "ab": f"comparison {words}"}.get(kind, ident.replace("_", " "))
