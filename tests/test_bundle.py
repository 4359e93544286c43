"""Bundles as folder, archive, single file and stdin; mixed pastes; what cannot be read."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose.errors import DiagnoseError, SourceError, UsageError
from diagnose.model import Observations
from diagnose.sources import archive, text
from diagnose.sources.bundle import read_bundle, stem

LOG = (
    "(APIServer pid=38) INFO 03-11 06:16:53 [loggers.py:257] Engine 000: Avg prompt throughput: 16.0 tokens/s, Avg "
    "generation throughput: 1150.0 tokens/s, Running: 51 reqs, Waiting: 117 reqs, GPU KV cache usage: 98.6%\n"
)
METRICS = (
    "# HELP vllm:num_requests_running x\n# TYPE vllm:num_requests_running gauge\n"
    'vllm:num_requests_running{engine="0",model_name="m"} 3.0\n'
)
COMMAND = "# it is slow\nvllm serve m --max-num-seqs 64 \\\n  --enforce-eager\n"
BLOCK = (
    "============ Serving Benchmark Result ============\nSuccessful requests:   10\nMean TTFT (ms):   20.0\n"
    "==================================================\n"
)
PARTS = {
    "scrapes/r0/1795600000.5.prom.gz": gzip.compress(METRICS.encode()),
    "scrapes/r0/1795600015.5.prom": METRICS.encode(),
    "logs/vllm-0.9.2.log": LOG.encode(),
    "launch/server.txt": COMMAND.encode(),
    "bench/client.json": b'{"completed": 4, "duration": 2}',
    "server_info/GET_version.json": b'{"version": "0.9.2"}',
    "server_info/GET_health.json": b"",
    "expected.yaml": b"verdict: act\n",
    "README.md": b"words\n",
    "scrapes/r0/README.md": b"words\n",
}


def write(folder: Path, parts: dict[str, bytes] = PARTS) -> Path:
    """A folder with these files."""
    for name, data in parts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def check(seen: Observations) -> None:
    """The bundle of PARTS, however it was packed."""
    assert [(s.target, s.time) for s in seen.scrapes] == [("r0", 1795600000.5), ("r0", 1795600015.5)]
    assert [(s.run, s.kind) for s in seen.stats] == [("vllm-0.9.2", "vllm")]
    assert {("r0", "engine_version"), ("server", "max_num_seqs")} <= {(f.run, f.id) for f in seen.facts}
    assert [(b.run, b.where.rpartition("bench/")[2]) for b in seen.benches] == [("client", "client.json")]
    assert [(r.run, r.text) for r in seen.remarks] == [("server", "it is slow")]


def tar(folder: Path, path: Path, mode: str = "w:gz") -> Path:
    """The folder as an archive."""
    with tarfile.open(path, mode) as packed:  # type: ignore[call-overload]
        packed.add(folder, arcname="bundle")
    return path


def test_folder_and_archives(tmp_path: Path) -> None:
    folder = write(tmp_path / "b")
    seen = read_bundle(str(folder))
    check(seen)
    assert not seen.notes
    for name, mode in (("b.tar.gz", "w:gz"), ("b.tgz", "w:gz"), ("b.tar", "w"), ("b.tar.xz", "w:xz")):
        check(read_bundle(str(tar(folder, tmp_path / name, mode))))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as packed:
        for file, data in PARTS.items():
            packed.writestr(f"x/{file}", data)
    check(read_bundle(str(tmp_path / "b.zip")))


def test_names_of_runs() -> None:
    assert stem("vllm-0.9.2.log") == "vllm-0.9.2"
    assert stem("a/server.log.gz") == "server" and stem("1795600000.5.prom.gz") == "1795600000.5"
    assert stem(".log") == ".log" and stem("mnbt-8192.txt") == "mnbt-8192"


def test_unknown_files_get_a_note(tmp_path: Path) -> None:
    folder = write(tmp_path, {**PARTS, "picture.png": b"\x89PNG\0\0", "notes/why.txt": b"nothing to read\n"})
    notes = read_bundle(str(folder)).notes
    assert "picture.png is not text: ignored" in notes and any("why.txt" in note for note in notes)


def test_answers_describe_the_only_target(tmp_path: Path) -> None:
    several = {**PARTS, "scrapes/r1/1795600000.prom": METRICS.encode()}
    seen = read_bundle(str(write(tmp_path / "a", several)))
    assert any("several targets" in note for note in seen.notes)
    named = {"server_info/r1.json": b'{"version": "0.9.2"}', "scrapes/r1/1.prom": METRICS.encode()}
    assert {f.run for f in read_bundle(str(write(tmp_path / "b", named))).facts} == {"r1"}
    alone = {"server_info/GET_version.json": b'{"version": "0.9.2"}'}
    assert {f.run for f in read_bundle(str(write(tmp_path / "c", alone))).facts} == {""}


def test_an_empty_scrape_is_an_observation(tmp_path: Path) -> None:
    (scrape,) = read_bundle(str(write(tmp_path, {"scrapes/r0/1795600000.prom": b""}))).scrapes
    assert not scrape.samples and "empty" in scrape.problems[0]


def test_names_that_tell_an_order(tmp_path: Path) -> None:
    for place in ("", "scrapes/r0/"):
        parts = {f"{place}{name}.prom": METRICS.replace("3.0", value).encode() for name, value in
                 (("after", "2"), ("before", "1"), ("middle", "3"))}  # fmt: skip
        seen = read_bundle(str(write(tmp_path / (place or "plain"), parts)))
        assert {s.target for s in seen.scrapes} == {"r0"}
        assert [s.samples["vllm:num_requests_running"][0][1] for s in seen.scrapes] == [1, 3, 2]
        assert seen.scrapes[2].time == seen.scrapes[0].time + 30.0 and "15 s apart" in seen.notes[0]
    pods = {f"{name}.prom": METRICS.encode() for name in ("pod-a", "pod-b")}
    assert {s.target for s in read_bundle(str(write(tmp_path / "pods", pods))).scrapes} == {"pod-a", "pod-b"}


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.prom", METRICS, "scrapes"),
        ("a.txt", METRICS, "scrapes"),
        ("a.prom.gz", METRICS, "scrapes"),
        ("a.log", LOG, "stats"),
        ("a.log.gz", LOG, "stats"),
        ("a", LOG, "stats"),
        ("a.txt", COMMAND, "facts"),
        ("a.yaml", "containers:\n- args: ['--model', 'm']\n", "facts"),
        ("a.txt", "LLM(model='m', max_num_seqs=3)\n", "facts"),
        ("a.json", '{"request_throughput": 3.0}', "benches"),
        ("a.txt", BLOCK, "benches"),
        ("a.json", '{"version": "0.9.1"}', "facts"),
        ("a.json", '{"log": "' + LOG.strip() + '"}\n{"log": "x"}\n', "stats"),
        ("a.csv", "index, utilization.gpu [%]\n0, 82 %\n", "stats"),
        ("a.csv", "config,output tok/s\na,100\nb,200\n", "benches"),
    ],
)
def test_single_files(tmp_path: Path, name: str, data: str, kind: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(data.encode()) if name.endswith(".gz") else data.encode())
    seen = read_bundle(str(path))
    assert getattr(seen, kind), seen
    kinds = ("scrapes", "stats", "benches")
    assert not any(getattr(seen, other) for other in kinds if other != kind)


def test_single_files_have_plain_names(tmp_path: Path) -> None:
    (tmp_path / "storm.prom").write_text(METRICS)
    (tmp_path / "1795600000.prom").write_text(METRICS)
    (tmp_path / "any.log").write_text(LOG)
    assert read_bundle(str(tmp_path / "storm.prom")).scrapes[0].target == "storm"
    assert [(s.target, s.time) for s in read_bundle(str(tmp_path / "1795600000.prom")).scrapes] == [("r0", 1795600000)]
    assert read_bundle(str(tmp_path / "any.log")).stats[0].run == "server"


MIXED = f"Hello, it is slow:\n{COMMAND}{LOG}$ curl -s localhost:8000/metrics\n{METRICS}and the benchmark\n{BLOCK}"


def test_a_paste_of_everything(tmp_path: Path) -> None:
    path = tmp_path / "paste.txt"
    path.write_text(MIXED)
    seen = read_bundle(str(path))
    assert len(seen.scrapes) == 1 and len(seen.stats) == 1 and len(seen.benches) == 1
    known = {f.id: f.value for f in seen.facts}
    assert known["max_num_seqs"] == 64 and known["enforce_eager"] is True
    assert dict(seen.benches[0].values) == {"completed": 10, "ttft_mean": 0.02}
    quoted = "\n".join(f"> {line}" for line in MIXED.splitlines())
    path.write_text(quoted)
    again = read_bundle(str(path))
    assert len(again.scrapes) == 1 and len(again.stats) == 1 and len(again.benches) == 1


def test_stdin() -> None:
    code = (
        "from diagnose.sources.bundle import read_bundle as r; o = r('-');"
        "print(len(o.scrapes), len(o.stats), len(o.benches))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=MIXED.encode(), capture_output=True, check=True, timeout=60
    )
    assert done.stdout.split() == [b"1", b"1", b"1"]


# -- what cannot be read -----------------------------------------------------------------------------------------------


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_bundle(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a\0b" * 100, "is not text"),
        (bytes(range(256)) * 20, "is not text"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "is a web page"),
        (b"my server is slow, please help\n", "is neither metrics"),
        (b"\x1f\x8b\x08\x00", "nothing in it can be observed"),
        (b"PK\x03\x04garbage", "not a readable archive"),
        (b"{", "is neither metrics"),
        (b"{}", "is neither metrics"),
    ],
)
def test_what_is_no_observation(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=words) as caught:
        read_bundle(str(path))
    assert caught.value.exit_code == 3 and "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no files"):
        read_bundle(str(tmp_path))
    write(tmp_path, {"README.md": b"x", "logs/server.log": b"nothing that is known\n"})
    with pytest.raises(SourceError, match="nothing in it can be observed"):
        read_bundle(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(LOG)
    path.chmod(0)
    with pytest.raises(SourceError, match="ermission"):
        read_bundle(str(path))


def test_truncated_gzip_gives_what_came_before(tmp_path: Path) -> None:
    lines = "".join(f'vllm:x_total{{model_name="m{n}"}} {n * 7919 % 1000}\n' for n in range(4000))
    data = gzip.compress((METRICS + lines).encode())
    folder = write(tmp_path, {"scrapes/r0/1795600000.prom.gz": data[: len(data) // 2]})
    seen = read_bundle(str(folder))
    assert seen.scrapes[0].samples and any("truncated" in note for note in seen.notes)
    assert archive.gunzip(data + data)[1] == "" and archive.gunzip(data, 100) == (
        (METRICS + lines).encode()[:100],
        "is larger than 0 MiB: the rest is ignored",
    )


def test_truncated_archive_gives_what_came_before(tmp_path: Path) -> None:
    noise = {f"logs/{n}.log": os.urandom(3000).hex().encode() for n in range(40)}
    data = tar(write(tmp_path / "b", {"logs/0.log": LOG.encode(), **noise}), tmp_path / "b.tar.gz").read_bytes()
    (tmp_path / "t.tar.gz").write_bytes(data[: len(data) * 2 // 3])
    try:
        seen = read_bundle(str(tmp_path / "t.tar.gz"))
    except SourceError as error:
        assert "truncated" in str(error)  # the order of files in the archive decides
    else:
        assert any("truncated" in note for note in seen.notes)


def test_archives_that_leave_the_bundle(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as packed:
        for name in ("../../etc/logs/x.log", "/logs/y.log", "logs/fine.log"):
            member = tarfile.TarInfo(name)
            member.size = len(LOG)
            packed.addfile(member, io.BytesIO(LOG.encode()))
        link = tarfile.TarInfo("logs/link.log")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    seen = read_bundle(str(tmp_path / "evil.tar"))
    assert {s.run for s in seen.stats} == {"fine"} and len(seen.notes) == 3
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as zipped:
        zipped.writestr("../logs/x.log", LOG)
        zipped.writestr("logs/fine.log", LOG)
    seen = read_bundle(str(tmp_path / "evil.zip"))
    assert {s.run for s in seen.stats} == {"fine"} and "leaves the bundle" in seen.notes[0]


def test_an_archive_that_grows_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL", 1000)
    parts = {f"logs/{n}.log": LOG.encode() * 10 for n in range(9)}
    seen = read_bundle(str(tar(write(tmp_path / "b", parts), tmp_path / "b.tar.gz")))
    assert any("too much" in note for note in seen.notes)


def test_other_encodings(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-8-sig"):
        (tmp_path / "a.log").write_bytes(LOG.encode(encoding))
        assert len(read_bundle(str(tmp_path / "a.log")).stats) == 1


SNIPPETS = [
    LOG,
    METRICS,
    COMMAND,
    BLOCK,
    "{",
    "<html>",
    "\n",
    "...",
    "# 12:00:01\n",
    "- args:\n",
    '{"log": "x"}\n',
    "> ",
]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=12)), max_size=10))
def test_any_text_is_split(parts: list[str]) -> None:
    content = "".join(parts)
    found = text.split(content)
    kept = sum(len(getattr(found, kind)) for kind in text.KINDS)
    assert kept <= len(content)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.binary(max_size=200), st.sampled_from([p.encode() for p in SNIPPETS]), st.binary().map(gzip.compress))
)
def test_any_file_is_observed_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    try:
        read_bundle(str(path))
    except DiagnoseError as error:
        assert "\n" not in str(error)
