"""The report for a terminal: fits ``width``, readable without colour, one screen for one engine."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from diagnose.model import Diagnosis
from diagnose.report import fleet, words
from diagnose.report.document import Page, Section, page

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_STYLES = {"act": "bold yellow", "healthy": "bold green", "engine-fault": "bold red", "cannot-tell": "bold cyan"}
_LABEL = 7
_FEWEST = 40
_CONTEXT = ("load", "models", "also", "guide", "missing", "note")


def render(diagnosis: Diagnosis, *, width: int = 80, color: bool = False) -> str:
    """The report as text with trailing newline; escape codes only with ``color``."""
    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out, width=max(_FEWEST, width), force_terminal=color, no_color=not color, highlight=False, markup=False,
        emoji=False, color_system="standard" if color else None, legacy_windows=False,
    )  # fmt: skip
    _print(console, page(diagnosis))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines()) + "\n"


def _print(console: Console, shown: Page) -> None:
    console.print(_header(shown, console.width))
    console.print()
    if shown.table is not None:
        console.print(_fleet(shown.table, console.width))
        if shown.table.rest:
            console.print(shown.table.rest)
        console.print()
    acting = True
    for section in _with_headline(shown):
        if acting and section.label in _CONTEXT:
            console.print()
            acting = False
        console.print(_section(section, _STYLES.get(shown.verdict, "bold")))


def _with_headline(shown: Page) -> tuple[Section, ...]:
    """The headline opens the report; a step's change lines follow it in the same section."""
    first = shown.sections[0] if shown.sections else None
    if first is not None and first.label == "NEXT":
        return (Section("NEXT", (shown.headline,), first.strong), *shown.sections[1:])
    return (Section("NEXT", (shown.headline,)), *shown.sections)


def _header(shown: Page, width: int) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    verdict = words.VERDICT_WORDS.get(shown.verdict, shown.verdict)
    verdict += f" ({shown.confidence} confidence)" if shown.confidence else ""
    row = Table.grid(expand=True, padding=(0, 2, 0, 0), pad_edge=False)
    row.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    row.add_column(justify="right", no_wrap=True)
    row.add_column(justify="right", no_wrap=True)
    room = width - len(verdict) - len(shown.seen) - 4
    row.add_row(
        Text(
            shown.subject if len(shown.subject) <= room else shown.subject[: max(8, room - 1)] + "…",
            style="bold" if shown.subject else "",
        ),
        Text(shown.seen),
        Text(verdict, style=_STYLES.get(shown.verdict, "bold")),
    )
    return row


def _section(section: Section, accent: str) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column(width=_LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    label = Text(section.label, style=accent if section.label == "NEXT" else "dim")
    for line in section.lines:
        grid.add_row(label, Text(line, style="bold" if section.label in ("NEXT", "") else ""))
        label = Text("")
    for line in section.strong:
        grid.add_row(label, Padding(Text(line, style=accent), (0, 0, 0, 2)))
        label = Text("")
    return grid


def _fleet(table: fleet.Table, width: int) -> RenderableType:
    """The table: numbers keep their width, names are cut to what is left."""
    from rich.text import Text

    widths = [max(len(cell) for cell in column) for column in zip(fleet.HEADINGS, *table.rows, strict=True)]
    left = width - widths[1] - sum(widths[3:]) - 2 * (len(widths) - 1)
    widths[2] = min(widths[2], max(8, left // 2))
    widths[0] = min(widths[0], max(8, left - widths[2]))
    lines = [_row(row, widths) for row in (fleet.HEADINGS, *table.rows)]
    return Text("\n".join([lines[0], "-" * len(lines[0]), *lines[1:]]), no_wrap=True)


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    fitted = [_middle(cell, room) for cell, room in zip(cells, widths, strict=True)]
    return "  ".join(c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(fitted, widths, strict=True)))


def _middle(text: str, room: int) -> str:
    """The text cut in its middle: both ends of a pod's name tell more than its beginning."""
    if len(text) <= room:
        return text
    tail = (room - 1) // 2
    return f"{text[: room - 1 - tail]}…{text[-tail:]}"
