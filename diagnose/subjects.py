"""Who is diagnosed: targets, runs, the fleet, a comparison; each with its signals and its resolved configuration."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from diagnose import clients, compare, courses, fleet, logsignals, series, ticks
from diagnose import facts as facts_module
from diagnose import runs as files
from diagnose.engines.defaults import default_facts
from diagnose.model import Fact, LogStat, Observations, Value
from diagnose.series import TargetSeries
from diagnose.signals import metric_signals

# facts that show that the engine's arguments were read, so that what is not among them stands at its default
_FLAGS = {
    "tp",
    "dtype",
    "enforce_eager",
    "gpu_memory_utilization",
    "mem_fraction_static",
    "max_num_seqs",
    "spec_method",
}


@dataclass(frozen=True)
class Subject:
    """One thing that gets findings. ``kind`` is target, run, fleet or comparison."""

    name: str
    kind: str
    engine: str
    version: str
    model: str
    signals: Mapping[str, Value]
    facts: Mapping[str, Fact]
    scrapes: int = 0
    window: float | None = None

    @functools.cached_property
    def values(self) -> dict[str, float]:
        """Signal values alone, as conditions read them; every symptom and move asks, so made once."""
        return {name: value.value for name, value in self.signals.items()}


def subjects(observations: Observations) -> tuple[tuple[Subject, ...], compare.Comparison | None]:
    """All subjects of the observations and, for an A/B bundle, the comparison."""
    names = compare.variants(observations)
    found = series.targets(observations.scrapes)
    if names:
        runs, comparison = _compared(observations, names)
        shared = replace(observations, stats=(), events=(), facts=_outside(observations.facts, names), benches=())
        return (*_targets(shared, found), *runs), comparison
    measured = _targets(observations, found)
    taken = {run for t in found for run in files.of_target(observations, t, found)}
    return (*measured, *_loose_runs(observations, taken, bool(found)), *_fleet(observations, found, measured)), None


def _outside(facts: tuple[Fact, ...], names: tuple[str, ...]) -> tuple[Fact, ...]:
    return tuple(f for f in facts if f.run not in names)


def _targets(observations: Observations, found: tuple[TargetSeries, ...]) -> tuple[Subject, ...]:
    return tuple(_target(observations, t, found) for t in found)


def _target(observations: Observations, target: TargetSeries, found: tuple[TargetSeries, ...]) -> Subject:
    runs = files.of_target(observations, target, found)
    facts = _resolved(
        f for f in (*observations.facts, *facts_module.from_metrics(target)) if f.run in {*runs, target.name}
    )
    course = ticks.from_series(target)
    stats = [s for s in observations.stats if s.run in runs]
    logged = ticks.from_log(stats)
    given = _given(observations, target)
    signals = {
        **given,
        **logsignals.log_signals(stats, (e for e in observations.events if e.run in runs), facts),
        **ticks.gauge_signals(logged, "log"),
        **ticks.shape_signals(logged, "log"),
        **fleet.log_rank_signals(stats),
        **ticks.shape_signals(course, "metrics"),
        **fleet.rank_signals(target),
        **metric_signals(target, given),
        **_ttft_course(target),
        **_hit_course(target),
    }
    if len(target.scrapes) == 1:  # a scrape that stands for a window: what was measured over the window wins
        signals |= given
    signals |= courses.course_signals(target, signals)
    return _finish(observations, target.name, "target", signals, facts, course or logged, target)


def _given(observations: Observations, target: TargetSeries) -> dict[str, Value]:
    """What the target's source measured itself, {} when it measured nothing."""
    mine = (m for m in observations.measured if m.target == target.name)
    return {k: Value(v, m.source, m.window) for m in mine for k, v in m.values.items()}


def _finish(
    observations: Observations,
    name: str,
    kind: str,
    signals: dict[str, Value],
    facts: dict[str, Fact],
    course: tuple[ticks.Tick, ...],
    target: TargetSeries | None = None,
) -> Subject:
    engine = target.engine if target and target.engine else facts_module.text(facts.get("engine"))
    config = facts_module.config_signals(facts)
    client = clients.client_signals(facts, observations.remarks, observations.benches)
    held = facts_module.conflicts(f for f in observations.facts if f.run in {x.run for x in facts.values()})
    extra = {"conflicts": Value(float(len(held)), "configuration")} if facts else {}
    merged = {**client, **signals, **config, **extra}
    merged |= _combined(merged, course)
    model = (
        (target.model if target else "")
        or facts_module.text(facts.get("served_model"))
        or facts_module.text(facts.get("model"))
    )
    version = facts_module.text(facts.get("engine_version"))
    scrapes, window = (len(target.scrapes), target.window) if target else (0, None)
    if scrapes == 1 and merged["scrapes"].value > 1:
        scrapes, window = int(merged["scrapes"].value), merged["scrapes"].window
    return Subject(name, kind, engine, version, model, merged, facts, scrapes, window)


