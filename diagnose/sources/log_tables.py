"""Tables pasted among logs: nvidia-smi (CSV or its box), top and ps rows of engine processes, py-spy dumps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose import units
from diagnose.sources.log_stats import Values, number, ratio

# nvidia-smi query field -> value name and what a bare number means.
_GPU_FIELDS = {
    "index": ("index", 1.0), "utilization.gpu": ("utilization", 0.01), "power.draw": ("power", 1.0),
    "power.draw.instant": ("power", 1.0), "power.draw.average": ("power", 1.0), "power.limit": ("power_limit", 1.0),
    "enforced.power.limit": ("power_limit", 1.0), "memory.used": ("memory_used", units.MIB),
    "memory.total": ("memory_total", units.MIB), "memory.free": ("memory_free", units.MIB),
    "pcie.link.gen.current": ("pcie_gen", 1.0), "pcie.link.gen.gpucurrent": ("pcie_gen", 1.0),
    "clocks.sm": ("clock", 1e6), "clocks.current.sm": ("clock", 1e6), "clocks.gr": ("clock", 1e6),
    "clocks.current.graphics": ("clock", 1e6), "temperature.gpu": ("temperature", 1.0),
    "utilization.memory": ("memory_utilization", 0.01),
}  # fmt: skip
_CELL = re.compile(r"^(-?[\d.]+)\s*(?:%|W|MiB|MHz|GiB|C)?$")
_MONITOR = {"gpu": ("index", 1.0), "pwr": ("power", 1.0), "sm": ("utilization", 0.01), "pclk": ("clock", 1e6),
            "mem": ("memory_utilization", 0.01)}  # fmt: skip
_UNIT_CELL = re.compile(r"^(-?[\d.]+)\s+(%|W|MiB|MHz)$")
_UNITS = {"%": ("utilization", "memory_utilization", 0.01), "W": ("power", "power_limit", 1.0),
          "MiB": ("memory_used", "memory_total", units.MIB), "MHz": ("clock", "memory_clock", 1e6)}  # fmt: skip
_BOX = re.compile(r"(?:(\d+)W|N/A)\s*/\s*(?:(\d+)W|N/A)\s*\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|\s*(\d+)%")
_BOX_INDEX = re.compile(r"^\|\s*(\d+)\s+(?:NVIDIA|Tesla|GeForce|A\d|H\d|L\d|RTX|Quadro)")
_ENGINE_PROCESS = re.compile(
    r"VLLM::|sglang::|vllm|sglang|EngineCore|ray::|\bpython|pt_main_thread|trtllm|dynamo", re.I
)
_THREAD = re.compile(r"Thread (?:0x)?(\w+) \((active(?:\+gil)?|idle)\)(?:: \"([^\"]*)\")?")
_FRAME = re.compile(r"^\s+([\w<>.]+) \(([^()]+?)(?::\d+)?\)\s*$")
_POLL = ("acquire_read", "sched_yield", "shm_broadcast", "_poll_request", "poll_request")
_IDLE = ("epoll_wait", "select", "wait_for", "recv_multipart", "zmq", "_wait_for_tstate_lock", "dequeue")


class GpuTable:
    """Feeds on lines; gives values for each GPU row of a CSV query or of the nvidia-smi box."""

    def __init__(self) -> None:
        self.columns: list[tuple[str, float] | None] = []
        self.box_index = 0.0
        self.monitor: list[str] = []

    def feed(self, line: str) -> Values:
        """The values of one row; empty for any other line."""
        if "utilization.gpu" in line or "memory.used" in line or "power.draw" in line:
            names = [cell.split("[")[0].strip() for cell in line.split(",")]
            self.columns = [_GPU_FIELDS.get(name) for name in names]
            return {}
        if line.startswith("|"):
            return self._box(line)
        if line.startswith("# gpu"):
            self.monitor = line[1:].split()
            return {}
        if self.monitor:
            return self._monitored(line)
        if not self.columns:
            return _unnamed(line) if "MiB" in line or " %" in line else {}
        cells = line.split(",")
        if len(cells) != len(self.columns):
            return {}
        out: Values = {}
        for cell, column in zip(cells, self.columns, strict=True):
            found = _CELL.match(cell.strip())
            value = number(found.group(1)) if found and column else None
            if column and value is not None:
                out[column[0]] = round(value * column[1], 9)
        return out if out.keys() - {"index"} else {}

    def _monitored(self, line: str) -> Values:
        """A row of ``nvidia-smi dmon``."""
        cells = line.split()
        if len(cells) != len(self.monitor) or not cells[0].isdigit():
            return {}
        out: Values = {}
        for name, cell in zip(self.monitor, cells, strict=True):
            value = number(cell)
            if name in _MONITOR and value is not None:
                out[_MONITOR[name][0]] = round(value * _MONITOR[name][1], 9)
        return out

    def _box(self, line: str) -> Values:
        if found := _BOX_INDEX.match(line):
            self.box_index = float(found.group(1))
        found = _BOX.search(line)
        if not found:
            return {}
        power, limit, used, total, busy = (number(part) for part in found.groups())
        sized = {"index": self.box_index, "power": power, "power_limit": limit,
                 "memory_used": None if used is None else used * units.MIB,
                 "memory_total": None if total is None else total * units.MIB,
                 "utilization": None if busy is None else ratio(busy)}  # fmt: skip
        return {name: value for name, value in sized.items() if value is not None}


def _unnamed(line: str) -> Values:
    """A row without a header (``--format=csv,noheader``), by its units: first busy, then power or memory and limit."""
    cells = [_UNIT_CELL.match(cell.strip()) for cell in line.split(",")]
    if len(cells) < 2 or sum(cell is not None for cell in cells) < 2:
        return {}
    out: Values = {}
    for cell in cells:
        value = number(cell.group(1)) if cell else None
        if cell is None or value is None:
            continue
        first, second, factor = _UNITS[cell.group(2)]
        out.setdefault(second if first in out else first, round(value * factor, 9))
    return out


class ProcessTable:
    """Feeds on lines; gives ``cpu`` (ratio of one core) and ``pid`` for rows of engine processes in top and ps."""

    def __init__(self) -> None:
        self.columns: list[str] = []

    def feed(self, line: str) -> Values:
        """The values of one row; empty for any other line."""
        if not self.columns and "PID" not in line:
            return {}
        words = ["%CPU" if word == "CPU%" else word for word in line.split()]
        if "%CPU" in words and "PID" in words:
            self.columns = words
            return {}
        if not self.columns or len(words) < len(self.columns):
            return {}
        command = " ".join(words[len(self.columns) - 1 :])
        cpu, pid = number(words[self.columns.index("%CPU")]), number(words[self.columns.index("PID")])
        if cpu is None or pid is None or not _ENGINE_PROCESS.search(command):
            return {}
        return {"cpu": ratio(cpu), "pid": pid}


class StackDump:
    """Feeds on the lines of a py-spy dump; gives one event per thread when the next begins or at the end."""

    def __init__(self) -> None:
        self.thread: re.Match[str] | None = None
        self.frames: list[str] = []
        self.header = ""

    def feed(self, line: str) -> tuple[bool, list[tuple[str, dict[str, str], str]]]:
        """Whether the line belongs to a dump, and the events (id, fields, text) that ended with it."""
        if "Thread " in line and (found := _THREAD.search(line)):
            ended = list(self.end())
            self.thread, self.header = found, line.strip()
            return True, ended
        if self.thread is None:
            return False, []
        if frame := _FRAME.match(line):
            self.frames.append(f"{frame.group(1)} ({frame.group(2)})")
            return True, []
        return False, list(self.end())

    def end(self) -> Iterator[tuple[str, dict[str, str], str]]:
        """The event of the thread that is open: ``busy_poll`` for an idle worker that spins, else ``py_spy``."""
        if self.thread is None or not self.frames:
            self.thread, self.frames = None, []
            return
        text = " ".join(self.frames)
        worker_waits = any(part in text for part in _POLL) or "epoll" in text and "worker" in text
        idle = not worker_waits and any(part in self.frames[0] for part in _IDLE)
        fields = {"frame": self.frames[0], "frames": " < ".join(self.frames[:8]), "thread": self.thread.group(3) or "",
                  "state": "waiting" if idle else self.thread.group(2)}  # fmt: skip
        yield "busy_poll" if worker_waits else "py_spy", fields, self.header
        self.thread, self.frames = None, []
