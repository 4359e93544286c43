"""Cost of a fleet: rule evaluation in a real Prometheus, and ``diagnose now --prometheus`` against its bare queries.

Usage: python benchmarks/fleet.py [--engines 10,100,1000]      (make bench-fleet)

Every engine has the about 400 series of a recorded vLLM 0.32, from one of several recordings at its own phase; ten
minutes at 15 s (and three more, so that windows stay full while we measure) are written by remote write. Then the rules
are loaded. Cost per engine must not grow with the fleet: not from the smallest to the largest, and in the last step
not beyond what merely reading the series grows by (a large fleet leaves the processor's caches). Needs prometheus
(scripts/install-test-tools.sh), and about 5 GB of memory for 1,000 engines.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from processes import get_json, poll, prometheus  # noqa: E402

from diagnose.replay import scenario_path  # noqa: E402
from diagnose.sources.recording import load  # noqa: E402

STEP, PAST, AHEAD = 15, 600, 180  # seconds
SCENARIOS = ("healthy", "storm", "healthy", "queue-at-cap", "healthy", "lora")
PER_MODEL = 10
BATCH = 10  # engines per remote write
SHARE = 0.10  # of the rules' interval of 60 s
INTERVAL = 60.0
ROUNDS = 3  # of the rules, the best counts
TIMES = 2.0  # our time over that of the bare queries
RSS = 500.0  # MB
LINEAR = 1.3
READ = "/api/v1/query?query=count(vllm:inter_token_latency_seconds_bucket)"  # what any work on the series costs
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
Samples = dict[str, bytes]


class Request(NamedTuple):
    """A request as it was sent; body None is a GET."""

    path: str
    body: bytes | None
    kind: str


class Measured(NamedTuple):
    """What one fleet cost: seconds, series, MB. ``now`` and ``bare`` are None where the command has no --prometheus."""

    engines: int
    series: int
    ingest: float
    read: float
    rules: float
    slowest: str
    bare: float | None
    now: float | None
    rss: float | None


def variants(end: float) -> list[Samples]:
    """Encoded samples by series head, for each recording and a phase of its own."""
    out = []
    for n, scenario in enumerate(SCENARIOS):
        recording = load(scenario_path(scenario)).targets[0]
        points: dict[str, list[bytes]] = {}
        for at in range(0, PAST + AHEAD + 1, STEP):
            stamp = int((end - PAST - AHEAD + at) * 1000)
            for line in recording.at(7.0 * n + at).splitlines():
                head, _, value = line.rpartition(" ")
                if head and not line.startswith("#"):
                    points.setdefault(head, []).append(_sample(float(value), stamp))
        out.append({head: b"".join(p) for head, p in points.items()})
    return out


def write_requests(count: int, end: float) -> Iterator[bytes]:
    """Remote write bodies of a fleet: the series of ``BATCH`` engines each."""
    known = variants(end)
    heads = [{head: _labels(head) for head in samples} for samples in known]
    stamps = range(0, PAST + AHEAD + 1, STEP)
    up = b"".join(_sample(1.0, int((end - PAST - AHEAD + at) * 1000)) for at in stamps)
    for first in range(0, count, BATCH):
        body = []
        for n in range(first, min(first + BATCH, count)):
            samples, labels, own = known[n % len(known)], heads[n % len(known)], identity(n)
            body += [_series({**labels[head], **_of(labels[head], own)}, text) for head, text in samples.items()]
            body.append(_series({"__name__": "up", **_of({}, own)}, up))
        yield b"".join(body)


def identity(n: int) -> dict[str, str]:
    """Target labels of the nth engine, and the model it serves."""
    model = f"model-{n // PER_MODEL:03d}"
    return {
        "cluster": "prod", "namespace": f"llm-{n // PER_MODEL % 8}", "job": "vllm",
        "instance": f"10.0.{n // 250}.{n % 250}:8000", "pod": f"{model}-{n % PER_MODEL}", "model_name": model,
    }  # fmt: skip


def _of(labels: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    return {k: v for k, v in own.items() if k != "model_name" or k in labels}


def _labels(head: str) -> dict[str, str]:
    name, _, rest = head.partition("{")
    return {"__name__": name, **dict(_LABEL.findall(rest))}


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _sample(value: float, stamp: int) -> bytes:
    return _field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(stamp))


def _series(labels: dict[str, str], samples: bytes) -> bytes:
    pairs = (_field(1, _field(1, k.encode()) + _field(2, v.encode())) for k, v in sorted(labels.items()))
    return _field(1, b"".join(pairs) + samples)


def _snappy(data: bytes) -> bytes:
    """Snappy's block format with nothing but literals."""
    parts = [_varint(len(data))]
    for at in range(0, len(data), 65536):
        part = data[at : at + 65536]
        parts += [b"\xf4", struct.pack("<H", len(part) - 1), part]
    return b"".join(parts)