def _resolved(facts: Iterable[Fact]) -> dict[str, Fact]:
    """The most trusted facts, with the engine's version defaults filled in last."""
    held = facts_module.best(facts)
    engine, version = facts_module.text(held.get("engine")), facts_module.text(held.get("engine_version"))
    seen = any(f.source == "launch" or (f.source in ("server_info", "log") and f.id in _FLAGS) for f in held.values())
    return {**facts_module.best(default_facts(engine, version, launch_seen=seen)), **held} if engine else held


def _combined(signals: Mapping[str, Value], course: tuple[ticks.Tick, ...]) -> dict[str, Value]:
    """Signals that need configuration and load together."""
    out: dict[str, float | None] = {}

    def get(name: str) -> float | None:
        return signals[name].value if name in signals else None

    adapters, slots = get("lora_adapters"), get("lora_slots")
    if adapters and slots and "lora_overflow" not in signals:
        out["lora_overflow"] = adapters / slots
    speed, busy, prompts = get("generation_tps"), get("requests_running"), get("prompt_tps")
    if speed is not None and busy and (prompts or 0.0) < 10:
        out["decode_tps_per_request"] = speed / busy
    captured, running = get("config_graph_max_batch"), get("requests_running_max")
    if captured and running is not None:
        out["running_over_graph_max"] = running / captured
        out["graph_cliff_ratio"] = _cliff(course, captured)
    logged, counted = get("prefix_hit_log"), get("prefix_hit_ratio")
    if logged is not None and counted is not None:
        out["hit_log_gap"] = abs(logged - counted)
    budget, length = get("config_chunk_budget"), get("prompt_len_mean")
    if budget and budget > 0 and length:
        out["prompt_over_budget"] = length / budget
    cap = get("config_max_num_seqs")
    if cap and running is not None:
        out["running_over_cap"] = running / cap / max(1.0, get("ranks") or 1.0)
    block, prefix = get("config_kv_block_size") or get("log_block_size"), get("shared_prefix_tokens")
    if block and prefix:
        out["prefix_over_block"] = prefix / block
    clients_in_flight, waiting = get("client_concurrency"), get("requests_waiting")
    inside = (waiting or 0.0) + (get("requests_running") or 0.0)
    if clients_in_flight and waiting is not None and inside:
        out["client_over_server"] = clients_in_flight / inside
    return {k: Value(v, "metrics") for k, v in out.items() if v is not None}


def _cliff(course: tuple[ticks.Tick, ...], captured: float) -> float | None:
    """Throughput per request above the captured batch over just below it."""
    known = [(t.running, t.generation / t.running) for t in course if t.running and t.generation is not None]
    above = [v for r, v in known if r > captured]
    below = [v for r, v in known if 0.5 * captured <= r <= captured]
    if not above or not below or not sum(below):
        return None
    return (sum(above) / len(above)) / (sum(below) / len(below))


def _ttft_course(target: TargetSeries) -> dict[str, Value]:
    """TTFT of the first interval with requests over the mean of the later ones."""
    means = []
    for span in target.intervals if len(target.scrapes) > 2 else ():
        hist = target.histogram("ttft", span)
        if hist and hist.count > 0:
            means.append(hist.total / hist.count)
    first = target.histogram("ttft") if len(target.scrapes) == 1 else None
    if first is not None or len(means) < 2:
        return {}
    later = sum(means[1:]) / len(means[1:])
    return {"ttft_drop_ratio": Value(means[0] / later, "metrics", target.window)} if later > 0 else {}


def _hit_course(target: TargetSeries) -> dict[str, Value]:
    """Prefix hit ratio of the last interval over that of the first; absent without two intervals with lookups."""
    hits, queries = dict(target.increases("prefix_hits")), dict(target.increases("prefix_queries"))
    ratios = [hits[i] / queries[i] for i in target.intervals if i in hits and queries.get(i)]
    if len(ratios) < 2 or ratios[0] <= 0.1:
        return {}
    return {"prefix_hit_course": Value(ratios[-1] / ratios[0], "metrics", target.window)}


