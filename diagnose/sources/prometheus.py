"""Engines that a Prometheus scrapes, as observations: one query per signal for the whole fleet, and the course of few.

What to ask is given (``Query``): this module knows no signal. A fleet of up to ``FOLLOWED`` engines is also followed
scrape by scrape, from the samples that the server stored; of a larger one only what the queries say is known.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from diagnose.engines.metrics import METRICS
from diagnose.errors import SourceError, UsageError
from diagnose.model import Labels, Measured, Missing, Observations, Scrape, Series
from diagnose.sources.fetch import HttpOptions
from diagnose.sources.prometheus_api import Api, BadQuery, Row

SOURCE = "prometheus"
FOLLOWED = 50
RECORDED_WINDOW = 300.0  # seconds that recording rules look back
LONG_WINDOW = 900.0
_MAX_FAILED = 3
_IDENTITY = ("cluster", "namespace", "job", "instance", "pod")
_STACK = "vllm|sglang|ray_vllm|ray_sglang|dynamo|llm_d_epp|inference_extension|smg|lmcache|llm_gpu_memory"
_PROCESS = "process_start_time_seconds|process_resident_memory_bytes"
_INFO = "(vllm|sglang)[:_](cache_config_info|lora_requests_info)"
_RANKED = {"running": "requests_running", "waiting": "requests_waiting", "kv_usage": "kv_usage"}
_NO_ENGINE = "Check --match and --at; vLLM needs its log statistics, SGLang --enable-metrics, and both a scrape job"

Identity = tuple[str, ...]
Plan = Callable[[str], Sequence["Query"]]  # by window as PromQL writes it


@dataclass(frozen=True)
class Query:
    """One signal: the recorded series (by engine rank) and the expression that gives it where no rule is loaded.

    ``combine`` says how ranks of one engine add up (sum, max, min, mean); ``whole`` that they do not, so that with
    several ranks the expression is asked, which covers the engine as a whole.
    """

    signal: str
    recorded: str
    raw: str
    combine: str
    whole: bool = False


@dataclass
class _Asked:
    """An observation under way. ``match`` is the user's selector without braces."""

    api: Api
    match: str
    at: float
    window: float
    names: dict[Identity, str] = field(default_factory=dict)
    engines: dict[Identity, tuple[str, str]] = field(default_factory=dict)  # serving engine, model
    values: dict[Identity, dict[str, dict[str, float]]] = field(default_factory=dict)  # signal, rank
    recorded: frozenset[str] = frozenset()
    failed: int = 0

    def ask(self, expression: str) -> list[Row]:
        """A vector at the observation's time; one that fails is a note, several failures end the observation."""
        try:
            return self.api.query(narrowed(expression, self.match), self.at)
        except SourceError as error:
            self.failed += 1
            if self.failed >= _MAX_FAILED:
                raise
            self.api.notes.append(f"a query failed: {error.what}")
            return []


def narrowed(expression: str, match: str) -> str:
    """The expression with the user's matchers in every selector; recorded series without one get one."""
    if not match:
        return expression
    with_braces = re.sub(r"\b((?:engine|model):\w+)(?![\w{:])", r"\1{}", expression)
    return re.sub(r"\{(\s*\})?", lambda m: f"{{{match}}}" if m[1] else f"{{{match}, ", with_braces)


def observe(
    url: str, plan: Plan, options: HttpOptions, *, match: str = "", at: float | None = None,
    window: float | None = None, tenant: str = "",
) -> Observations:  # fmt: skip
    """What the server knows of the engines. Raises SourceError, or UsageError for a selector that is none.

    Without a window: five minutes from recorded series where rules are loaded, else 15 minutes.
    """
    if window is not None and window <= 0:
        raise UsageError("--window must be above 0s to look back")
    api = Api(url, options, tenant)
    now = api.now()
    asked = _Asked(api, match.strip().removeprefix("{").removesuffix("}").strip().rstrip(","), at or now, 0.0)
    _check_match(asked)
    loaded = _loaded(asked) if window in (None, RECORDED_WINDOW) else frozenset()
    asked.window = window or (RECORDED_WINDOW if loaded else LONG_WINDOW)
    queries = plan(f"{asked.window:.0f}s" if asked.window == int(asked.window) else f"{asked.window * 1000:.0f}ms")
    _discover(asked, next(q for q in queries if q.signal == "requests_running_last"), loaded)
    for query in queries:
        _measure(asked, query)
    few = len(asked.engines) <= FOLLOWED
    scrapes = _followed(asked) if few else _standing(asked)
    combine = {q.signal: q.combine for q in queries}
    measured = tuple(_measured(asked, i, combine) for i in asked.engines)
    missing = _down(asked)
    return Observations(scrapes=scrapes, measured=measured, missing=missing, notes=(_note(asked), *api.notes))