def ingest(url: str, count: int, end: float) -> float:
    """Writes a fleet; seconds that Prometheus took for it."""
    spent = 0.0
    kind = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
    for body in write_requests(count, end):
        began = time.monotonic()
        request = urllib.request.Request(f"{url}/api/v1/write", _snappy(body), kind)
        with urllib.request.urlopen(request, timeout=120):
            spent += time.monotonic() - began
    return spent


def rule_groups() -> list[dict[str, Any]]:
    """All rule groups in rules/."""
    files = sorted((ROOT / "rules").glob("*.rules.yaml"))
    return [g for f in files for g in yaml.safe_load(f.read_text(encoding="utf-8"))["groups"]]


def evaluate_rules(url: str, folder: Path) -> tuple[float, str]:
    """Loads the rules; seconds of a round of all groups, each at its best, and the slowest group with its seconds.

    The groups run every 20 s here, so that the data does not age: what a round costs does not depend on it. The first
    round, in which groups do not see what those before them record, does not count.
    """
    groups = [{**g, "interval": "20s"} for g in rule_groups()]
    (folder / "all.rules.yaml").write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    with urllib.request.urlopen(urllib.request.Request(f"{url}/-/reload", method="POST"), timeout=30):
        began = time.monotonic()
    rounds: dict[str, dict[str, float]] = {}

    def enough() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = get_json(f"{url}/api/v1/rules")["data"]["groups"]
        for group in found if time.monotonic() - began > 25 else ():
            rounds.setdefault(group["name"], {})[group["lastEvaluation"]] = group["evaluationTime"]
        done = len(rounds) == len(groups) and all(len(times) > ROUNDS for times in rounds.values())
        return found if done else None

    found = poll("rounds of the rules", enough, 150.0, 1.0)
    broken = [f"{r['name']}: {r['lastError']}" for g in found for r in g["rules"] if r["health"] == "err"]
    if broken:
        raise RuntimeError("; ".join(broken))
    best = {name: min(list(times.values())[1:]) for name, times in rounds.items()}
    slowest = max(best, key=lambda name: best[name])
    return sum(best.values()), f"{slowest} {best[slowest]:.2f} s"


def knows_prometheus() -> bool:
    """Whether ``diagnose now`` takes --prometheus."""
    done = subprocess.run([*_ours(), "now", "--help"], capture_output=True, text=True, timeout=60, check=False)
    return "--prometheus" in done.stdout


def _ours() -> list[str]:
    return [sys.executable, "-m", "diagnose"]


def fleet_now(url: str) -> tuple[float, float]:
    """Seconds and peak MB of ``diagnose now --prometheus`` for the whole fleet."""
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*_ours(), "now", "--prometheus", url, "--format", "json"]
    with tempfile.TemporaryFile() as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.PIPE, env=environment)
        said = process.stderr.read().decode() if process.stderr else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise RuntimeError(f"diagnose now ended with {process.returncode}: {said[-1000:]}")
    return time.monotonic() - began, used.ru_maxrss / 1024


@contextlib.contextmanager
def listening(url: str) -> Iterator[tuple[str, list[Request]]]:
    """The address of a server that passes all on to ``url``, and the requests that it saw."""
    seen: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            request = Request(self.path, self.rfile.read(size) if size else None, self.headers.get("Content-Type", ""))
            seen.append(request)
            try:
                status, body = 200, send(url, request)
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()


def send(url: str, request: Request) -> bytes:
    """The body of the answer to one request."""
    kind = {"Content-Type": request.kind} if request.kind else {}
    with urllib.request.urlopen(urllib.request.Request(url + request.path, request.body, kind), timeout=120) as answer:
        data: bytes = answer.read()
        return data