def _loose_runs(observations: Observations, taken: set[str], measured: bool) -> tuple[Subject, ...]:
    """Logs, launch files and benchmarks without scrapes: one subject per engine and role."""
    loose = sorted(files.names(observations) - taken)
    groups: dict[tuple[str, str], list[str]] = {}
    for name in loose:
        role = files.stem(name) if files.stem(name) in ("prefill", "decode") else ""
        groups.setdefault((files.engine(observations, name), role), []).append(name)
    known = [k for k in groups if k[0]]
    for key in [k for k in groups if not k[0] and not k[1]]:
        if len(known) >= 1:  # a client file, a remark or a host tool belongs to the engine beside it
            groups[known[0]] += groups.pop(key)
    return tuple(_run(observations, files.label(names), set(names)) for names in groups.values() if names)


def _run(observations: Observations, name: str, runs: set[str], shared: tuple[Fact, ...] = ()) -> Subject:
    facts = _resolved((*shared, *(f for f in observations.facts if f.run in runs)))
    stats = [s for s in observations.stats if s.run in runs]
    course = ticks.from_log(stats)
    signals = {
        **logsignals.log_signals(stats, (e for e in observations.events if e.run in runs), facts),
        **ticks.gauge_signals(course, "log"),
        **ticks.shape_signals(course, "log"),
        **fleet.log_rank_signals(stats),
        **_rank_share(stats, facts),
    }
    return _finish(observations, name, "run", signals, facts, course)


def _rank_share(stats: list[LogStat], facts: dict[str, Fact]) -> dict[str, Value]:
    """Data-parallel engines in the log over those configured, where several API servers split the lines."""
    ranks = {s.rank for s in stats if s.kind == "vllm" and s.rank}
    engines, servers = facts_module.number(facts.get("dp")), facts_module.number(facts.get("api_server_count"))
    if not ranks or not engines or not servers or servers < 2:
        return {}
    return {"log_rank_share": Value(len(ranks) / engines, "log")}


def _fleet(
    observations: Observations, found: tuple[TargetSeries, ...], measured: tuple[Subject, ...]
) -> tuple[Subject, ...]:
    """Signals across several targets: replicas of one model and role, and views that disagree."""
    if len(found) < 2:
        return ()
    by_name = {s.name: s.signals for s in measured}
    out = []
    groups: dict[tuple[str, str], list[TargetSeries]] = {}
    for target in found:
        if target.engine in ("vllm", "sglang"):
            groups.setdefault(
                (target.model, files.stem(target.name) if files.stem(target.name) in files.ROLE_STEMS else ""), []
            ).append(target)
    views = fleet.view_signals(found)
    for (model, role), members in groups.items():
        signals = fleet.replica_signals(members, by_name)
        odd = courses.unlike_peers({t.name: by_name[t.name] for t in members})
        if odd:
            signals["outlier_replicas"] = Value(float(len(odd)), ", ".join(odd))
        if signals:
            first = next(s for s in measured if s.name == members[0].name)
            name = f"{model or role or 'fleet'} x {len(members)}"
            client = clients.client_signals(dict(first.facts), observations.remarks, observations.benches)
            out.append(
                Subject(name, "fleet", first.engine, first.version, model, {**client, **signals, **views}, first.facts)
            )
    if views and not out:
        out.append(Subject("deployment", "fleet", "", "", "", views, {}))
    return tuple(out)


def _compared(observations: Observations, names: tuple[str, ...]) -> tuple[tuple[Subject, ...], compare.Comparison]:
    shared_facts = tuple(f for f in observations.facts if not compare.belongs(f.run, names))
    runs = []
    for name in names:
        own = {r for r in files.names(observations) if compare.belongs(r, names) == name}
        runs.append(_run(observations, name, own, shared_facts))
    comparison = compare.compare(observations, names, facts_module.best(shared_facts))
    first = runs[0]
    signals = {
        **compare.signals(comparison),
        **clients.client_signals(dict(first.facts), observations.remarks, observations.benches),
    }
    signals |= _across_runs(runs)
    facts = {i: f for i, f in first.facts.items() if all(r.facts.get(i) and r.facts[i].value == f.value for r in runs)}
    signals |= facts_module.config_signals(facts)
    subject = Subject(" / ".join(names), "comparison", first.engine, first.version, first.model, signals, facts)
    return (*runs, subject), comparison


def _across_runs(runs: list[Subject]) -> dict[str, Value]:
    """What separates the runs beyond their flags: adapters against slots."""
    overflow = [r.signals["lora_overflow"].value for r in runs if "lora_overflow" in r.signals]
    if not overflow:
        return {}
    return {
        "lora_overflow_max": Value(max(overflow), "configuration"),
        "lora_overflow_min": Value(min(overflow), "configuration"),
    }
