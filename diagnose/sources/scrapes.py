"""Expositions as scrapes: one per file, or several in a pasted dump; clear errors for what is no exposition."""

from __future__ import annotations

import re
from dataclasses import replace

from diagnose.errors import SourceError
from diagnose.model import Scrape
from diagnose.sources.exposition import Exposition, parse
from diagnose.sources.pasted import Block, split_dump, unquote

DEFAULT_SPACING = 15.0  # seconds between scrapes of one dump that does not say
_DAY = 86_400.0
_UNIX = 1e8  # smaller times are seconds of the day or offsets
_META = re.compile(r"^[ \t>]*#*[ \t]*(?:TYPE|HELP|UNIT)[ \t]+[a-zA-Z_:][\w:]*(?:[ \t]|$)", re.MULTILINE)
_LABELLED = re.compile(r"^[ \t>]*[a-zA-Z_:][\w:\\]*\{[^\n]*=\\?[\"“&][^\n]*\}[ \t]+[-+]?[\d.nNiI]", re.MULTILINE)
_BARE = re.compile(
    r"^[ \t>]*(?:(?:ray_)?(?:vllm|sglang)\\?[:_]\w[\w\\]*|(?:python|process|http)_[\w\\]+"
    r"|\w+_(?:total|bucket|sum|count))[ \t]+[-+]?[\d.][\d.eE+]*[ \t]*\d*[ \t]*$",
    re.MULTILINE,
)
_HEAD = 200_000
_PASTED_AT_MOST = 8 << 20  # nobody pastes more; a larger body with duplicates is one scrape


def looks_like_exposition(text: str) -> bool:
    """True when the text has at least one metadata line or sample line of Prometheus text or OpenMetrics."""
    head = text[:_HEAD]
    return any(pattern.search(head) for pattern in (_META, _LABELLED, _BARE))


def read_scrapes(text: str, target: str, time: float, keep: frozenset[str] | None = None) -> tuple[Scrape, ...]:
    """The scrapes in one text, in time order; raises SourceError when there is no sample in it.

    ``time`` (unix seconds) is that of the first scrape. Several scrapes in one text take their distance from the date
    lines or timestamps between them, or are taken to be 15 s apart, with a problem note.
    """
    found = parse(text, keep)
    seen = bool(found.samples or found.foreign)
    if seen and (not (found.malformed or found.duplicates) or len(text) > _PASTED_AT_MOST):
        return (scrape_of(found, target, time),)
    scrapes = _of_blocks(split_dump(unquote(text)), target, time, keep)
    if seen and len(scrapes) < 2 and _size(found) >= sum(len(v) for s in scrapes for v in s.samples.values()):
        problems = scrapes[0].problems if scrapes else found.problems  # those of a block do not count prose
        return (scrape_of(replace(found, problems=problems), target, time),)
    if not scrapes:
        what, hint = no_exposition(text)
        raise SourceError(what, where=target, hint=hint)
    return tuple(scrapes)


def _size(found: Exposition) -> int:
    return sum(len(series) for series in found.samples.values())


def scrape_of(found: Exposition, target: str, time: float, notes: tuple[str, ...] = ()) -> Scrape:
    """The scrape of one exposition; samples that all carry one timestamp were taken at that time, not at ``time``."""
    samples = {name: [(labels, value) for labels, value, _ in series] for name, series in found.samples.items()}
    stamped = common_stamp(found)
    return Scrape(
        target, time if stamped is None else stamped, samples, found.types, found.foreign, found.problems + notes
    )


def common_stamp(found: Exposition) -> float | None:
    """The timestamp that every sample carries, in unix seconds; None when they differ or are not there."""
    stamp: float | None = None
    for series in found.samples.values():
        for _, _, own in series:
            if own is None or own <= 0 or (stamp is not None and own != stamp):
                return None
            stamp = own
    return stamp


def no_exposition(text: str) -> tuple[str, str]:
    """What a text without any sample is, and what to do about it."""
    head = text[:4096].strip()
    low = head.lower()
    if not head:
        return "empty, no metrics", "Check that the engine is up and that this is its /metrics"
    if "\x00" in head or head.count("\ufffd") > len(head) // 20 or (not head.isprintable() and _controls(head)):
        return "binary data, not Prometheus text", "Give /metrics text (or a .gz of it), a bundle or a log"
    if low.startswith(("<!doctype", "<html", "<?xml")) or "<html" in low:
        return (
            "an HTML page, not Prometheus text",
            "Point to the engine's own /metrics, not to a proxy, login or UI",
        )
    if low.startswith(("{", "[")):
        hint = (
            "Save /metrics as text; for a Prometheus API use --prometheus URL"
            if '"status"' in low
            else ("Give /metrics text; a configuration answer goes to --server-info")
        )
        return "JSON, not Prometheus text", hint
    return "no metric samples in it", "Save what curl URL/metrics prints"


def _controls(head: str) -> bool:
    return sum(c < " " and c not in "\t\r\n\x1b" for c in head) > len(head) // 50


def _of_blocks(blocks: tuple[Block, ...], target: str, time: float, keep: frozenset[str] | None) -> list[Scrape]:
    """Scrapes of the blocks that hold samples, with times; several targets when the dump names them."""
    read = [(block, parse(block.text, keep)) for block in blocks]
    read = [(block, found) for block, found in read if found.samples or found.foreign]
    types = {name: kind for _, found in read for name, kind in found.types.items()}
    made: list[Scrape] = []
    for owner in dict.fromkeys(block.target for block, _ in read):
        own = [(block, found) for block, found in read if block.target == owner]
        times, notes = _times([(block.time, common_stamp(found)) for block, found in own], time)
        for (_, found), when in zip(own, times, strict=True):
            problems = found.problems + notes
            scrape = scrape_of(found, owner or target, when)
            made.append(replace(scrape, time=when, types=found.types or types, problems=problems))
    return sorted(made, key=lambda s: s.time)


def _times(marks: list[tuple[float | None, float | None]], start: float) -> tuple[list[float], tuple[str, ...]]:
    """Unix seconds of the scrapes of one target, from sample timestamps or date lines, and what to say about them."""
    if len(marks) == 1:
        return [start if marks[0][1] is None else marks[0][1]], ()
    for column in (1, 0):
        given = [mark[column] for mark in marks if mark[column] is not None]
        if len(given) == len(marks) and len(set(given)) > 1:
            return _absolute([t for t in given if t is not None], start)
    spaced = [start + DEFAULT_SPACING * n for n in range(len(marks))]
    return spaced, (f"{len(marks)} scrapes without times in one text: taken to be {DEFAULT_SPACING:g} s apart",)


def _absolute(given: list[float], start: float) -> tuple[list[float], tuple[str, ...]]:
    """Unix seconds from unix seconds, or from seconds of the day (which may pass midnight) or offsets."""
    times, day = [], 0.0
    for before, now in zip([given[0], *given], given, strict=False):
        day += _DAY if given[0] < _UNIX and now < before - _DAY / 2 else 0.0
        times.append(now + day if given[0] >= _UNIX else start + now + day - given[0])
    backwards = any(b < a for a, b in zip(times, times[1:], strict=False))
    return times, ("the clock goes backwards between scrapes: they are sorted by time",) if backwards else ()
