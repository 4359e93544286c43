"""Simulated engine series: seeded, of both engines, in old and new spellings, with ranks, copies, resets and bursts."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from diagnose.engines.catalog import METRICS
from diagnose.model import Labels, Scrape, Series

STEP = 5.0
POINTS = 61
EDGES = {
    "ttft": (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
    "itl": (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 1.0),
    "e2e": (0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    "queue_time": (0.01, 0.1, 0.3, 0.5, 1.0, 5.0, 20.0),
}
_REASONS = {"stop": 0.7, "length": 0.2, "abort": 0.06, "error": 0.04}


@dataclass
class Engine:
    """One simulated engine rank: its load, drawn once, and its counters so far."""

    rng: random.Random
    kind: str
    labels: Labels
    old: bool
    flat: bool
    jitter: float
    totals: dict[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = self.rng.uniform
        self.running, self.waiting = draw(0, 60), self.rng.choice((0.0, draw(0, 4), draw(4, 60)))
        self.kv = self.rng.choice((draw(0.02, 0.5), draw(0.8, 0.999)))
        self.finish = draw(0.5, 8)
        self.preempted = self.rng.choice((0.0, draw(0, 0.1), draw(0.2, 3))) * self.finish
        self.prompt, self.generated, self.hits = draw(200, 4000), draw(50, 3000), draw(0, 0.95)
        self.drafted, self.accepted = draw(100, 900), draw(0.05, 0.9)
        self.slow = {name: self.rng.choice(edges[1:-1]) * draw(0.5, 1.0) for name, edges in EDGES.items()}

    def restart(self) -> None:
        """All counters start again from zero."""
        self.totals.clear()

    def tick(self, samples: dict[str, Series], seconds: float) -> None:
        """Adds this rank's series after ``seconds`` more of load."""
        self._gauges(samples)
        self._counters(samples, seconds)
        if self.kind == "vllm":
            self._finished(samples, seconds)
        for name, edges in EDGES.items():
            known = tuple(e for e in edges if e != 0.3 or self.kind == "vllm")  # no edge of SGLang
            self._histogram(samples, name, known, seconds)

    def _gauges(self, samples: dict[str, Series]) -> None:
        self._put(samples, "running", float(round(self._near(self.running))))
        self._put(samples, "waiting", float(round(self._near(self.waiting))))
        self._put(samples, "kv_usage", min(1.0, self._near(self.kv)))

    def _counters(self, samples: dict[str, Series], seconds: float) -> None:
        rates = {
            "preemptions": self.preempted, "prompt_tokens": self.prompt, "generation_tokens": self.generated,
        }  # fmt: skip
        rates["prefix_hits"] = self.prompt * self.hits
        if self.kind == "vllm":
            rates |= {"prefix_queries": self.prompt, "spec_drafted": self.drafted, "spec_drafts": self.drafted / 3}
            rates["spec_accepted"] = self.drafted * self.accepted
        else:
            rates["finished"] = self.finish
        for name, rate in rates.items():
            self._put(samples, name, self._grown(name, "", self._near(rate) * seconds))

    def _finished(self, samples: dict[str, Series], seconds: float) -> None:
        for reason, share in _REASONS.items():
            value = self._grown("finished", reason, self._near(self.finish * share) * seconds)
            name = self._name("finished")
            samples.setdefault(name, []).append(({**self.labels, "finished_reason": reason}, value))

    def _histogram(self, samples: dict[str, Series], name: str, edges: tuple[float, ...], seconds: float) -> None:
        count = max(1, round(self._near(self.finish * 4) * seconds))
        drawn = [self.rng.random() for _ in range(min(count, 40))]
        if self.jitter < 0.1:  # the same spread in every interval, so that a lost one changes no quantile
            drawn = [(n + 0.5) / 40 for n in range(40)]
        seen = [-self.slow[name] * math.log1p(-share) for share in drawn]
        base = self._name(name)
        for edge in (*edges, float("inf")):
            le = "+Inf" if edge == float("inf") else repr(edge)
            value = self._grown(name, le, float(sum(v <= edge for v in seen)))
            samples.setdefault(f"{base}_bucket", []).append(({**self.labels, "le": le}, value))
        samples.setdefault(f"{base}_sum", []).append((self.labels, self._grown(name, "sum", sum(seen))))
        samples.setdefault(f"{base}_count", []).append((self.labels, self._grown(name, "count", float(len(seen)))))

    def _put(self, samples: dict[str, Series], metric: str, value: float) -> None:
        labels = dict(self.labels)
        if metric == "prefix_hits" and self.kind == "sglang" and not self.old:
            labels["cache_source"] = "device"
        samples.setdefault(self._name(metric), []).append((labels, value))

    def _name(self, metric: str) -> str:
        spellings = METRICS[metric].spellings[self.kind]
        name = spellings[-1 if self.old else 0].name
        return name.replace(":", "_", 1) if self.flat else name

    def _grown(self, name: str, part: str, by: float) -> float:
        self.totals[name, part] = self.totals.get((name, part), 0.0) + by
        return self.totals[name, part]

    def _near(self, value: float) -> float:
        return value * self.rng.uniform(1 - self.jitter, 1 + self.jitter)


def case(seed: int, name: str, end: float) -> tuple[Scrape, ...]:
    """Five minutes of scrapes of one engine up to ``end``. What it is like follows from the seed.

    Seeds take turns: one rank, two ranks, three ranks; every fourth restarts once; SGLang every third, with copies
    per tensor-parallel rank.
    """
    rng = random.Random(seed)
    kind = "sglang" if seed % 3 == 2 else "vllm"
    old, flat, resets = rng.random() < 0.5, rng.random() < 0.3, seed % 4 == 3
    engines = [
        Engine(rng, kind, labels, old, flat, 0.02 if resets else 0.4)
        for labels in _ranks(kind, 1 + seed // 4 % 3, name)
    ]
    restart = rng.randrange(10, POINTS - 10) if resets else -1
    out = []
    for n in range(POINTS):
        samples: dict[str, Series] = {}
        for engine in engines:
            if n == restart:
                engine.restart()
            engine.tick(samples, STEP)
        if kind == "sglang":
            samples = {k: [({**la, "tp_rank": tp}, v) for la, v in s for tp in "01"] for k, s in samples.items()}
        out.append(Scrape(name, end - (POINTS - 1 - n) * STEP, samples))
    return tuple(out)


def _ranks(kind: str, count: int, model: str) -> list[Labels]:
    label = "engine" if kind == "vllm" else "dp_rank"
    return [{"model_name": model, label: str(n)} for n in range(count)]
