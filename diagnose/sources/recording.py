"""A recorded bundle that can be asked for its metrics at any time; counters go on growing when it repeats."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from diagnose.errors import SourceError, UsageError
from diagnose.sources.exposition import parse, sample_type

MARGIN = 0.3  # a replay starts after this share of the load, so that its start-up is over
_COUNTERS = ("counter", "histogram", "summary")
_ENGINE = re.compile(r"(?:ray_)?(?:vllm|sglang|lmcache|dynamo)")
_CLOCKS = re.compile(r"(?:process_start_time_seconds|vllm:lora_requests_info|\S+_created)(?=[{ ]|$)")
_SCRAPE = re.compile(r"(?:^|.*/)scrapes/([^/]+)/(\d+(?:\.\d+)?)\.(?:prom|txt)(\.gz)?$")
_INFO = re.compile(r"(?:^|.*/)server_info/([^/]+)\.json$")
_PATHS = ("/version", "/server_info", "/get_server_info", "/v1/models", "/get_model_info", "/health", "/load")


@dataclass(frozen=True)
class Line:
    """One sample line: all before the value, the value, and whether it only grows."""

    head: str
    value: float
    grows: bool


@dataclass(frozen=True)
class Frame:
    """One recorded scrape: its lines in order (text for comments) and the growing values by head."""

    time: float
    lines: tuple[Line | str, ...]
    counters: Mapping[str, float]


@dataclass(frozen=True)
class Recording:
    """The scrapes of one target, and the part of them under load: ``begin`` to ``end`` (recorded seconds) repeats."""

    target: str
    frames: tuple[Frame, ...]
    begin: float
    end: float

    def at(self, elapsed: float, *, clock_shift: float = 0.0, stamp: bool = False) -> str:
        """The exposition ``elapsed`` recorded seconds after ``begin``; counters are interpolated and never fall.

        ``clock_shift`` is added to values that are points in time; ``stamp`` adds the recorded time to each sample.
        """
        span = self.end - self.begin
        turns, inside = divmod(max(0.0, elapsed), span) if span > 0 else (0.0, 0.0)
        now = self.begin + inside
        before, after, share = self._around(now)
        carried = self._gain() if turns else {}
        mark = f" {int((self.begin + max(0.0, elapsed)) * 1000)}" if stamp else ""
        out = []
        for line in (*before.lines, *self._later_lines(before, carried)):
            if isinstance(line, str):
                out.append(line)
                continue
            value = line.value
            if line.grows:
                value = _between(value, after.counters.get(line.head, value), share)
                value += turns * carried.get(line.head, 0.0)
            elif clock_shift and _CLOCKS.match(line.head):
                value += clock_shift
            out.append(f"{line.head} {_number(value)}{mark}")
        return "\n".join(out) + "\n"

    def _around(self, now: float) -> tuple[Frame, Frame, float]:
        """The frames before and after a recorded time, and how far between them it is."""
        for before, after in zip(self.frames, self.frames[1:], strict=False):
            if before.time <= now < after.time:
                return before, after, (now - before.time) / (after.time - before.time)
        frame = self.frames[-1] if now >= self.frames[-1].time else self.frames[0]
        return frame, frame, 0.0

    def _later_lines(self, frame: Frame, carried: Mapping[str, float]) -> Iterator[Line]:
        """Counters that a later frame brought: in a further turn they are there from its start."""
        return (Line(head, 0.0, True) for head in carried if head not in frame.counters)

    def _gain(self) -> dict[str, float]:
        """What each counter gains from ``begin`` to ``end``."""
        first, last = self._values(self.begin), self._values(self.end)
        return {head: max(0.0, value - first.get(head, 0.0)) for head, value in last.items()}

    def _values(self, now: float) -> dict[str, float]:
        before, after, share = self._around(now)
        return {head: _between(v, after.counters.get(head, v), share) for head, v in before.counters.items()}


@dataclass(frozen=True)
class Recordings:
    """What a bundle recorded: one recording per target, and answers of other paths by target ("" for any)."""

    targets: tuple[Recording, ...]
    infos: Mapping[tuple[str, str], bytes]


def load(bundle: str | Path) -> Recordings:
    """The recordings of a bundle folder or archive. Raises UsageError (no such path) and SourceError (no scrapes)."""
    path = Path(bundle)
    if not path.exists():
        raise UsageError("no such file or folder", where=str(path), hint="Give a bundle that diagnose capture wrote")
    frames: dict[str, list[Frame]] = {}
    infos: dict[tuple[str, str], bytes] = {}
    for name, data in _files(path):
        if match := _SCRAPE.match(name):
            frames.setdefault(match[1], []).append(_frame(float(match[2]), _text(data, bool(match[3]))))
        elif match := _INFO.match(name):
            infos.update(_info(match[1], data))
    if not frames:
        raise SourceError("no scrapes in it", where=str(path), hint="A replay needs scrapes/<target>/<time>.prom")
    targets = tuple(_recording(target, sorted(f, key=lambda f: f.time)) for target, f in sorted(frames.items()))
    return Recordings(targets, infos)


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file():
                yield file.relative_to(path).as_posix(), file.read_bytes()
        return
    import tarfile
    import zlib

    try:
        with tarfile.open(path) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is not None:
                    yield member.name, stream.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error):
        raise SourceError("not a bundle", where=str(path), hint="Give a folder or a .tar.gz of it") from None


def _text(data: bytes, packed: bool) -> str:
    import gzip

    return (gzip.decompress(data) if packed else data).decode("utf-8", "replace")


def _info(name: str, data: bytes) -> dict[tuple[str, str], bytes]:
    """Answers by (target, path): ``GET_<path>.json`` for any target, ``<target>.json`` with answers keyed by path."""
    import json

    known = {path.strip("/").replace("/", "_"): path for path in _PATHS}
    if name.startswith("GET_"):
        path = known.get(name.removeprefix("GET_").partition("-")[0])
        return {("", path): data} if path else {}
    try:
        answers = json.loads(data)
    except ValueError:
        return {}
    if not isinstance(answers, dict):
        return {}
    return {(name, p): json.dumps(a).encode() for p, a in answers.items() if p.startswith("/")}


def _frame(time: float, text: str) -> Frame:
    types = parse(text).types
    lines = tuple(_line(raw, types) for raw in text.splitlines() if raw.strip() and raw.strip() != "# EOF")
    grown = {line.head: line.value for line in lines if isinstance(line, Line) and line.grows}
    return Frame(time, lines, grown)


def _line(raw: str, types: Mapping[str, str]) -> Line | str:
    head, _, value = raw.rstrip().rpartition(" ")
    if raw.startswith("#") or not head or (" " in head and not head.endswith("}")):
        return raw
    try:
        number = float(value)
    except ValueError:
        return raw
    name = head.partition("{")[0]
    return Line(head, number, sample_type(types, name) in _COUNTERS and not name.endswith("_created"))


def _recording(target: str, frames: list[Frame]) -> Recording:
    """The recording with its load: from the first to the last interval in which a counter of the engine grows."""
    busy = [n for n, (a, b) in enumerate(zip(frames, frames[1:], strict=False)) if _moves(a, b)]
    first = frames[busy[0]].time if busy else frames[0].time
    last = frames[busy[-1] + 1].time if busy else frames[-1].time
    return Recording(target, tuple(frames), first + MARGIN * (last - first), last)


def _moves(before: Frame, after: Frame) -> bool:
    return any(v > before.counters.get(h, v) for h, v in after.counters.items() if _ENGINE.match(h))


def _between(before: float, after: float, share: float) -> float:
    """Linear between two counter values; whole numbers stay whole, and a reset or NaN is not interpolated."""
    if not math.isfinite(before) or not after > before:
        return before
    value = before + (after - before) * share
    return float(math.floor(value)) if before.is_integer() and after.is_integer() else value


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("+Inf" if value > 0 else "-Inf") if math.isinf(value) else repr(value)