def _check_match(asked: _Asked) -> None:
    """Asks for one engine series with the selector, so that a wrong one is a usage error."""
    if not asked.match:
        return
    try:
        asked.api.query(f'count({{{asked.match}, __name__="vllm:num_requests_running"}})', asked.at)
    except BadQuery as error:
        raise UsageError(
            f"--match {{{asked.match}}}: {error.what}", hint="""Write it as in PromQL: --match '{job="vllm"}'"""
        ) from None


def _loaded(asked: _Asked) -> frozenset[str]:
    """Names of the recorded engine series that are there."""
    rows = asked.ask('count by (__name__) ({__name__=~"engine:.+"})')
    return frozenset(row["metric"].get("__name__", "") for row in rows)


def _discover(asked: _Asked, query: Query, loaded: frozenset[str]) -> None:
    """The engines, by their running requests; whether recorded series cover them. Raises SourceError without any."""
    rows = asked.api.query(narrowed(query.raw, asked.match), asked.at)
    _collect(asked, query.signal, rows)
    for row in rows:
        labels = row["metric"]
        asked.engines.setdefault(_identity(labels), (labels.get("serving_engine", ""), labels.get("model_name", "")))
    if not asked.engines:
        within = f" that match {{{asked.match}}}" if asked.match else ""
        raise SourceError(f"no engine series{within}", where=asked.api.base, hint=_NO_ENGINE)
    asked.names = _names(asked.engines)
    if not loaded:
        return
    covered = {_identity(row["metric"]) for row in asked.ask(query.recorded)}
    if asked.engines.keys() <= covered:
        asked.recorded = loaded
    else:
        seen = len(asked.engines.keys() & covered)
        asked.api.notes.append(f"recorded series cover {seen} of {len(asked.engines)} engines: raw metrics are used")


def _identity(labels: Labels) -> Identity:
    return tuple(labels.get(label, "") for label in _IDENTITY)


def _names(identities: Iterable[Identity]) -> dict[Identity, str]:
    """Targets by instance (or pod, or job), with as many of the labels before it as tell them apart."""
    short = {i: i[3] or i[4] or i[2] or "engine" for i in identities}
    used = Counter(short.values())
    return {i: n if used[n] == 1 else "/".join(p for p in (*i[:3], i[4], n) if p) for i, n in short.items()}


def _measure(asked: _Asked, query: Query) -> None:
    if query.signal in asked.values.get(next(iter(asked.engines)), {}):
        return
    ranks = max(len(v.get("requests_running_last", {})) for v in asked.values.values())
    use_recorded = query.recorded in asked.recorded and not (query.whole and query.raw and ranks > 1)
    expression = query.recorded if use_recorded else query.raw
    if expression:
        _collect(asked, query.signal, asked.ask(expression))


def _collect(asked: _Asked, signal: str, rows: Iterable[Row]) -> None:
    for row in rows:
        value = float(row["value"][1])
        if math.isfinite(value):
            ranks = asked.values.setdefault(_identity(row["metric"]), {}).setdefault(signal, {})
            rank = row["metric"].get("rank", "")
            ranks[rank if rank not in ranks else f"{rank} {row['metric'].get('model_name')}"] = value


_COMBINE: Mapping[str, Callable[[list[float]], float]] = {
    "sum": sum, "max": max, "min": min, "mean": lambda v: sum(v) / len(v),
}  # fmt: skip


