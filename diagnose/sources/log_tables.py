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
_BOX = re.compile(r"(\d+)W\s*/\s*(\d+)W\s*\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|\s*(\d+)%")
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

    def feed(self, line: str) -> Values:
        """The values of one row; empty for any other line."""
        if "utilization.gpu" in line or "memory.used" in line or "power.draw" in line:
            names = [cell.split("[")[0].strip() for cell in line.split(",")]
            self.columns = [_GPU_FIELDS.get(name) for name in names]
            return {}
        if line.startswith("|"):
            return self._box(line)
        cells = line.split(",") if self.columns else []
        if not cells or len(cells) != len(self.columns):
            return {}
        out: Values = {}
        for cell, column in zip(cells, self.columns, strict=True):
            found = _CELL.match(cell.strip())
            value = number(found.group(1)) if found and column else None
            if column and value is not None:
                out[column[0]] = round(value * column[1], 9)
        return out if out.keys() - {"index"} else {}

    def _box(self, line: str) -> Values:
        if found := _BOX_INDEX.match(line):
            self.box_index = float(found.group(1))
        found = _BOX.search(line)
        if not found:
            return {}
        power, limit, used, total, busy = (float(part) for part in found.groups())
        return {"index": self.box_index, "power": power, "power_limit": limit, "memory_used": used * units.MIB,
                "memory_total": total * units.MIB, "utilization": ratio(busy)}  # fmt: skip


class ProcessTable:
    """Feeds on lines; gives ``cpu`` (ratio of one core) and ``pid`` for rows of engine processes in top and ps."""

    def __init__(self) -> None:
        self.columns: list[str] = []

    def feed(self, line: str) -> Values:
        """The values of one row; empty for any other line."""
        if not self.columns and "%CPU" not in line:
            return {}
        words = line.split()
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
