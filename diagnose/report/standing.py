"""Where the guide's entries stand and what is missing, in few lines: alike reasons are told once."""

from __future__ import annotations

from collections.abc import Iterable

from diagnose.model import Diagnosis, EntryStatus, Missing
from diagnose.report import words

_GROUPS = (
    ("already-applied", "applied"), ("later", "later"), ("ruled-out", "ruled out"), ("unknown", "can't tell"),
    ("not-indicated", "no sign"),
)  # fmt: skip
_ROOM = 60  # characters of one input; the JSON report has it whole
_LINE = 140  # two lines of a terminal
_MOST = 3


def guide_lines(guide: tuple[EntryStatus, ...]) -> tuple[str, ...]:
    """The walk in groups, each in the guide's order; the next step has its own section."""
    lines = []
    for status, name in _GROUPS:
        entries = [e for e in guide if e.status == status]
        if entries:
            lines.append(f"{name}: {_told(status, entries)}")
    return tuple(lines)


def _told(status: str, entries: list[EntryStatus]) -> str:
    """The entries with as much beside them as fits: reasons, else titles, else their numbers alone."""
    titled = ", ".join(f"{e.id} {e.title}" for e in entries)
    numbers = ", ".join(e.id for e in entries)
    if status == "not-indicated":
        return numbers
    reasoned = titled if status == "already-applied" else "; ".join(_reasoned(entries))
    return next((text for text in (reasoned, titled) if len(text) <= _LINE), numbers)


def _reasoned(entries: Iterable[EntryStatus]) -> list[str]:
    """Entries that share a reason in one piece: ``1.3, 2.2 (needs the start-up log)``; one alone has its title."""
    by_reason: dict[str, list[EntryStatus]] = {}
    for entry in entries:
        by_reason.setdefault(words.clean(entry.why), []).append(entry)
    return [words.article_list((_names(same), f"({why})" if why else ""), " ") for why, same in by_reason.items()]


def _names(entries: list[EntryStatus]) -> str:
    return f"{entries[0].id} {entries[0].title}" if len(entries) == 1 else ", ".join(e.id for e in entries)


def shorten(text: str, room: int = _ROOM) -> str:
    """The text cut at a word, with an ellipsis."""
    if len(text) <= room:
        return text
    return text[: room - 1].rsplit(" ", 1)[0].rstrip(" ,;:(") + "…"


def missing_line(missing: Missing) -> str:
    """One missing input: what, why it matters, how to get it."""
    what, why, how = (words.clean(part).rstrip(".") for part in (missing.what, missing.why, missing.how))
    return words.article_list((f"{what} ({why})" if why else what, how), ": ")


def missing_lines(diagnosis: Diagnosis) -> tuple[str, ...]:
    """What to add for a fuller view, one line per way to get it, the way that settles most first."""
    watched = any(t.scrapes > 1 for t in diagnosis.targets)
    ways: dict[str, list[str]] = {}
    for item in diagnosis.missing:
        if not (watched and item.how.startswith("scrape ")):
            ways.setdefault(words.clean(item.how), []).append(shorten(words.clean(item.what)))
    lines = [_way(how, items) for how, items in sorted(ways.items(), key=lambda way: -len(way[1]))]
    return (*lines[:_MOST], *more(len(lines) - _MOST, "way"))


def more(count: int, noun: str) -> tuple[str, ...]:
    """The line that says how much was left out; () when nothing was."""
    return (f"and {words.count(count, f'more {noun}')} (see --format json)",) if count > 0 else ()


def _way(how: str, items: list[str]) -> str:
    what = items[0] if len(items) == 1 else f"{shorten(items[0], 40)}, and {len(items) - 1} more"
    return f"{how} ({what})" if how else what
