"""The report for a terminal: fits ``width``, readable without colour, one screen for one engine.

Lines are laid out here as styled spans; rich turns them into colour, and is loaded only for that.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from diagnose.model import Diagnosis
from diagnose.report import fleet, words
from diagnose.report.document import Page, Section, page

Line = list[tuple[str, str]]  # text and style of each span

_STYLES = {"act": "bold yellow", "healthy": "bold green", "engine-fault": "bold red", "cannot-tell": "bold cyan"}
_LABEL = 8
_FEWEST = 40
_CONTEXT = ("load", "models", "also", "guide", "missing", "note")


def render(diagnosis: Diagnosis, *, width: int = 80, color: bool = False) -> str:
    """The report as text with trailing newline; escape codes only with ``color``."""
    lines = list(_lines(page(diagnosis), max(_FEWEST, width)))
    if color:
        return _coloured(lines)
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines) + "\n"


def _coloured(lines: list[Line]) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    out = StringIO()
    console = Console(
        file=out, width=1000, force_terminal=True, color_system="standard", highlight=False, emoji=False,
        legacy_windows=False, no_color=False,
    )  # fmt: skip
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)
    return out.getvalue()


def _lines(shown: Page, width: int) -> Iterator[Line]:
    accent = _STYLES.get(shown.verdict, "bold")
    yield _header(shown, width, accent)
    yield []
    if shown.table is not None:
        yield from ([(line, "")] for line in _fleet(shown.table, width))
        yield []
    acting = True
    for section in _with_headline(shown):
        if acting and section.label in _CONTEXT:
            yield []
            acting = False
        yield from _section(section, width, accent)


def _with_headline(shown: Page) -> tuple[Section, ...]:
    """The headline opens the report; a step's change lines follow it in the same section."""
    first = shown.sections[0] if shown.sections else None
    if first is not None and first.label == "NEXT":
        return (Section("NEXT", (shown.headline,), first.strong), *shown.sections[1:])
    return (Section("NEXT", (shown.headline,)), *shown.sections)


def _header(shown: Page, width: int, accent: str) -> Line:
    """Who, how much was seen, and the verdict at the right edge; the name is cut to what is left."""
    verdict = words.VERDICT_WORDS.get(shown.verdict, shown.verdict)
    sure = f" ({shown.confidence} confidence)" if shown.confidence else ""
    if len(f"{shown.subject}  {shown.seen}  {verdict}{sure}") <= width:
        verdict += sure
    seen = f"  {shown.seen}" if len(shown.seen) + len(verdict) + _LABEL < width else ""
    room = width - len(verdict) - len(seen) - 2
    subject = shown.subject if len(shown.subject) <= room else shown.subject[: room - 1] + "…"
    return [(subject.ljust(room), "bold"), (seen, ""), ("  ", ""), (verdict, accent)]


def _section(section: Section, width: int, accent: str) -> Iterator[Line]:
    label, style = section.label.ljust(_LABEL), accent if section.label == "NEXT" else "dim"
    spans = [(text, "bold" if section.label == "NEXT" else "", "") for text in section.lines]
    spans += [(text, accent, "  ") for text in section.strong]
    for text, weight, indent in spans:
        for part in _wrap(text, width - _LABEL - len(indent)):
            yield [(label, style), (indent, ""), (part, weight)]
            label = " " * _LABEL


def _wrap(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, room, break_on_hyphens=False) or [""]


def _fleet(table: fleet.Table, width: int) -> list[str]:
    """The table: numbers keep their width, names are cut to what is left."""
    widths = [max(len(cell) for cell in column) for column in zip(fleet.HEADINGS, *table.rows, strict=True)]
    left = width - widths[1] - sum(widths[3:]) - 2 * (len(widths) - 1)
    widths[2] = min(widths[2], max(8, left // 2))
    widths[0] = min(widths[0], max(8, left - widths[2]))
    lines = [_row(row, widths) for row in (fleet.HEADINGS, *table.rows)]
    whole = [lines[0], "-" * len(lines[0]), *lines[1:], *([table.rest] if table.rest else [])]
    return [line[:width] for line in whole]


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    fitted = [_middle(cell, room) for cell, room in zip(cells, widths, strict=True)]
    return "  ".join(c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(fitted, widths, strict=True)))


def _middle(text: str, room: int) -> str:
    """The text cut in its middle: both ends of a pod's name tell more than its beginning."""
    if len(text) <= room:
        return text
    tail = (room - 1) // 2
    return f"{text[: room - 1 - tail]}…{text[-tail:]}"
