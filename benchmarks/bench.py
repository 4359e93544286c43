"""Speed and memory as ratios against a named baseline of the same run: ``make bench``.

Every time is the best of several runs, ours and the baseline's in turn, so that a busy machine slows both. Baselines
that the project does not need itself (pandas, vllm-doctor) are installed once into build/bench-venv.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import corpus

ROOT = corpus.ROOT
VENV = ROOT / "build" / "bench-venv"
BASELINES = ("vllm-doctor==0.6.0", "pandas")
MIB = 1024**2
WINDOW = 2.0
LIMIT = 300.0  # seconds for one child process


@dataclass(frozen=True)
class Row:
    """One line of the table: ``value`` against ``target`` (0 is none); value None when it could not be measured."""

    name: str
    value: float | None
    target: float
    unit: str = "x"
    least: bool = False
    detail: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None when there is no value, or no target."""
        if self.value is None or self.target == 0:
            return None
        return self.value >= self.target if self.least else self.value <= self.target


def python(*args: str) -> list[str]:
    """A command of this project's interpreter."""
    return [sys.executable, *args]


def ours(*args: str) -> list[str]:
    """A ``diagnose`` command: the console script beside the interpreter, else the module."""
    script = Path(sys.executable).with_name("diagnose")
    return [str(script), *args] if script.exists() else python("-m", "diagnose", *args)


def seconds(command: Sequence[str], allowed: Sequence[int] = (0, 1, 3)) -> float:
    """Wall seconds of one run; raises RuntimeError when the command fails otherwise."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, env=_environment())
    took = time.perf_counter() - start
    if done.returncode not in allowed:
        raise RuntimeError(f"{' '.join(command[:4])} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return took


def _environment() -> dict[str, str]:
    """As a user runs it: compiled code is kept from the first (unmeasured) round, as it is after an installation."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "80"}


def in_turn(rounds: int, *commands: Sequence[str]) -> list[float]:
    """Best seconds of each command, run in turn after one unmeasured round."""
    for command in commands:
        seconds(command)
    times = [[seconds(command) for command in commands] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def peak_memory(command: Sequence[str]) -> float:
    """Peak resident bytes of one child process."""
    child = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment()
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 3):
        raise RuntimeError(f"{' '.join(command[:4])} ended with {child.returncode}")
    return usage.ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


@contextlib.contextmanager
def endpoint(*args: str) -> Iterator[str]:
    """The address of a serving child, ended on the way out."""
    child = subprocess.Popen(
        python(str(ROOT / "benchmarks" / "serve.py"), *args), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdin is not None
    try:
        yield f"http://127.0.0.1:{int(child.stdout.readline())}"
    finally:
        child.stdin.close()
        child.stdout.close()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def baselines() -> tuple[Path | None, str]:
    """The interpreter that has the baselines, or None and the reason why there is none."""
    interpreter = VENV / "bin" / "python"
    check = [str(interpreter), "-c", "import pandas, vllm_doctor"]
    if interpreter.exists() and subprocess.run(check, capture_output=True, timeout=LIMIT).returncode == 0:
        return interpreter, ""
    print(f"installing {', '.join(BASELINES)} into {VENV.relative_to(ROOT)} (once) ...", file=sys.stderr)
    quiet = ("-q", "--disable-pip-version-check", "--no-input")
    for step in (python("-m", "venv", str(VENV)), [str(interpreter), "-m", "pip", "install", *quiet, *BASELINES]):
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, f"baselines could not be installed ({type(error).__name__})"
        if done.returncode != 0:
            return None, f"baselines could not be installed: {(done.stderr.strip().splitlines() or ['?'])[-1][:120]}"
    return interpreter, ""


def bench_help(folder: Path) -> list[Row]:
    """Start-up: the help page over the import of click."""
    mine, base = in_turn(10, ours("--help"), python("-c", "import click"))
    return [Row("diagnose --help / import click", mine / base, 1.6, detail=_times(mine, base))]


def bench_bundle(folder: Path) -> list[Row]:
    """A whole diagnosis over the import of pandas."""
    name, target = "diagnose now, two-scrape bundle / import pandas", 0.8
    interpreter, why = baselines()
    if interpreter is None:
        return [Row(name, None, target, detail=why)]
    bundle = corpus.two_scrapes(folder / "bundle")
    mine, base = in_turn(5, ours("now", str(bundle)), [str(interpreter), "-c", "import pandas"])
    return [Row(name, mine / base, target, detail=_times(mine, base))]


def bench_parse(folder: Path) -> list[Row]:
    """The parser against prometheus_client's on 6 MB."""
    path = folder / "large.prom"
    path.write_text(corpus.exposition(6_000_000))
    done = subprocess.run(
        python(str(ROOT / "benchmarks" / "parse.py"), str(path)), capture_output=True, text=True, timeout=LIMIT,
        env=_environment(), cwd=ROOT,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-200:])
    took = json.loads(done.stdout)
    size = f"{path.stat().st_size / 1e6:.1f} MB, {took['samples']:,} samples, "
    return [
        Row("prometheus_client / our parser, filtered to the catalog", took["baseline"] / took["filtered"], 8.0,
            least=True, detail=size + _times(took["filtered"], took["baseline"])),
        Row("prometheus_client / our parser, unfiltered", took["baseline"] / took["unfiltered"], 0.0,
            least=True, detail=_times(took["unfiltered"], took["baseline"])),
    ]  # fmt: skip


