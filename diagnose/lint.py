"""Names in dashboards and rules that an engine does not export, and queries that read its series wrongly."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from diagnose import versions
from diagnose.engines.catalog import METRICS, CatalogRow, rows
from diagnose.lint_files import Query
from diagnose.lint_promql import AGGREGATIONS, Call, Item, Selector, calls, parse, sequences, walk

CODES = {
    "unknown-name": "no engine of the catalog exports the name",
    "ended": "the engine does not export the name any more",
    "too-new": "the engine does not export the name yet",
    "hidden": "the engine exports the name only behind a flag",
    "two-spellings": "two spellings of one metric are added up",
    "no-le": "a histogram quantile over series that lost their buckets",
    "rate-of-gauge": "rate() of a gauge",
    "router-copies": "a router re-exports the name; nothing leaves its copies out",
}
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "others": "another exporter"}
_PREFIX = re.compile(r"(vllm|sglang)[:_](?=[a-z])")
_SUFFIX = re.compile(r"_(bucket|sum|count|created)$")
_HIDDEN = re.compile(r"([\d.]+)\+: (--show-hidden-metrics-for-version)")
_NARROWING = frozenset(("model_name", "job", "instance", "pod", "service", "engine", "container", "endpoint"))
_RATES = frozenset(("rate", "irate", "increase"))
_SUMMING = frozenset(("sum", "avg", "count"))


@dataclass(frozen=True)
class Remark:
    """One finding: where, which rule of ``CODES``, the name it is about ("" for none), in words, and what to write."""

    file: str
    where: str
    code: str
    name: str
    message: str
    instead: str = ""


@dataclass(frozen=True)
class Engine:
    """The engine that the files are for; "" where unknown."""

    name: str = ""
    version: str = ""


def lint(queries: Iterable[Query], engine: Engine, ignored: Iterable[str] = ()) -> tuple[Remark, ...]:
    """What is wrong with the queries, in their order, each said once; names that the files record are their own."""
    found = tuple(queries)
    own = frozenset(q.record for q in found if q.record)
    dropped = frozenset(ignored)
    said = dict.fromkeys(r for q in found for r in _query(q, engine, own) if r.code not in dropped)
    return tuple(said)


def _query(query: Query, engine: Engine, own: frozenset[str]) -> Iterator[Remark]:
    tree = parse(query.text)
    uses = list(_uses(tree))
    names = [name for name, _, _ in uses]
    seen: set[tuple[str, str]] = set()
    for name, selector, around in uses:
        if name in own:
            continue
        base = _colon(_SUFFIX.sub("", name))
        said = itertools.chain(_name_remarks(name, names, engine), _use_remarks(name, selector, around))
        for code, message, instead in said:
            if (code, base) not in seen:  # once for both separators, for _sum and _count
                yield Remark(query.file, query.where, code, name, message, instead)
            seen.add((code, base))
    for message in itertools.chain(_added(tree), _matched_together(tree)):
        yield Remark(query.file, query.where, "two-spellings", "", message, "join them with `or`, newest first")
    for message in _lost_buckets(tree):
        yield Remark(query.file, query.where, "no-le", "", message, "add le to its by (...)")


def _uses(tree: tuple[Item, ...]) -> Iterator[tuple[str, Selector, tuple[Call, ...]]]:
    for selector, around in walk(tree):
        for name in _names(selector):
            yield name, selector, around


def _names(selector: Selector) -> tuple[str, ...]:
    """Metric names of a selector; a ``__name__`` expression gives its plain alternatives."""
    if selector.name:
        return (selector.name,)
    found: list[str] = []
    for label, op, value in selector.matchers:
        if label == "__name__" and op in ("=", "=~"):
            plain = re.sub(r"\[:_\]|\[_:\]|\(:\|_\)|\(_\|:\)", ":", value)
            found += [part for part in plain.strip("^$()").split("|") if re.fullmatch(r"[a-zA-Z_:][\w:]*", part)]
    return tuple(found)


@functools.cache
def _rows() -> dict[str, tuple[CatalogRow, ...]]:
    found: dict[str, tuple[CatalogRow, ...]] = {}
    for row in rows():
        found[row.name] = (*found.get(row.name, ()), row)
    return found


@functools.cache
def resolve(name: str) -> tuple[CatalogRow, ...]:
    """Catalog rows of an exposed sample name: either separator, histogram suffixes; () for an unknown name."""
    for spelled in dict.fromkeys((name, _colon(name))):
        for base in dict.fromkeys((spelled, _SUFFIX.sub("", spelled), f"{_SUFFIX.sub('', spelled)}_total")):
            if base in _rows() and (base != f"{spelled}_total"):
                return _rows()[base]
    return ()


def _colon(name: str) -> str:
    return _PREFIX.sub(r"\1:", name, count=1) if _PREFIX.match(name) else name


def _name_remarks(name: str, beside: list[str], engine: Engine) -> Iterator[tuple[str, str, str]]:
    found = resolve(name)
    if not found:
        if _PREFIX.match(name):
            yield "unknown-name", f"no vLLM or SGLang of the catalog exports {name}", _near(name)
        return
    table = found[0].table
    if table == "others":
        return
    mine = [row for row in found if row.table == table]
    version = engine.version if engine.name == table else ""
    if _covered(name, beside, version):
        return
    if not any(_exported(row, version) for row in mine):
        yield _out_of_range(name, mine, version)
    elif version and all(_hidden(row, version) for row in mine):
        flag = next(m[2] for row in mine if (m := _HIDDEN.search(row.gated_by)))
        yield "hidden", f"{ENGINES[table]} {version} exports {name} only with {flag}", _replacement(mine)


def _exported(row: CatalogRow, version: str) -> bool:
    return versions.in_range(version, row.since, row.until) if version else not row.until


def _hidden(row: CatalogRow, version: str) -> bool:
    match = _HIDDEN.search(row.gated_by)
    return match is not None and versions.in_range(version, match[1], "")


def _covered(name: str, beside: list[str], version: str) -> bool:
    """Whether the query also reads another spelling of the metric, one that this version exports."""
    metric = _metric_of(name)
    others = (n for n in beside if _colon(n) != _colon(name) and metric is not None and _metric_of(n) == metric)
    found = (row for other in others for row in resolve(other))
    return any(_exported(row, version) and not (version and _hidden(row, version)) for row in found)


def _out_of_range(name: str, found: list[CatalogRow], version: str) -> tuple[str, str, str]:
    title = ENGINES[found[0].table]
    if version and all(row.since and versions.key(version) < versions.key(row.since) for row in found):
        since = min((row.since for row in found), key=versions.key)
        older = [r.name for r in rows() if found[0].name in r.replaced_by and _exported(r, version)]
        return "too-new", f"{title} exports {name} since {since}, not in {version}", " or ".join(older)
    until = max((row.until for row in found), key=versions.key)
    return "ended", f"{title} exports {name} up to {until} only", _replacement(found)


def _replacement(found: list[CatalogRow]) -> str:
    texts = [row.replaced_by for row in found if row.replaced_by and not row.replaced_by.startswith("(")]
    return texts[0] if texts else ""


def _near(name: str) -> str:
    import difflib

    total = f"{_colon(name)}_total"
    if total in _rows():
        return total
    near = difflib.get_close_matches(_colon(_SUFFIX.sub("", name)), _rows(), n=1, cutoff=0.85)
    return f"{near[0]} ?" if near else ""


@functools.cache
def _spellings() -> dict[str, tuple[str, str]]:
    return {
        spelling.name: (metric.id, engine)
        for metric in METRICS.values()
        for engine, spellings in metric.spellings.items()
        for spelling in reversed(spellings)
    }


def _metric_of(name: str) -> tuple[str, str] | None:
    """Canonical metric and engine of a sample name, None for a name that is not read."""
    colon = _colon(name)
    return _spellings().get(colon) or _spellings().get(_SUFFIX.sub("", colon))


@functools.cache
def _counting() -> frozenset[str]:
    """Names that count up although the engine declares a gauge."""
    spellings = (s for metric in METRICS.values() for known in metric.spellings.values() for s in known)
    return frozenset(s.name for s in spellings if s.kind == "counter")


def _use_remarks(name: str, selector: Selector, around: tuple[Call, ...]) -> Iterator[tuple[str, str, str]]:
    found = resolve(name)
    wrong = next((call.name for call in around[-1:] if call.name in _RATES), "")
    if wrong and found and all(row.kind == "gauge" for row in found) and _colon(name) not in _counting():
        yield "rate-of-gauge", f"{wrong}() of {name}, which is a gauge", "avg_over_time, max_over_time or deriv"
    tables = {row.table for row in found}
    labels = {label for label, op, value in selector.matchers if (op, value) not in (("=", ""), ("=~", ".*"))}
    copied = {"vllm", "others"} <= tables and any(call.name in AGGREGATIONS for call in around)
    if copied and not labels & _NARROWING:
        yield "router-copies", f"a router re-exports {name} without model_name: it counts twice", 'model_name!=""'


def _added(tree: tuple[Item, ...]) -> Iterator[str]:
    """Operands of one ``+`` that are spellings of one metric."""
    for items in sequences(tree):
        before: set[str] = set()
        latest: set[str] = set()
        for item in items:
            if item == "+":
                before, latest = before | latest, set()
            elif isinstance(item, str):
                if item in ("or", "and", "unless"):
                    before, latest = set(), set()  # what is joined otherwise is not added
            else:
                names = {name for name, _, _ in _uses((item,))}
                yield from _pairs(itertools.product(before, names))
                latest |= names


def _matched_together(tree: tuple[Item, ...]) -> Iterator[str]:
    """Spellings of one metric that one ``__name__`` expression selects below a sum."""
    for selector, around in walk(tree):
        if not selector.name and any(call.name in _SUMMING for call in around):
            yield from _pairs(itertools.combinations(sorted(_names(selector)), 2))


def _pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for left, right in sorted(pairs):
        metric = _metric_of(left)
        if (
            metric is not None
            and metric == _metric_of(right)
            and left != right
            and _SUFFIX.findall(left) == _SUFFIX.findall(right)
        ):
            yield f"{left} and {right} are spellings of one metric: an engine that exports both counts twice"


def _lost_buckets(tree: tuple[Item, ...]) -> Iterator[str]:
    for call in calls(tree):
        if call.name != "histogram_quantile" or not call.arguments:
            continue
        inner = call.arguments[-1]
        buckets = [name for name, _, _ in _uses(inner) if name.endswith("_bucket")]
        lost = [c for c in calls(inner) if c.name in AGGREGATIONS and not _keeps_le(c)]
        if buckets and lost:
            yield f"{lost[0].name} drops le of {buckets[0]}: histogram_quantile gives nothing"


def _keeps_le(call: Call) -> bool:
    has = "le" in call.labels or any(label.startswith(("$", "[[")) for label in call.labels)
    return has if call.grouping != "without" else "le" not in call.labels
