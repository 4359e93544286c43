"""The command line as a user meets it: exit status, one line per problem, documents, files, pipes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import diagnoses
import pytest
from jsonschema import Draft202012Validator

from diagnose import cli, walk
from diagnose.cli import inputs, now, output
from diagnose.errors import SourceError, UsageError
from diagnose.guide import all_entries
from diagnose.model import Diagnosis, Observations, Scrape
from diagnose.report import json_
from diagnose.symptoms import all_symptoms

Run = Callable[..., tuple[int, str, str]]
PAGE = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in this process: status, stdout, stderr."""

    def call(*args: str) -> tuple[int, str, str]:
        status = cli.run(args)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def diagnosed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Diagnosis], str]:
    """Makes every walk end in a given diagnosis; gives a target to name on the command line."""
    page = tmp_path / "page.prom"
    page.write_text(PAGE, encoding="utf-8")

    def use(diagnosis: Diagnosis) -> str:
        monkeypatch.setattr(inputs, "gather", lambda *_: Observations())
        monkeypatch.setattr(walk, "diagnose", lambda *_: diagnosis)
        return str(page)

    return use


def one_line(text: str) -> str:
    """The only line of stderr."""
    lines = text.splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in text
    return lines[0]


@pytest.mark.parametrize(
    ("name", "status"),
    [("healthy", 0), ("storm", 1), ("fault", 1), ("cannot_tell", 3), ("fleet", 1), ("comparison", 1)],
)
@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_now_prints_the_document_and_ends_with_the_status_of_the_verdict(
    name: str, status: int, form: str, run: Run, diagnosed: Callable[[Diagnosis], str]
) -> None:
    target = diagnosed(diagnoses.ALL[name]())
    got, out, err = run("now", target, "--format", form)
    assert (got, err) == (status, "")
    assert out.strip()
    if form == "json":
        Draft202012Validator(json_.schema()).validate(json.loads(out))