def bench_memory(folder: Path) -> list[Row]:
    """Peak memory of a diagnosis of 60 MB, from a file and from an endpoint."""
    path = folder / "huge.prom"
    path.write_text(corpus.exposition(60_000_000))
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    file = peak_memory(ours("now", str(path))) / MIB
    with endpoint(str(path)) as address:
        live = peak_memory(ours("now", address, "--window", "1s", "--timeout", "60s")) / MIB
    return [
        Row("peak memory, diagnose now on a 60 MB file", file, 400.0, "MiB", detail=size),
        Row("peak memory, diagnose now on a 60 MB endpoint", live, 400.0, "MiB", detail=f"{size}, two scrapes"),
    ]


def bench_live(folder: Path) -> list[Row]:
    """A live diagnosis less its window over vllm-doctor's on the same endpoint."""
    name, target = "diagnose now URL less its window / vllm-doctor 0.6.0", 0.5
    interpreter, why = baselines()
    if interpreter is None:
        return [Row(name, None, target, detail=why)]
    with endpoint() as address:
        mine, base = in_turn(
            5, ours("now", address, "--window", f"{WINDOW:g}s"),
            [str(interpreter.with_name("vllm-doctor")), "diagnose", f"{address}/metrics"],
        )  # fmt: skip
    mine -= WINDOW
    return [Row(name, mine / base, target, detail=_times(mine, base))]


def bench_fleet(folder: Path) -> list[Row]:
    """256 live targets over one, both less the window."""
    with endpoint() as address:
        many = [f"{address}/r{n}" for n in range(256)]
        window = ("--window", f"{WINDOW:g}s")
        times: list[list[float]] = []
        for _ in range(4):
            times.append([])
            for targets in (many[:1], many):
                urllib.request.urlopen(f"{address}/reset", timeout=10).close()
                times[-1].append(seconds(ours("now", *targets, *window)) - WINDOW)
    one, all_of_them = (min(column) for column in zip(*times[1:], strict=True))
    return [
        Row("256 live targets / one, both less the window", all_of_them / one, 40.0, detail=_times(all_of_them, one))
    ]


def _times(mine: float, base: float) -> str:
    return f"{mine * 1000:.0f} ms against {base * 1000:.0f} ms"


BENCHES: dict[str, Callable[[Path], list[Row]]] = {
    "help": bench_help, "bundle": bench_bundle, "parse": bench_parse, "memory": bench_memory, "live": bench_live,
    "fleet": bench_fleet,
}  # fmt: skip


def measured(name: str, folder: Path) -> list[Row]:
    """Rows of one benchmark; what goes wrong becomes a row without a value."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    try:
        return BENCHES[name](folder)
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [Row(name, None, 1.0, detail=f"failed: {' '.join(str(error).split())[:160]}")]


def table(rows: Sequence[Row]) -> str:
    """The rows with value, target and verdict."""
    wide = max(len(row.name) for row in rows)
    lines = [f"{'':<{wide}}  {'measured':>10}  {'target':>12}"]
    for row in rows:
        value = (
            "-"
            if row.value is None
            else f"{row.value:.2f} {row.unit}"
            if row.unit == "x"
            else f"{row.value:.0f} {row.unit}"
        )
        target = f"{'>=' if row.least else '<='} {row.target:g} {row.unit}" if row.target else "none"
        verdict = {True: "pass", False: "FAIL", None: "-"}[row.passed]
        lines.append(f"{row.name:<{wide}}  {value:>10}  {target:>12}  {verdict:<4}  {row.detail}")
    return "\n".join(lines)


def main() -> int:
    """Runs the benchmarks asked for (all without arguments) and prints one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed or not measured")
    options = parser.parse_args()
    if unknown := [n for n in options.names if n not in BENCHES]:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHES)}")
    with tempfile.TemporaryDirectory(prefix="diagnose-bench-") as folder:
        rows = [row for name in options.names or BENCHES for row in measured(name, Path(folder))]
    print(table(rows))
    return int(options.strict and any(row.passed is not True and row.target for row in rows))


if __name__ == "__main__":
    sys.exit(main())
