"""A bundle (folder, archive, single file or stdin) as observations. The layout is that of ``diagnose capture``.

``scrapes/<target>/<unix>.prom[.gz]``, ``logs/``, ``launch/``, ``server_info/``, ``bench/``; the base name of a file in
``launch/``, ``logs/`` or ``bench/`` is the run. A single file is read as what it holds.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from diagnose.errors import SourceError, UsageError
from diagnose.model import Fact, Missing, Observations, Scrape
from diagnose.sources import archive, text
from diagnose.sources.archive import Item
from diagnose.sources.moments import Taken, in_order, is_moment

STDIN = "-"
MISSING = "missing.json"  # targets that capture asked for and did not get
PARTS = ("scrapes", "logs", "launch", "server_info", "bench")
_SILENT = re.compile(r"^(?:expected\.ya?ml|README(?:\.\w+)?|LICENSE|INDEX\.txt|\..*|.*/\..*|flags\.txt)$", re.I)
_EXTENSIONS = re.compile(r"\.(?:prom|txt|log|csv|json|jsonl|yaml|yml|gz|out|err|md|metrics|sh|html)$", re.I)
_NUMBER = re.compile(r"^\d+(?:\.\d+)?$")
_LAYOUT = "A bundle holds scrapes/<target>/<unix>.prom, logs/, launch/, server_info/ or bench/"
_MAX_NOTES = 20
_LARGE = 8 << 20  # bytes: nobody pastes more, so it is one exposition as it came from an engine


@dataclass
class _Gathered:
    """What was read so far, kept apart by kind so that target names are known when configuration answers are read."""

    seen: list[Observations] = field(default_factory=list)
    scrapes: list[Taken] = field(default_factory=list)
    infos: list[Item] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def note(self, message: str) -> None:
        """Keeps a note; many of a kind are cut short."""
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(message)
        elif len(self.notes) == _MAX_NOTES:
            self.notes.append("further files have problems too")


def read_bundle(path: str, keep: frozenset[str] | None = None) -> Observations:
    """Observations of one path. Raises UsageError for a missing path, SourceError when nothing can be observed."""
    if path == STDIN:
        data, problem = archive.read_limited(sys.stdin.buffer)
        return _file(Item("stdin", data, problem), "stdin", keep)
    if not Path(path).exists():
        raise UsageError("no such file or folder", where=path)
    if Path(path).is_dir():
        return _whole(archive.folder(path), path, keep)
    large = _large_exposition(Path(path), keep)
    if large is not None:
        return Observations(scrapes=(large,))
    return _file(archive.single(path), path, keep)


def _large_exposition(path: Path, keep: frozenset[str] | None) -> Scrape | None:
    """A large exposition, read in pieces so that it is never in memory as a whole; None for anything else."""
    from diagnose.sources.exposition import parse_lines
    from diagnose.sources.scrapes import looks_like_exposition, scrape_of

    try:
        if path.stat().st_size < _LARGE:
            return None
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            head = stream.read(1 << 16)
            if not looks_like_exposition(head):
                return None
            pieces = iter(lambda: stream.read(1 << 20), "")
            found = parse_lines(itertools.chain([head], pieces), keep)
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror or error})", where=str(path)) from None
    return scrape_of(found, stem(path.name), path.stat().st_mtime) if found.samples else None


def _file(item: Item, where: str, keep: frozenset[str] | None) -> Observations:
    if not item.data.strip():
        raise SourceError("is empty", where=where, hint="Give metrics, logs, a command line or a bundle")
    if archive.kind(item):
        return _whole(archive.members(item, where), where, keep)
    item = archive.unpacked(item)
    if archive.kind(item):
        return _whole(archive.members(item, where), where, keep)
    gathered = _Gathered()
    _loose(item, gathered, keep, alone=True)
    return _finish(gathered, where, "Give /metrics text, an engine log, a command line, benchmark results or a bundle")


def _whole(items: Iterable[Item], where: str, keep: frozenset[str] | None) -> Observations:
    gathered = _Gathered()
    count = 0
    for item in items:
        count += bool(item.name)
        if item.problem:
            gathered.note(f"{item.name or where} {item.problem}")
        if item.name and (item.data or not item.problem):
            _item(archive.unpacked(item), gathered, keep)
    if not count:
        raise SourceError("holds no files", where=where, hint=_LAYOUT)
    return _finish(gathered, where)


def _item(item: Item, gathered: _Gathered, keep: frozenset[str] | None) -> None:
    """Reads one file of a bundle by the folder that it lies in, or by what it holds when it lies in none."""
    parts = list(PurePosixPath(item.name).parts)
    start = next((n for n, part in enumerate(parts[:-1]) if part in PARTS), None)
    if start is None:
        if parts[-1] == MISSING:
            gathered.missing.extend(_missing(item))
        elif not _SILENT.match(item.name) and not _SILENT.match(parts[-1]):
            _loose(item, gathered, keep, alone=False)
        return
    if _SILENT.match(parts[-1]) and parts[start] != "launch":
        return
    if item.problem and item.problem not in str(gathered.notes):
        gathered.note(f"{item.name} {item.problem}")
    inner = parts[start + 1 :]
    if parts[start] == "scrapes":
        _scrapes(item, inner[0] if len(inner) > 1 else "r0", gathered, keep)
    elif parts[start] == "server_info":
        gathered.infos.append(Item("/".join(inner), item.data, item.problem))
    elif text.is_binary(item.data):
        gathered.note(f"{item.name} is not text: ignored")
    else:
        gathered.seen.append(_part(parts[start], _decoded(item), stem("/".join(inner)), item.name))


def _missing(item: Item) -> Iterator[Missing]:
    """What a capture asked for and did not get; a list of ``target``, ``problem`` and ``hint``."""
    try:
        rows = json.loads(_decoded(item))
    except (ValueError, RecursionError):
        rows = None
    for row in rows[:1000] if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("target"), str):
            said = f"{row['target']}: {row.get('problem') or 'no answer'}"
            yield Missing(said[:300], "target not observed when the bundle was made", str(row.get("hint") or "")[:200])


def _part(kind: str, content: str, run: str, name: str) -> Observations:
    """Observations of a log, a launch text or a benchmark."""
    if kind == "logs":
        from diagnose.sources.logs import parse_log

        return parse_log(content, run)
    if kind == "launch":
        from diagnose.sources.launch import parse_launch

        return parse_launch(content, run)
    from diagnose.sources.bench import parse_bench

    benches = parse_bench(content, run, name)
    return Observations(benches=benches, notes=() if benches else (f"{name} holds no benchmark result: ignored",))


def stem(name: str) -> str:
    """The base name of a file without the extensions that say its kind: ``vllm-0.9.2.log.gz`` is ``vllm-0.9.2``."""
    base = PurePosixPath(name).name
    while (shorter := _EXTENSIONS.sub("", base)) not in (base, ""):
        base = shorter
    return base


def _decoded(item: Item) -> str:
    if item.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return item.data.decode("utf-16", "replace")
    return item.data.decode("utf-8", "replace").removeprefix("\ufeff")


def _scrapes(item: Item, target: str, gathered: _Gathered, keep: frozenset[str] | None) -> None:
    from diagnose.sources.scrapes import read_scrapes

    name = stem(item.name)
    time = float(name) if _NUMBER.match(name) else item.modified
    if text.is_binary(item.data):
        gathered.note(f"{item.name} is not text: ignored")
        return
    if not item.data.strip() and not item.problem:
        # An empty answer is an observation: the exporter is there and says nothing.
        empty = Scrape(target, time, {}, problems=(f"{item.name} is empty",))
        gathered.scrapes.append(Taken(empty, name, bool(_NUMBER.match(name))))
        return
    try:
        found = read_scrapes(_decoded(item), target, time, keep)
    except SourceError as error:
        gathered.note(f"{item.name}: {error.what}")
        return
    if item.problem and found:
        last = found[-1]
        problems = (*last.problems, f"{item.name} {item.problem}")
        found = (*found[:-1], Scrape(last.target, last.time, last.samples, last.types, last.foreign, problems))
    # Several scrapes in one file were given their times already.
    sure = bool(_NUMBER.match(name)) or len(found) > 1
    gathered.scrapes.extend(Taken(scrape, name, sure) for scrape in found)


def _loose(item: Item, gathered: _Gathered, keep: frozenset[str] | None, *, alone: bool) -> None:
    """A file outside the layout, or the only one: read as what it holds."""
    if text.is_binary(item.data):
        gathered.note(f"{item.name} is not text: ignored")
        return
    if item.problem and item.problem not in str(gathered.notes):
        gathered.note(f"{item.name} {item.problem}")
    content = _decoded(item)
    parts = text.split(content)
    name = stem(item.name)
    run = "server" if alone else name
    if parts.exposition:
        moment = name == "stdin" or _NUMBER.match(name) or (is_moment(name) and not alone)
        target = "r0" if moment else name
        _scrapes(Item(item.name, parts.exposition.encode(), "", item.modified), target, gathered, keep)
    for kind, part in (("logs", parts.log), ("launch", parts.launch), ("bench", parts.bench)):
        if part:
            gathered.seen.append(_part(kind, part, run, item.name))
    if parts.server_info:
        gathered.infos.append(Item("GET_" + item.name, parts.server_info.encode()))
    if text.is_html(content):
        gathered.note(f"{item.name} is a web page: ignored")
    elif parts == text.Parts(other=parts.other):
        gathered.note(f"{item.name} is neither metrics, log, command line nor benchmark: ignored")


def _finish(gathered: _Gathered, where: str, hint: str = _LAYOUT) -> Observations:
    """Everything together. Raises SourceError when that is nothing."""
    scrapes, notes = in_order(gathered.scrapes)
    targets = sorted({scrape.target for scrape in scrapes})
    facts = tuple(_info_facts(gathered, targets))
    total = Observations(scrapes=scrapes, facts=facts, notes=(*gathered.notes, *notes), missing=tuple(gathered.missing))
    for part in gathered.seen:
        total += part
    seen = (total.scrapes, total.stats, total.events, total.facts, total.benches, total.remarks)
    if any(seen):
        return total
    if len(gathered.notes) == 1:
        what = gathered.notes[0].removesuffix(": ignored").removeprefix(f"{Path(where).name} ")
        raise SourceError(what, where=where, hint=hint)
    what = "nothing in it can be observed" + (f" ({gathered.notes[0]}, ...)" if gathered.notes else "")
    raise SourceError(what, where=where, hint=hint)


def _info_facts(gathered: _Gathered, targets: list[str]) -> Iterator[Fact]:
    """Facts of configuration answers; raw ``GET_<path>`` files describe the only target."""
    from diagnose.sources.server_info import parse_server_info

    for item in gathered.infos:
        name = item.name
        raw = PurePosixPath(name).name.startswith(("GET_", "POST_"))
        folder = PurePosixPath(name).parts[0] if "/" in name else ""
        run = folder or ("" if raw else stem(name))
        if raw and not folder and len(targets) == 1:
            run = targets[0]
        elif raw and not folder and targets:
            gathered.note(f"server_info/{name}: several targets, it is not known which one it describes")
            continue
        if not item.data.strip() or text.is_binary(item.data):
            continue
        try:
            document = json.loads(_decoded(item))
        except (ValueError, RecursionError):
            if name.endswith((".json", ".txt")) and "metrics" not in name:
                gathered.note(f"server_info/{name} is not JSON: ignored")
            continue
        yield from parse_server_info(document, f"server_info/{name}", run)