@pytest.mark.parametrize(
    "args",
    [
        ("nwo",), ("now",), ("now", "no-such-folder/bundle"), ("now", "ftp://host/metrics"),
        ("now", "--format", "yaml", "x"), ("now", "--window", "2y", "localhost:1"),
        ("now", "--window", "-1s", "localhost:1"), ("now", "--bogus"),
        ("now", "--window", "nan", "localhost:1"),
        ("now", "--config", "no-such.toml", "localhost:1"),
        ("now", "--log", "no-such.log"), ("now", "--launch", "."), ("now", "--header", "broken", "localhost:1"),
        ("now", "--header", "A: b\r\nC: d", "localhost:1"), ("now", "--basic-auth", "nocolon", "localhost:1"),
        ("now", "--bearer-token-file", "no-such", "localhost:1"), ("now", "--ca-file", "no-such", "localhost:1"),
        ("now", "--timeout", "0", "localhost:1"), ("now", "-o", "no-such-folder/x", "localhost:1"),
        ("now", "-o", ".", "localhost:1"), ("explain",), ("explain", "preemtion_storm"), ("coverage", "--unknown"),
        ("completion", "tcsh"), ("demo", "no-such-scenario"), ("capture",), ("capture", "localhost:1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_is_one_line_on_stderr_and_status_2(args: tuple[str, ...], run: Run) -> None:
    status, out, err = run(*args)
    assert (status, out) == (2, "")
    assert one_line(err).startswith("diagnose: ")


def test_near_misses_are_suggested(run: Run) -> None:
    assert "Did you mean now?" in run("nwo")[2]
    assert "preemption_storm" in run("explain", "preemtion_storm")[2]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_what_cannot_be_observed_is_a_line_and_a_cannot_tell_document(
    form: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Observations:
        raise SourceError("connection refused", where="http://localhost:1/metrics", hint="Is the engine up?")

    monkeypatch.setattr(inputs, "gather", refuse)
    status, out, err = run("now", "localhost:1", "--format", form)
    assert status == 3
    assert one_line(err) == "diagnose: http://localhost:1/metrics: connection refused. Is the engine up?"
    assert bool(out) == (form != "text")
    if form == "json":
        document = json.loads(out)
        Draft202012Validator(json_.schema()).validate(document)
        assert document["verdict"] == "cannot-tell"
        assert document["missing"][0]["how"] == "Is the engine up?"


def test_an_unforeseen_exception_is_a_line_and_a_document_unless_debugging(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Observations:
        raise RuntimeError("boom\nsecond line")

    monkeypatch.setattr(inputs, "gather", fail)
    status, out, err = run("now", "localhost:1", "--format", "json")
    assert status == 3
    assert json.loads(out)["verdict"] == "cannot-tell"
    assert "internal error: RuntimeError: boom second line" in one_line(err)
    monkeypatch.setenv("DIAGNOSE_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run("now", "localhost:1")


def test_an_unforeseen_exception_of_another_command_is_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from diagnose.cli import explain

    def fail(_: str) -> list[str]:
        raise KeyError("x")

    monkeypatch.setattr(explain, "explain", fail)
    status, out, err = run("explain", "x")
    assert (status, out) == (3, "")
    assert "internal error: KeyError" in one_line(err)


def test_output_file_appears_whole_and_stdout_stays_empty(
    run: Run, diagnosed: Callable[[Diagnosis], str], tmp_path: Path
) -> None:
    target = diagnosed(diagnoses.storm())
    place = tmp_path / "out" / "report.json"
    place.parent.mkdir()
    place.write_text("old", encoding="utf-8")
    assert run("now", target, "--format", "json", "-o", str(place)) == (1, "", "")
    assert json.loads(place.read_text(encoding="utf-8"))["verdict"] == "act"
    assert [p.name for p in place.parent.iterdir()] == ["report.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report.txt"
    place.write_text("old", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="No space left"):
        output.emit("new", str(place))
    assert place.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.txt"]


def test_output_can_go_to_a_device(run: Run, diagnosed: Callable[[Diagnosis], str]) -> None:
    assert run("now", diagnosed(diagnoses.healthy()), "-o", os.devnull) == (0, "", "")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    ("target", "urls", "paths"),
    [
        ("localhost:8000", 1, 0), ("10.0.0.1:30000/metrics", 1, 0), ("[::1]:8000", 1, 0), ("https://h/x", 1, 0),
        ("-", 0, 1), ("vllm-0.svc.cluster.local:8000", 1, 0), ("localhost", 1, 0),
    ],
)  # fmt: skip
def test_targets_are_addresses_or_paths(target: str, urls: int, paths: int) -> None:
    found = inputs.split((target, target))
    assert (len(found[0]), len(found[1])) == (urls, paths)


def test_an_existing_path_wins_over_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("host:80").write_text(PAGE, encoding="utf-8")
    assert inputs.split(("host:80",)) == ((), ("host:80",))


def _alone(target: str, when: float, start: float) -> Observations:
    samples = {"process_start_time_seconds": [({}, start)]}
    return Observations(scrapes=(Scrape(target, when, samples),))


def test_saved_pages_of_one_process_are_scrapes_of_one_engine() -> None:
    joined = sum(inputs._one_engine([_alone("b", 30.0, 1.0), _alone("a", 15.0, 1.0)]), Observations())
    assert [(s.target, s.time) for s in joined.scrapes] == [("a", 15.0), ("a", 30.0)]
    assert joined.notes


def test_saved_pages_without_telling_times_keep_the_given_order_15_s_apart() -> None:
    joined = sum(inputs._one_engine([_alone("b", 9.0, 1.0), _alone("a", 9.0, 1.0)]), Observations())
    assert [s.time for s in joined.scrapes] == [9.0, 24.0]
    assert "15 s apart" in joined.notes[0]


def test_saved_pages_of_two_processes_stay_two_engines() -> None:
    joined = sum(inputs._one_engine([_alone("a", 15.0, 1.0), _alone("b", 30.0, 2.0)]), Observations())
    assert [s.target for s in joined.scrapes] == ["a", "b"]


def test_evidence_files_describe_the_server_unless_they_name_a_role(tmp_path: Path) -> None:
    for name in ("engine.log", "prefill-1.log"):
        (tmp_path / name).write_text("nothing to see\n", encoding="utf-8")
    assert inputs._run(str(tmp_path / "engine.log"), False) == "server"
    assert inputs._run(str(tmp_path / "prefill-1.log"), False) == "prefill-1"
    assert inputs._run(str(tmp_path / "engine.log"), True) == "engine"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples_that_fits_100_columns(name: str, run: Run) -> None:
    status, out, err = run(name, "--help")
    assert (status, err) == (0, "")
    assert "Examples" in out
    assert f"diagnose {name}" in out
    assert max(map(len, out.splitlines())) <= 100


def test_the_help_page_fits_80_columns(run: Run) -> None:
    status, out, _ = run("--help")
    assert status == 0
    assert all(name in out for name in cli.COMMANDS)
    assert max(map(len, out.splitlines())) <= 80


def test_version(run: Run) -> None:
    from diagnose import __version__

    assert run("--version") == (0, f"diagnose {__version__}\n", "")


def test_every_symptom_move_signal_alert_and_entry_is_explained(run: Run) -> None:
    from diagnose.cli.explain import explain
    from diagnose.engines.catalog import SIGNALS

    moves = [f"{e.id}/{m.id}" for e in all_entries().values() for m in e.moves]
    alerts = [s.alert for s in all_symptoms().values() if s.alert]
    for ident in [*all_symptoms(), *all_entries(), *moves, *alerts, *SIGNALS]:
        lines = explain(ident)
        assert len(lines) > 2, ident
        assert max(map(len, lines)) <= 80 or "_" * 3 or ident
    assert run("explain", "--list")[0] == 0


def test_explain_names_what_a_symptom_rests_on(run: Run) -> None:
    status, out, _ = run("explain", "LLMPreemptionStorm")
    assert status == 0
    assert out.startswith("preemption_storm: ")
    assert "2.1/fewer-sequences" in out


def test_the_guide_lists_the_twelve_in_order(run: Run) -> None:
    status, out, _ = run("guide")
    assert status == 0
    assert re.findall(r"^  (\d\.\d)", out, re.MULTILINE) == list(all_entries())


def test_the_guide_shows_flags_of_one_engine(run: Run) -> None:
    _, both, _ = run("guide", "--moves")
    _, one, _ = run("guide", "--moves", "--engine", "sglang")
    assert "vLLM" in both and "SGLang" in both
    assert "SGLang" in one and not re.search(r"^ +vLLM[^a-z]*:", one, re.MULTILINE)


def test_coverage_without_target_lists_what_is_read(run: Run) -> None:
    status, out, _ = run("coverage")
    assert status == 0
    assert "KV memory" in out and "vllm:kv_cache_usage_perc" in out
    assert json.loads(run("coverage", "--format", "json")[1])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, run: Run) -> None:
    status, out, _ = run("completion", shell)
    assert status == 0
    assert "_DIAGNOSE_COMPLETE" in out


def _spawn(*args: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "diagnose", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )


def test_completion_offers_the_commands() -> None:
    child = _spawn(_DIAGNOSE_COMPLETE="bash_complete", COMP_WORDS="diagnose ex", COMP_CWORD="1")
    out, _ = child.communicate(timeout=60)
    assert b"explain" in out


def test_a_closed_pipe_is_no_error() -> None:
    child = _spawn("explain", "--list")
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    err = child.stderr.read()
    assert child.wait(timeout=60) in (0, cli.EXIT_PIPE)
    assert err == b""


def test_ctrl_c_is_one_line() -> None:
    child = _spawn("now", "-")
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == b""
    assert b"Traceback" not in err
    assert child.returncode in (cli.EXIT_INTERRUPTED, -signal.SIGINT)


def test_text_survives_a_terminal_without_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ascii:
        encoding = "ascii"

    monkeypatch.setattr(output.sys, "stdout", Ascii())
    assert output.encodable("vLLM · r0 … é") == "vLLM - r0 ~ ?"


def test_now_needs_no_target_when_evidence_is_given(monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("nothing of an engine\n", encoding="utf-8")
    monkeypatch.setattr(walk, "diagnose", lambda *_: diagnoses.cannot_tell())
    assert run("now", "--log", str(log))[0] == 3


def test_unknown_settings_are_status_2_without_a_document(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "t.toml"
    config.write_text('[thresholds]\n"no_such.thing" = 1\n', encoding="utf-8")
    page = tmp_path / "p.prom"
    page.write_text(PAGE, encoding="utf-8")
    status, out, err = run("now", str(page), "--config", str(config), "--format", "json")
    assert (status, out) == (2, "")
    assert "no_such.thing" in one_line(err)


def test_now_module_reports_every_verdict_with_a_status() -> None:
    assert set(output.EXIT_OF) == {"healthy", "act", "engine-fault", "cannot-tell"}
    assert now.command.name == "now"


BAD = {
    "page.prom": b"<html><body>502 Bad Gateway</body></html>",
    "empty.prom": b"",
    "truncated.prom": b"vllm:num_requests_running{mod",
    "random.bin": bytes(range(256)) * 12,
    "broken.tar.gz": b"\x1f\x8b\x08" + bytes(range(256)),
    "other.prom": b'node_cpu_seconds_total{cpu="0"} 5\n',
    "nan.prom": b"vllm:num_requests_running NaN\nvllm:kv_cache_usage_perc NaN\n",
    "answer.json": b'{"status":"success"}',
    "hello.txt": b"hello world\n",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_status_3_with_a_document_and_at_most_one_line(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(BAD[name])
    status, out, err = run("now", str(tmp_path / name), "--format", "json")
    assert status == 3
    document = json.loads(out)
    Draft202012Validator(json_.schema()).validate(document)
    assert document["verdict"] == "cannot-tell"
    assert document["missing"]
    assert len(err.splitlines()) <= 1


def test_an_empty_bundle_says_what_a_bundle_holds(run: Run, tmp_path: Path) -> None:
    status, out, err = run("now", str(tmp_path))
    assert (status, out) == (3, "")
    assert "scrapes/<target>" in one_line(err)


def test_a_refused_connection_is_one_line_within_the_deadline(run: Run) -> None:
    status, out, err = run("now", "127.0.0.1:1", "--window", "0")
    assert (status, out) == (3, "")
    assert "127.0.0.1:1" in one_line(err)


def test_a_live_engine_is_diagnosed_captured_and_read_back(run: Run, tmp_path: Path) -> None:
    from diagnose.replay import serve

    bundle = tmp_path / "storm.tar.gz"
    with serve("storm", speed=50.0) as server:
        status, out, err = run("now", server.url, "127.0.0.1:1", "--window", "0.5", "--format", "json")
        assert (status, err) == (1, "")
        live = json.loads(out)
        assert live["next"]["id"] == "2.1"
        assert any("127.0.0.1:1" in m["what"] for m in live["missing"])
        status, out, err = run("capture", server.url, "-o", str(bundle), "--window", "0.5")
        assert (status, out) == (0, "")
        assert str(bundle) in one_line(err)
    status, out, _ = run("now", str(bundle), "--format", "json")
    assert (status, json.loads(out)["next"]["id"]) == (1, "2.1")
    assert run("capture", "127.0.0.1:1", "-o", str(tmp_path / "none.tar.gz"), "--window", "0")[0] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["storm.tar.gz"]


def test_coverage_of_an_engine_lists_measured_and_missing(run: Run, tmp_path: Path) -> None:
    from diagnose.replay import scenario_path

    storm = str(scenario_path("storm"))
    status, out, _ = run("coverage", storm)
    assert status == 0
    assert "KV cache usage, peak" in out and "missing" in out
    cells = json.loads(run("coverage", storm, "--format", "json")[1])[0]["coverage"]
    assert any(c["value"] is not None for c in cells) and any(c["value"] is None and c["how"] for c in cells)
    page = tmp_path / "p.prom"
    page.write_text(PAGE + "vllm:brand_new_thing_total 3\nnode_load1 2\nsglang_token_usage 0.5\n", encoding="utf-8")
    status, out, _ = run("coverage", str(page), "--unknown")
    assert (status, out) == (0, "vllm:brand_new_thing_total  1 series\n")


@pytest.mark.parametrize(("scenario", "status"), [("storm", 1), ("healthy", 0), ("hung", 1)])
def test_the_demo_ends_with_the_status_of_its_verdict(scenario: str, status: int, run: Run) -> None:
    got, out, err = run("demo", scenario, "--speed", "50")
    assert got == status
    assert "NEXT" in out
    assert scenario in err


def test_the_demo_lists_its_scenarios(run: Run) -> None:
    status, out, _ = run("demo", "--list")
    assert status == 0
    assert re.search(r"^storm +\S", out, re.MULTILINE)


def test_hostile_arguments_are_one_line(run: Run, tmp_path: Path) -> None:
    deep, toml = tmp_path / "deep.json", tmp_path / "deep.toml"
    deep.write_text("[" * 200_000)
    toml.write_text("a=" + "[" * 5000)
    page = tmp_path / "page.prom"
    page.write_text(PAGE)
    for args in (
        ("now", "", "--window", "0s"),
        ("now", "--server-info", str(deep)),
        ("size", "--gpu-memory", "80GiB", "--model-config", str(deep)),
        ("now", str(page), "--config", str(toml)),
        ("now", str(page), "-o", "x" * 300),
        ("capture", "127.0.0.1:1", "-o", "x" * 300),
    ):
        status, _, err = run(*args)
        assert status == 2, args
        assert "internal" not in one_line(err)