def against_bare(url: str) -> tuple[float, float, float]:
    """Seconds of the bare queries, seconds and MB of ``diagnose now``: best of three, in turn."""
    with listening(url) as (address, seen):
        fleet_now(address)
    bare, ours, rss = [], [], []
    for _ in range(3):
        began = time.monotonic()
        for request in seen:
            with contextlib.suppress(urllib.error.HTTPError):
                send(url, request)
        bare.append(time.monotonic() - began)
        seconds, megabytes = fleet_now(url)
        ours.append(seconds)
        rss.append(megabytes)
    return min(bare), min(ours), max(rss)


def best_of(action: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    found = []
    for _ in range(times):
        began = time.monotonic()
        action()
        found.append(time.monotonic() - began)
    return min(found)


def measure(count: int, folder: Path) -> Measured:
    """One fleet, from an empty Prometheus on."""
    (folder / "all.rules.yaml").write_text("groups: []\n", encoding="utf-8")
    config = {"global": {"evaluation_interval": "60s"}, "rule_files": ["all.rules.yaml"]}
    with prometheus(folder, config, None, "--web.enable-remote-write-receiver", "--web.enable-lifecycle") as url:
        spent = ingest(url, count, time.time() + AHEAD)
        head = get_json(f"{url}/api/v1/status/tsdb")["data"]["headStats"]["numSeries"]
        read = best_of(lambda: send(url, Request(READ, None, "")))
        rules, slowest = evaluate_rules(url, folder)
        bare, now, rss = against_bare(url) if knows_prometheus() else (None, None, None)
    return Measured(count, head, spent, read, rules, slowest, bare, now, rss)


def show(rows: list[Measured]) -> bool:
    """Prints the table; whether all targets are met."""
    titles = (
        "engines",
        "series",
        "write s",
        "read ms",
        "rules s",
        "ms/engine",
        "bare s",
        "now s",
        "RSS MB",
        "slowest group",
    )
    print("".join(f"{title:>11}" for title in titles[:-1]), titles[-1], sep="  ")
    for row in rows:
        each = 1000 * row.rules / row.engines
        cells = [row.engines, row.series, row.ingest, 1000 * row.read, row.rules, each, row.bare, row.now, row.rss]
        print("".join(f"{_cell(v):>11}" for v in cells), row.slowest, sep="  ")
    checks = list(_checks(rows))
    for passed, text in checks:
        print(f"{'ok  ' if passed else 'MISS'}  {text}")
    if rows[-1].now is None:
        print("--    diagnose now has no --prometheus: not measured")
    return all(passed for passed, _ in checks)


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _checks(rows: list[Measured]) -> Iterator[tuple[bool, str]]:
    last = rows[-1]
    share = last.rules / INTERVAL
    yield share < SHARE, f"rules of {last.engines} engines take {share:.1%} of their {INTERVAL:g} s (below {SHARE:.0%})"
    for small in rows[:-1]:
        growth = (last.rules / last.engines) / (small.rules / small.engines)
        yield True, f"rules per engine, {small.engines} to {last.engines}: {growth:.2f} x"
    if len(rows) > 1:
        first, before = rows[0], rows[-2]
        growth = (last.rules / last.engines) / (first.rules / first.engines)
        yield growth <= LINEAR, f"rules per engine over the whole range: {growth:.2f} x (at most {LINEAR:g})"
        growth = (last.rules / before.rules) / (last.read / before.read)
        text = f"growth of the rules over that of reading the series, {before.engines} to {last.engines}"
        yield growth <= LINEAR, f"{text}: {growth:.2f} x (at most {LINEAR:g})"
    if last.now is not None and last.bare is not None and last.rss is not None:
        yield (
            last.now <= TIMES * last.bare,
            f"diagnose now: {last.now / last.bare:.2f} x its bare queries (at most {TIMES:g})",
        )
        yield last.rss <= RSS, f"diagnose now: {last.rss:.0f} MB (at most {RSS:g})"


def main() -> int:
    """0 when all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--engines", default="10,100,1000", help="sizes of the fleets, ascending")
    sizes = [int(n) for n in parser.parse_args().engines.split(",")]
    rows = []
    for size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="bench-fleet-"))
        try:
            rows.append(measure(size, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{size} engines done", file=sys.stderr, flush=True)
    return 0 if show(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
