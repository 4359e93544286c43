"""Records a bundle from live engines: raw scrapes, configuration answers, redacted copies of logs and launch text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from diagnose.errors import SourceError, UsageError
from diagnose.sources.endpoint import engine_of, nothing_seen, read_answer
from diagnose.sources.fetch import Answer, HttpOptions
from diagnose.sources.http_errors import FetchError
from diagnose.sources.polling import Poll, Target, target_of
from diagnose.sources.redact import redact_json, redact_text

MAX_LOG = 64 * 1024**2  # bytes; of a longer log the first and the last half of this are taken
_ARCHIVE = (".tar.gz", ".tgz")


@dataclass
class _Recorder:
    """Writes what comes into a folder."""

    folder: Path
    scraped: int = 0
    infos: dict[str, dict[str, object]] = field(default_factory=dict)

    def scrape(self, target: Target, answer: Answer) -> str:
        """Keep one scrape as it came, compressed. Raises FetchError when it holds no metrics."""
        import gzip

        found = read_answer(answer, None)
        path = self.folder / "scrapes" / folder_name(target.name) / f"{answer.time:.3f}.prom.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(answer.body, 6, mtime=0))
        self.scraped += 1
        return engine_of(found)

    def info(self, target: Target, path: str, answer: object) -> None:
        """Keep one configuration answer, redacted, until all are there."""
        self.infos.setdefault(target.name, {})[path.partition("?")[0]] = redact_json(answer)

    def write_infos(self) -> None:
        """One file per path for one target, one file per target for several."""
        import json

        folder = self.folder / "server_info"
        for name, answers in self.infos.items():
            folder.mkdir(exist_ok=True)
            if len(self.infos) > 1:
                (folder / f"{folder_name(name)}.json").write_text(json.dumps(answers, indent=1), encoding="utf-8")
                continue
            for path, answer in answers.items():
                file = folder / f"GET_{path.strip('/').replace('/', '_')}.json"
                file.write_text(json.dumps(answer, indent=1), encoding="utf-8")


def capture(
    urls: Sequence[str],
    output: str | Path,
    *,
    window: float,
    options: HttpOptions,
    logs: Sequence[str | Path] = (),
    launches: Sequence[str | Path] = (),
    infos: Sequence[str | Path] = (),
    progress: Callable[[float], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Path:
    """The bundle written: a folder, or an archive when ``output`` ends in .tar.gz or .tgz; ``warn`` takes what lacks.

    Appears whole or not at all. Raises UsageError (output exists, missing file) and SourceError (no engine answered).
    """
    import shutil
    import tempfile

    path = Path(output)
    texts = _check(path, {"logs": logs, "launch": launches, "server_info": infos})
    targets = tuple(dict.fromkeys(target_of(url) for url in urls))
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.resolve().parent))
    except OSError as error:
        raise UsageError(f"cannot write there ({error.strerror})", where=str(path)) from None
    try:
        notes = _record(work / "bundle", targets, window, options, texts, progress)
        written = _place(work, path)
    except OSError as error:
        raise SourceError(f"cannot be written ({error.strerror or error})", where=str(path)) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if warn:
        for note in notes:
            warn(note)
    return written


def folder_name(target: str) -> str:
    """A target name as a folder name: ``host:8000/a`` is ``host-8000-a``."""
    return re.sub(r"[^\w.]+", "-", target).strip("-.") or "target"


def _check(output: Path, given: dict[str, Sequence[str | Path]]) -> list[tuple[str, Path]]:
    """The text files to copy, by part of the bundle. Raises UsageError before anything is asked of an engine."""
    if output.exists():
        raise UsageError("exists already", where=str(output), hint="Choose another name, or remove it")
    if not output.resolve().parent.is_dir():
        raise UsageError("no such folder", where=str(output.parent), hint="Create it first")
    texts = [(part, Path(p)) for part, paths in given.items() for p in paths]
    for _, file in texts:
        if not file.is_file():
            raise UsageError("no such file", where=str(file))
    return texts


def _record(
    folder: Path,
    targets: tuple[Target, ...],
    window: float,
    options: HttpOptions,
    texts: list[tuple[str, Path]],
    progress: Callable[[float], None] | None,
) -> tuple[str, ...]:
    folder.mkdir()
    recorder = _Recorder(folder)
    failed, notes = Poll(targets, options, recorder.scrape, recorder.info, progress).run(window)
    if targets and not recorder.scraped and not recorder.infos:
        raise nothing_seen(failed)
    recorder.write_infos()
    _write_missing(folder, failed, notes)
    for part, file in texts:
        _copy(folder / part, part, file)
    return (*notes, *(f"{t.name}: {e.what}" for t, e in failed.items()))


def _write_missing(folder: Path, failed: dict[Target, FetchError], notes: Sequence[str]) -> None:
    """``missing.json``: what was asked for and did not come, so that the bundle does not look whole."""
    import json

    rows = [{"target": t.name, "problem": e.what, "hint": e.hint} for t, e in failed.items()]
    for note in notes:
        target, mark, problem = note.partition(": the scrape at ")
        if mark:
            rows.append({"target": target, "problem": f"{mark[2:]}{problem}", "hint": ""})
    if rows:
        (folder / "missing.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _copy(folder: Path, part: str, file: Path) -> None:
    """A redacted copy of one file under its own name (decompressed), or the next free one."""
    text = _read(file)
    name = file.name.removesuffix(".gz")
    if part == "server_info":
        text = _redacted_json(text)
    elif part == "launch":
        text = redact_text(text)
        name = name if name.endswith((".txt", ".yaml", ".yml", ".json")) else f"{name}.txt"
    else:
        text = redact_text(text)
        name = name if name.endswith((".log", ".csv")) else f"{Path(name).stem}.log"
    folder.mkdir(exist_ok=True)
    stem, dot, suffix = name.partition(".")
    free = (folder / (f"{stem}-{n}{dot}{suffix}" if n else name) for n in range(1000))
    next(p for p in free if not p.exists()).write_text(text, encoding="utf-8")


def _read(file: Path) -> str:
    import gzip

    with gzip.open(file, "rb") if file.name.endswith(".gz") else file.open("rb") as stream:
        head = stream.read(MAX_LOG // 2)
        tail = b""
        while piece := stream.read(MAX_LOG // 2):
            tail = (tail + piece)[-(MAX_LOG // 2) :]
    return (head + tail).decode("utf-8", "replace")


def _redacted_json(text: str) -> str:
    import json

    try:
        return json.dumps(redact_json(json.loads(text)), indent=1)
    except ValueError:
        return redact_text(text)


def _place(work: Path, output: Path) -> Path:
    """Move the finished bundle to its name in one step."""
    import os
    import tarfile

    if not output.name.endswith(_ARCHIVE):
        os.rename(work / "bundle", output)
        return output
    name = output.name.removesuffix(".tar.gz").removesuffix(".tgz")
    with tarfile.open(work / "archive", "w:gz") as archive:
        archive.add(work / "bundle", arcname=name)
    os.rename(work / "archive", output)
    return output
