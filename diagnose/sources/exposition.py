"""A fast parser of Prometheus text (0.0.4, 1.0.0) and OpenMetrics expositions, filtered to wanted families.

One regular expression splits a block of lines in C; label sets are parsed once and shared by every series that has
them. A malformed line is skipped and counted, never an exception.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, repeat
from operator import itemgetter

from diagnose.sources.exposition_labels import LabelSets
from diagnose.sources.exposition_line import Labels, MalformedLine, number_of, split_line

Sample = tuple[Labels, float, float | None]

MAX_SERIES = 600_000
MAX_LINE = 1 << 20
_BLOCK = 1 << 20
_PROBLEMS_SHOWN = 8

# Every line gives exactly one match, so that the index of a match is its line number. The quick pattern takes all up
# to the last brace as labels: ``parse_labels`` is strict, and what it refuses goes to the careful pattern.
_QUICK = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^\s{}#_]+)$|^# HELP .*$|^(.*)$", re.MULTILINE | re.ASCII)
_SUFFIX = re.compile(r"_(?:bucket|sum|count|total|created|info|gsum|gcount)$")
_ENGINE = re.compile(r"(?:ray_)?(vllm|sglang)[:_]")
_first = itemgetter(0)
_PREFIX = re.compile(r"[^_:.]*")


@dataclass(frozen=True)
class Exposition:
    """What one exposition holds, keyed by sample name (``x_bucket``); timestamps are unix seconds or None.

    ``foreign`` counts the samples of unwanted families by prefix; ``problems`` says what was skipped and where.
    """

    samples: dict[str, list[Sample]]
    types: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    duplicates: int = 0
    malformed: int = 0


def parse(
    text: str,
    keep: frozenset[str] | None = None,
    *,
    max_series: int = MAX_SERIES,
    sets: LabelSets | None = None,
) -> Exposition:
    """The exposition in ``text``; ``keep`` names the wanted families, None wants all."""
    return _read(lambda reader: _blocks(text), _Reader(keep, max_series, sets))


def parse_lines(
    chunks: Iterable[str],
    keep: frozenset[str] | None = None,
    *,
    max_series: int = MAX_SERIES,
    sets: LabelSets | None = None,
) -> Exposition:
    """The exposition in text that arrives in chunks of any size; holds one chunk and at most ``max_series`` samples."""
    return _read(lambda reader: _whole_lines(chunks, reader), _Reader(keep, max_series, sets))


def _read(blocks: Callable[[_Reader], Iterator[str]], reader: _Reader) -> Exposition:
    collecting = gc.isenabled()
    gc.disable()  # a hundred thousand new tuples, no garbage among them
    try:
        for block in blocks(reader):
            reader.feed(block)
        return reader.finish()
    finally:
        if collecting:
            gc.enable()


def sample_type(types: Mapping[str, str], name: str) -> str:
    """The declared type behind a sample name ("" when none): its own, or that of its family less the suffix."""
    return types.get(name) or types.get(_SUFFIX.sub("", name), "")


@lru_cache(maxsize=8192)
def is_wanted(name: str, keep: frozenset[str]) -> bool:
    """True when a sample name belongs to a family of ``keep``, in any spelling of the engine prefix."""
    spelled = {name, _ENGINE.sub(r"\1:", name, count=1), _ENGINE.sub(r"\1_", name, count=1)}
    return any(n in keep or _SUFFIX.sub("", n) in keep or f"{n}_total" in keep for n in spelled)


def _blocks(text: str) -> Iterator[str]:
    start, size = 0, len(text)
    while start < size:
        end = size if size - start <= _BLOCK else text.rfind("\n", start, start + _BLOCK)
        if end < 0:
            end = text.find("\n", start + _BLOCK)
        end = size if end < 0 else end
        yield text[start:end]
        start = end + 1


def _whole_lines(chunks: Iterable[str], reader: _Reader) -> Iterator[str]:
    """Blocks that end at a line end; a line above ``MAX_LINE`` is dropped up to its end."""
    rest, dropping = "", False
    for chunk in chunks:
        for piece in _pieces(chunk):
            cut = piece.rfind("\n")
            if cut < 0:
                if not dropping:
                    rest += piece
                if len(rest) > MAX_LINE:
                    rest, dropping = "", True
                    reader.malformed_line(reader.line, f"line longer than {MAX_LINE} characters")
                continue
            block = piece[piece.index("\n") : cut] if dropping else rest + piece[:cut]
            rest, dropping = piece[cut + 1 :], False
            yield block
    if rest:
        yield rest


def _pieces(chunk: str) -> Iterator[str]:
    for start in range(0, len(chunk), _BLOCK):
        yield chunk[start : start + _BLOCK]


class _Reader:
    """Accumulates one exposition; the only mutable thing here."""

    def __init__(self, keep: frozenset[str] | None, max_series: int, sets: LabelSets | None) -> None:
        self.keep, self.room = keep, max_series
        self.samples: dict[str, list[Sample]] = {}
        self.types: dict[str, str] = {}
        self.comments: set[str] = set()
        self.foreign: dict[str, int] = {}
        self.wanted: set[str] = set()
        self.unwanted: dict[str, str] = {}
        self.sets = sets or LabelSets()
        self.messages: list[str] = []
        self.line, self.duplicates, self.malformed, self.over = 1, 0, 0, 0
        self.stamped = self.eof = False

    def feed(self, block: str) -> None:
        """Take in a block of whole lines: runs of samples of one name at once, all else line by line."""
        number = self.line
        block = block.replace("\r\n", "\n") if "\r" in block else block
        for name, run in groupby(_QUICK.findall(block), _first):
            rows = list(run)
            if not name:
                for offset, row in enumerate(rows):
                    if row[3] and row[3] not in self.comments:
                        self.careful_line(row[3].strip(), number + offset)
            elif (name in self.wanted or self.decide(name, len(rows))) and not self.add_run(name, rows):
                for offset, (_, raw, value, _) in enumerate(rows[: self.room]):
                    self.careful_line(f"{name}{{{raw}}} {value}", number + offset)
            number += len(rows)
        self.line = number

    def add_run(self, name: str, rows: list[tuple[str, str, str, str]]) -> bool:
        """Keep a run of samples; False, and nothing kept, when a row needs more care."""
        if len(rows) > self.room:
            self.over += len(rows) - self.room
            rows = rows[: self.room]
        known = self.sets.known
        try:
            values = [float(row[2]) for row in rows]
            labels = [known[row[1]] for row in rows]
        except KeyError:
            try:
                labels = [known.get(row[1]) or self.sets.plain(row[1]) for row in rows]
            except MalformedLine:
                return False
        except ValueError:
            return False
        self.room -= len(rows)
        self.samples.setdefault(name, []).extend(zip(labels, values, repeat(None)))
        return True

    def add(self, name: str, labels: Labels, value: float, stamp: float | None) -> None:
        """Keep one sample."""
        if self.room <= 0:
            self.over += 1
            return
        self.room -= 1
        self.stamped = self.stamped or stamp is not None
        self.samples.setdefault(name, []).append((labels, value, stamp))

    def decide(self, name: str, count: int) -> bool:
        """True when the samples of this name are kept; counts them as foreign otherwise."""
        if name not in self.unwanted:
            known = self.keep is None or is_wanted(name, self.keep)
            if known and (self.keep is None or not name.endswith("_created")):
                self.wanted.add(name)
                return True
            prefix = _PREFIX.match(name)
            self.unwanted[name] = "" if known else (prefix.group() if prefix else "") or name
        if key := self.unwanted[name]:
            self.foreign[key] = self.foreign.get(key, 0) + count
        return False

    def careful_line(self, line: str, number: int) -> None:
        """Comments, metadata, first label sets, timestamps, exemplars, UTF-8 names, and whatever is malformed."""
        if line.startswith("#"):
            parts = line.split(None, 3)
            if len(parts) == 4 and parts[1] == "TYPE":
                self.comments.add(line)
                if self.keep is None or is_wanted(parts[2], self.keep):
                    self.types.setdefault(parts[2].strip('"'), parts[3].strip())
            self.eof = self.eof or line == "# EOF"
        elif line:
            try:
                name, raw, value, stamp = split_line(line)
                labels = self.sets.known.get(raw)
                if labels is None:
                    labels = self.sets.careful(raw, bare=not name) if self.room > 0 else {}
                if not name:
                    name = labels.get("__name__", "")
                    labels = self.sets.shared({k: v for k, v in labels.items() if k != "__name__"})
                if name in self.wanted or self.decide(name, 1):
                    self.add(name, labels, number_of(value), number_of(stamp) if stamp else None)
            except ValueError as error:
                self.malformed_line(number, str(error))

    def malformed_line(self, number: int, why: str) -> None:
        """Count a line that was skipped and remember the first few."""
        self.malformed += 1
        if len(self.messages) < _PROBLEMS_SHOWN:
            self.messages.append(f"line {number}: {why}")

    def drop_duplicates(self) -> None:
        """Leave the first sample of each series; equal label sets are one object."""
        for name, series in self.samples.items():
            if len(set(map(id, map(_first, series)))) < len(series):
                first = {id(sample[0]): sample for sample in reversed(series)}
                self.duplicates += len(series) - len(first)
                self.samples[name] = list(reversed(first.values()))

    def finish(self) -> Exposition:
        """The exposition read so far. Text timestamps are milliseconds, OpenMetrics ones (``# EOF``) seconds."""
        self.drop_duplicates()
        if self.stamped and not self.eof:
            self.samples = {
                name: [(labels, value, None if t is None else t / 1000) for labels, value, t in series]
                for name, series in self.samples.items()
            }
        problems = list(self.messages)
        if self.malformed > len(self.messages):
            problems.append(f"{self.malformed - len(self.messages)} more malformed lines")
        if self.duplicates:
            problems.append(f"{self.duplicates} duplicate series: the first of each is used")
        if self.over:
            problems.append(f"more series than are kept: {self.over} left out")
        samples = {name: series for name, series in self.samples.items() if series}
        return Exposition(samples, self.types, self.foreign, tuple(problems), self.duplicates, self.malformed)
