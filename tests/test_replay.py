"""The replay: every scenario over HTTP, in the middle of its load, with counters that never fall."""

from __future__ import annotations

import gzip
import math
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from diagnose.errors import SourceError, UsageError
from diagnose.replay import scenario_path, scenarios, serve
from diagnose.sources.endpoint import HttpOptions, observe
from diagnose.sources.exposition import parse, sample_type
from diagnose.sources.recording import load

NAMES = list(scenarios())


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def total(text: str, name: str) -> float:
    return sum(value for _, value, _ in parse(text).samples.get(name, []))


def make_bundle(folder: Path, values: list[float]) -> Path:
    scrapes = folder / "scrapes" / "r0"
    scrapes.mkdir(parents=True)
    for n, value in enumerate(values):
        text = (
            "# TYPE vllm:generation_tokens_total counter\n# TYPE vllm:num_requests_running gauge\n"
            f'vllm:generation_tokens_total{{model_name="m"}} {value}\n'
            f'vllm:num_requests_running{{model_name="m"}} {n}.5\n'
            f"process_start_time_seconds 900.0\n"
        )
        (scrapes / f"{1000 + 10 * n}.prom.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_replays_over_http(name: str) -> None:
    with serve(scenario_path(name), speed=50.0) as server:
        seen = observe([server.url], window=0.3, options=HttpOptions(), keep=None)
    assert seen.scrapes[-1].time - seen.scrapes[0].time == pytest.approx(15.0, rel=0.5)
    assert not seen.scrapes[0].problems


@pytest.mark.parametrize("name", NAMES)
def test_counters_never_fall_and_histograms_stay_histograms(name: str) -> None:
    (recording,) = load(scenario_path(name)).targets
    span = recording.end - recording.begin
    assert span > 15
    last: dict[object, float] = {}
    for step in range(12):
        found = parse(recording.at(step * span / 5))
        assert not found.problems
        now: dict[object, float] = {}
        for metric, series in found.samples.items():
            if sample_type(found.types, metric) not in ("counter", "histogram"):
                continue
            edges: dict[object, list[tuple[float, float]]] = {}
            for labels, value, _ in series:
                key = (metric, frozenset(labels.items()))
                assert value >= last.get(key, 0.0)
                now[key] = value
                rest = frozenset((k, v) for k, v in labels.items() if k != "le")
                edges.setdefault(rest, []).append((float(labels.get("le", "nan")), value))
            if metric.endswith("_bucket"):
                for buckets in edges.values():
                    assert [v for _, v in sorted(buckets)] == sorted(v for _, v in buckets)
        assert set(last) <= set(now)
        last = now


def test_first_scenario_has_load_from_the_first_scrape() -> None:
    clock = Clock()
    with serve("storm", clock=clock) as server:
        first = get(f"{server.url}/metrics")
        clock.now = 15.0
        second = get(f"{server.url}/metrics")
        assert get(f"{server.url}/version") == '{"version":"0.32.0"}\n'
        assert '"id": "tiny"' in get(f"{server.url}/v1/models")
        assert get(f"{server.url}/health") == ""
        with pytest.raises(urllib.error.HTTPError):
            get(f"{server.url}/nowhere")
    assert total(second, "vllm:num_preemptions_total") > total(first, "vllm:num_preemptions_total")
    assert total(second, "vllm:generation_tokens_total") > total(first, "vllm:generation_tokens_total")
    assert total(first, "vllm:num_requests_waiting") > 0


def test_time_starts_with_the_first_scrape_and_repeats_with_carry(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "b", [0.0, 0.0, 100.0, 200.0, 300.0, 300.0])
    clock = Clock()
    clock.now = 77.0
    with serve(bundle, clock=clock) as server:
        values = []
        for now in (77.0, 77.0 + 5, 77.0 + 21, 77.0 + 42):
            clock.now = now
            values.append(total(get(f"{server.url}/r0/metrics"), "vllm:generation_tokens_total"))
    # The load lasts from 1010 to 1040; the replay starts 9 s into it and gains 210 tokens per turn of 21 s.
    assert values == [90.0, 140.0, 300.0, 510.0]


def test_speed_keeps_the_rates_of_the_recording(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "b", [0.0, 100.0, 200.0, 300.0])
    clock = Clock()
    with serve(bundle, speed=10.0, clock=clock) as server:
        first = parse(get(f"{server.url}/metrics"))
        clock.now = 1.0
        second = parse(get(f"{server.url}/metrics"))
    (_, before, then), (_, after, now) = (f.samples["vllm:generation_tokens_total"][0] for f in (first, second))
    assert then is not None
    assert now is not None
    assert (after - before) / (now - then) == pytest.approx(10.0, rel=0.05)
    assert second.samples["process_start_time_seconds"][0][1] == 900.0


def test_points_in_time_move_with_the_clock(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "b", [0.0, 100.0, 200.0, 300.0])
    with serve(bundle) as server:
        observed = observe([server.url], window=0, options=HttpOptions(), keep=None)
    (scrape,) = observed.scrapes
    age = scrape.time - scrape.samples["process_start_time_seconds"][0][1]
    assert age == pytest.approx(100 + 9, abs=5)


def test_archives_and_several_targets(tmp_path: Path) -> None:
    make_bundle(tmp_path / "b", [0.0, 100.0])
    (tmp_path / "b" / "scrapes" / "r1").mkdir()
    odd = 'vllm:num_requests_running 7\nodd NaN\nx{a="b"} +Inf\n'
    (tmp_path / "b" / "scrapes" / "r1" / "1000.prom").write_text(odd)
    (tmp_path / "b" / "server_info").mkdir()
    (tmp_path / "b" / "server_info" / "r1.json").write_text('{"/version": {"version": "1"}}')
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "b", arcname="b")
    with serve(tmp_path / "b.tar.gz") as server:
        text = get(f"{server.urls['r1']}/metrics")
        assert get(f"{server.urls['r1']}/version") == '{"version": "1"}'
        assert total(get(f"{server.urls['r0']}/metrics"), "vllm:num_requests_running") == 0.5
    assert total(text, "vllm:num_requests_running") == 7.0
    assert math.isnan(total(text, "odd"))
    assert total(text, "x") == math.inf


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "junk.tar.gz").write_bytes(b"junk")
    with pytest.raises(SourceError, match="no scrapes"):
        serve(tmp_path / "empty")
    with pytest.raises(SourceError, match="not a bundle"):
        serve(tmp_path / "junk.tar.gz")
    with pytest.raises(UsageError, match="no such"):
        serve(tmp_path / "none")
    with pytest.raises(UsageError, match="storm"):
        scenario_path("strom")
    with pytest.raises(UsageError, match="speed"):
        serve(scenario_path("storm"), speed=0)
    with serve(scenario_path("storm")) as server, pytest.raises(UsageError, match="port"):
        serve(scenario_path("storm"), port=int(server.url.rpartition(":")[2]))


def test_scenarios_are_titled() -> None:
    assert NAMES[0] == "storm"
    assert len(NAMES) == 10
    assert all(len(title) > 20 for title in scenarios().values())
