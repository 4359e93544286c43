"""Real Prometheus, Alertmanager and VictoriaMetrics for tests: on free ports of 127.0.0.1, ended by their own pid.

A program that is not installed fails the test with the way to install it; nothing is skipped.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from servers import free_port

T = TypeVar("T")
PACKAGES = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
    "victoria-metrics": "victoria-metrics",
}
_QUIET = 10.0  # seconds a program gets to answer, or to end


def binary(name: str) -> str:
    """The path of a program. Raises RuntimeError with the way to install it."""
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(
            f"{name} is not installed: scripts/install-test-tools.sh, or apt-get install {PACKAGES[name]}"
        )
    return found


def poll(what: str, ask: Callable[[], T | None], deadline: float = _QUIET, every: float = 0.1) -> T:
    """The first answer of ``ask`` that is not None. Raises TimeoutError after ``deadline`` seconds."""
    end = time.monotonic() + deadline
    while True:
        answer = ask()
        if answer is not None:
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {deadline:g} s")
        time.sleep(every)


def get_json(url: str, timeout: float = _QUIET, **parameters: str) -> Any:
    """The JSON answer of a GET, or of a form POST where there are parameters."""
    data = urllib.parse.urlencode(parameters).encode() if parameters else None
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=timeout) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{url}: {error.code} {error.read()[:500].decode('utf-8', 'replace')}") from None


def query(url: str, expression: str, at: float | None = None, timeout: float = 30.0) -> list[dict[str, Any]]:
    """The vector that a PromQL expression gives at a time (unix seconds; None: now)."""
    when = {} if at is None else {"time": f"{at:.3f}"}
    answer = get_json(f"{url}/api/v1/query", timeout, query=expression, **when)
    result: list[dict[str, Any]] = answer["data"]["result"]
    return result


def query_range(url: str, expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
    """The matrix that a PromQL expression gives from ``start`` to ``end``."""
    span = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
    result: list[dict[str, Any]] = get_json(f"{url}/api/v1/query_range", query=expression, **span)["data"]["result"]
    return result


@contextlib.contextmanager
def running(command: Sequence[str], folder: Path, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program until the end of the block; ``ready`` is the address that answers once it is up."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("wb") as sink:
        process = subprocess.Popen([binary(command[0]), *command[1:]], stdout=sink, stderr=sink, cwd=folder)
    try:
        poll(f"{command[0]} at {ready}", lambda: _is_up(process, ready, log), 30.0, 0.05)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_QUIET)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_QUIET)


def _is_up(process: subprocess.Popen[bytes], ready: str, log: Path) -> bool | None:
    if process.poll() is not None:
        raise RuntimeError(f"{log.stem} ended with {process.returncode}: {log.read_text('utf-8', 'replace')[-2000:]}")
    try:
        with urllib.request.urlopen(ready, timeout=2):
            return True
    except OSError:
        return None


@contextlib.contextmanager
def prometheus(folder: Path, config: Mapping[str, Any], data: Path | None = None, *flags: str) -> Iterator[str]:
    """The URL of a Prometheus with this configuration; ``data`` is a folder of blocks (see ``backfill``)."""
    port = free_port()
    file = _written(folder / "prometheus.yml", config)
    command = [
        "prometheus", f"--config.file={file}", f"--storage.tsdb.path={data or folder / 'tsdb'}", "--log.level=warn",
        f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=100y", *flags,
    ]  # fmt: skip
    with running(command, folder, f"http://127.0.0.1:{port}/-/ready"):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def alertmanager(folder: Path, config: Mapping[str, Any]) -> Iterator[str]:
    """The URL of an Alertmanager with this configuration; relative template paths are those of ``folder``."""
    port = free_port()
    file = _written(folder / "alertmanager.yml", config)
    command = [
        "prometheus-alertmanager", f"--config.file={file}", f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=warn",
    ]  # fmt: skip
    with running(command, folder, f"http://127.0.0.1:{port}/-/ready"):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def victoria_metrics(folder: Path, *flags: str) -> Iterator[str]:
    """The URL of an empty VictoriaMetrics; fill it with ``import_exposition``."""
    port = free_port()
    command = [
        "victoria-metrics", f"-storageDataPath={folder / 'victoria'}", f"-httpListenAddr=127.0.0.1:{port}",
        "-retentionPeriod=1200", "-search.latencyOffset=0s", "-loggerLevel=WARN", *flags,
    ]  # fmt: skip
    with running(command, folder, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}"


def import_exposition(url: str, text: str, **labels: str) -> None:
    """Sends exposition text (timestamps in milliseconds) to a VictoriaMetrics; all series get ``labels``.

    They can be queried at once.
    """
    extra = urllib.parse.urlencode([("extra_label", f"{k}={v}") for k, v in labels.items()])
    request = urllib.request.Request(f"{url}/api/v1/import/prometheus?{extra}", data=text.encode())
    with urllib.request.urlopen(request, timeout=30), urllib.request.urlopen(f"{url}/internal/force_flush", timeout=30):
        pass


def backfill(openmetrics: Path, blocks: Path) -> Path:
    """Blocks for Prometheus from OpenMetrics text (timestamps in seconds, the last line is ``# EOF``)."""
    blocks.mkdir(parents=True, exist_ok=True)
    command = [binary("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(openmetrics), str(blocks), "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise RuntimeError(f"promtool: {(done.stdout + done.stderr)[-2000:]}")
    return blocks


def promtool(*arguments: str, timeout: float = 60.0) -> tuple[int, str]:
    """Exit status and all output of promtool."""
    done = subprocess.run(
        [binary("promtool"), *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
    return done.returncode, done.stdout + done.stderr


def _written(path: Path, config: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(config), sort_keys=False), encoding="utf-8")
    return path