def _measured(asked: _Asked, engine: Identity, combine: Mapping[str, str]) -> Measured:
    """The signals of one engine, ranks combined."""
    by_rank = asked.values.get(engine, {})
    values = {s: _COMBINE[combine[s]](list(ranks.values())) for s, ranks in by_rank.items() if ranks}
    moved = [values[s] for s in ("prompt_tps", "generation_tps") if s in values]
    if moved:
        values["tokens_moved"] = sum(moved) * asked.window
    if "requests_running" in values and "requests_waiting" in values:
        values["load_seen"] = 1.0
    return Measured(asked.names[engine], values, SOURCE, asked.window)


def _standing(asked: _Asked) -> tuple[Scrape, ...]:
    """One scrape per engine that stands for the window: means of load by rank, and configuration in labels."""
    samples: dict[Identity, dict[str, Series]] = {}
    for engine, (kind, model) in asked.engines.items():
        for metric, signal in _RANKED.items():
            name, label = METRICS[metric].spellings[kind][0].name, "engine" if kind == "vllm" else "dp_rank"
            ranks = asked.values.get(engine, {}).get(signal, {})
            series = [({"model_name": model} | ({label: r} if r else {}), v) for r, v in ranks.items()]
            samples.setdefault(engine, {})[name] = series
    for row in asked.ask(f'{{__name__=~"{_INFO}"}}'):
        if (engine := _identity(row["metric"])) in samples:
            samples[engine].setdefault(row["metric"]["__name__"], []).append((_own(row), float(row["value"][1])))
    return tuple(Scrape(asked.names[e], asked.at, s) for e, s in samples.items())


def _own(row: Row) -> Labels:
    return {k: v for k, v in row["metric"].items() if k != "__name__" and k not in _IDENTITY}


def _followed(asked: _Asked) -> tuple[Scrape, ...]:
    """The stored scrapes of the window without histogram buckets; as of a large fleet when the server refuses."""
    span = f"[{asked.window * 1000 + 1:.0f}ms]"  # and one more, for servers whose windows are open on the left
    rows = asked.ask(f'{{__name__=~"({_STACK})[:_].+", __name__!~".+_(bucket|created)"}}{span}')
    if not rows:
        return _standing(asked)
    hosts = "|".join(sorted({re.escape(i[3]).replace("\\", "\\\\").replace('"', '\\"') for i in asked.engines}))
    rows += asked.ask(f'{{__name__=~"{_PROCESS}", instance=~"{hosts}"}}{span}')
    held: dict[Identity, dict[float, dict[str, Series]]] = {}
    for row in rows:
        labels, name, course = _own(row), row["metric"]["__name__"], held.setdefault(_identity(row["metric"]), {})
        for moment, value in row.get("values", ()):
            course.setdefault(float(moment), {}).setdefault(name, []).append((labels, float(value)))
    asked.names = _names([*asked.engines, *(i for i in held if i not in asked.engines)])
    types = _gauges()
    return tuple(Scrape(asked.names[i], t, held[i][t], types) for i in held for t in sorted(held[i]))


def _gauges() -> dict[str, str]:
    """Gauges whose names end like counters', so that their falling is no restart."""
    from diagnose.engines.catalog import rows

    named = {row.name for row in rows() if row.kind == "gauge"}
    named |= {s.name for m in METRICS.values() if m.kind == "gauge" for group in m.spellings.values() for s in group}
    return {n: "gauge" for name in named for n in (name, name.replace(":", "_", 1)) if n.endswith(("_total", "_count"))}


def _down(asked: _Asked) -> tuple[Missing, ...]:
    """Targets of the engines' own jobs that the server could not scrape."""
    jobs = {i[:3] for i in asked.engines}
    gone = [_identity(row["metric"]) for row in asked.ask("up{} == 0")]
    why, how = "target not observed: its last scrape failed", "See its log, and the targets page of the Prometheus"
    lost = [i[3] or i[4] for i in gone if i[:3] in jobs and i not in asked.engines]
    return tuple(Missing(f"metrics of {name}", why, how) for name in lost)


def _note(asked: _Asked) -> str:
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(asked.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    how = "recorded series" if asked.recorded else "raw metrics"
    return f"{len(asked.engines)} engines by {asked.api.base}: {asked.window:g} s to {when}, {how}"
