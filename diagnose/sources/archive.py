"""The files of a folder, a tar or a zip as (name, bytes), read in memory with limits; nothing is written to disk."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from diagnose.errors import SourceError

MAX_FILE = 128 * 1024**2
MAX_TOTAL = 1024**3
MAX_FILES = 20_000
_CHUNK = 1024**2
_DAMAGED = "is truncated or damaged: what could be read is used"
_TOO_LARGE = "is larger than {} MiB: the rest is ignored"


class _Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass(frozen=True)
class Item:
    """One file: its name relative to the bundle, its bytes, and what is wrong with it ("" when nothing is)."""

    name: str
    data: bytes
    problem: str = ""
    modified: float = 0.0


def read_limited(stream: _Readable, limit: int = MAX_FILE) -> tuple[bytes, str]:
    """Bytes up to a limit, and what went wrong on the way."""
    parts: list[bytes] = []
    size = 0
    try:
        while size < limit and (chunk := stream.read(min(_CHUNK, limit - size))):
            parts.append(chunk)
            size += len(chunk)
        more = bool(stream.read(1)) if size >= limit else False
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return b"".join(parts), _DAMAGED
    except OSError as error:
        return b"".join(parts), f"cannot be read ({error.strerror or error})"
    return b"".join(parts), _TOO_LARGE.format(limit // 1024**2) if more else ""


def gunzip(data: bytes, limit: int = MAX_FILE) -> tuple[bytes, str]:
    """Bytes of a gzip up to a limit, and what went wrong; one that ends early gives what came before."""
    parts: list[bytes] = []
    size = 0
    while data and size < limit:
        stream = zlib.decompressobj(31)
        try:
            while not stream.eof and size < limit and (chunk := stream.decompress(data, min(_CHUNK, limit - size))):
                parts.append(chunk)
                size += len(chunk)
                data = stream.unconsumed_tail
        except zlib.error:
            return b"".join(parts), _DAMAGED
        if not stream.eof:
            break
        data = stream.unused_data if stream.unused_data[:2] == b"\x1f\x8b" else b""
    else:
        return b"".join(parts), ""
    return b"".join(parts), _TOO_LARGE.format(limit // 1024**2) if size >= limit else _DAMAGED


def unpacked(item: Item) -> Item:
    """The item with gzip undone, whatever its name says."""
    if item.data[:2] != b"\x1f\x8b":
        return item
    data, problem = gunzip(item.data)
    return Item(item.name.removesuffix(".gz"), data, problem or item.problem, item.modified)


def folder(path: str) -> Iterator[Item]:
    """Every regular file below a folder, sorted by name; links that leave it are not followed."""
    root = Path(path)
    try:
        if not os.access(path, os.R_OK | os.X_OK):
            raise SourceError("permission denied", where=path, hint="Make the folder readable")
        names = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink())
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror or error})", where=path) from None
    for file in names:
        name = file.relative_to(root).as_posix()
        try:
            with file.open("rb") as stream:
                data, problem = read_limited(stream)
            yield Item(name, data, problem, file.stat().st_mtime)
        except OSError as error:
            yield Item(name, b"", f"cannot be read ({error.strerror or error})")


def single(path: str) -> Item:
    """One file. Raises SourceError when it cannot be read."""
    try:
        with open(path, "rb") as stream:
            data, problem = read_limited(stream)
            modified = os.fstat(stream.fileno()).st_mtime
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror or error})", where=path) from None
    if problem and not data:
        raise SourceError(problem, where=path)
    return Item(Path(path).name, data, problem, modified)


def kind(item: Item) -> str:
    """``tar``, ``zip`` or "" from the bytes themselves."""
    if item.data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    head = item.data
    if head[:2] == b"\x1f\x8b":
        head = gunzip(item.data[:65536], 1024)[0]
    elif head[:3] == b"BZh" or head[:6] == b"\xfd7zXZ\x00":
        return "tar"
    return "tar" if head[257:262] == b"ustar" else ""


def members(item: Item, where: str) -> Iterator[Item]:
    """The files of an archive; names that leave it are refused with a problem. Raises SourceError when it is broken."""
    yield from _zip(item, where) if kind(item) == "zip" else _tar(item, where)


def _safe(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return not path.is_absolute() and ".." not in path.parts and ":" not in path.parts[0] if path.parts else False


def _tar(item: Item, where: str) -> Iterator[Item]:
    import tarfile

    total = count = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(item.data), mode="r|*") as archive:
            for member in archive:
                count += 1
                if count > MAX_FILES or total > MAX_TOTAL:
                    yield Item("", b"", "holds too much: the rest is ignored")
                    return
                stream = archive.extractfile(member) if member.isfile() and _safe(member.name) else None
                if stream is None:
                    if not member.isdir():
                        yield Item(member.name, b"", "is a link, a device or leaves the bundle: ignored")
                    continue
                data, problem = read_limited(stream)
                total += len(data)
                yield Item(_clean(member.name), data, problem, float(member.mtime))
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, OSError, ValueError) as error:
        if not count:
            raise SourceError(
                "not a readable archive", where=where, hint="Give a bundle folder or a .tar.gz of it"
            ) from None
        yield Item("", b"", f"is truncated or damaged ({error}): what could be read is used")


def _zip(item: Item, where: str) -> Iterator[Item]:
    import zipfile

    total = 0
    try:
        archive = zipfile.ZipFile(io.BytesIO(item.data))
        entries = archive.infolist()[:MAX_FILES]
    except (zipfile.BadZipFile, ValueError, OSError):
        raise SourceError(
            "not a readable archive", where=where, hint="Give a bundle folder or a .tar.gz of it"
        ) from None
    for entry in entries:
        if entry.is_dir():
            continue
        if not _safe(entry.filename) or total > MAX_TOTAL:
            yield Item(entry.filename, b"", "leaves the bundle or is too much: ignored")
            continue
        try:
            with archive.open(entry) as stream:
                data, problem = read_limited(stream)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, zlib.error) as error:
            data, problem = b"", f"cannot be read ({error})"
        total += len(data)
        yield Item(_clean(entry.filename), data, problem)


def _clean(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).as_posix().removeprefix("./")
