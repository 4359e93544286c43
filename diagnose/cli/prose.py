"""Plain paragraphs for ``explain`` and ``guide``: wrapped at the terminal's width, labels in a column."""

from __future__ import annotations

import textwrap

from diagnose.cli.output import width
from diagnose.guide import Flag, Move
from diagnose.report.words import ENGINE_NAMES


def paragraph(text: str, indent: str = "", hanging: str = "  ") -> list[str]:
    """The text wrapped; continuation lines hang by ``hanging``. [] for an empty text."""
    return textwrap.wrap(
        " ".join(text.split()), width(), initial_indent=indent, subsequent_indent=indent + hanging,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def labelled(label: str, *texts: str, column: int = 11) -> list[str]:
    """Texts under a label in the left column, each starting on its own line; [] when all are empty."""
    lines: list[str] = []
    for text in (t for t in texts if t):
        head = (label if not lines else "").ljust(column)
        wrapped = paragraph(text, " " * column, "")
        lines += [head + wrapped[0][column:], *wrapped[1:]]
    return lines


def flags(move: Move, indent: str, engine: str | None = None) -> list[str]:
    """The spellings of a move per engine and version range."""
    shown = [f for f in move.flags if engine in (None, f.engine)]
    return [line for f in shown for line in paragraph(spelling(f), indent)]


def spelling(flag: Flag) -> str:
    """One engine's spelling with the versions it holds for."""
    return f"{_who(flag)}: {flag.text.replace('{value}', 'N')}"


def _who(flag: Flag) -> str:
    name = ENGINE_NAMES.get(flag.engine, flag.engine)
    if flag.since and flag.since == flag.until:
        return f"{name} {flag.since}"
    if flag.since and flag.until:
        return f"{name} {flag.since} to {flag.until}"
    if flag.since:
        return f"{name} from {flag.since}"
    return f"{name} up to {flag.until}" if flag.until else name
