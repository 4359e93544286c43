"""Where documents go: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from diagnose.errors import EXIT_ACT, EXIT_CANNOT_TELL, EXIT_HEALTHY, UsageError
from diagnose.model import Diagnosis, EntryStatus, Missing

EXIT_OF = {"healthy": EXIT_HEALTHY, "act": EXIT_ACT, "engine-fault": EXIT_ACT, "cannot-tell": EXIT_CANNOT_TELL}
WIDEST = 100
MAX_NAME = 220  # bytes; a draft beside the file has a longer name, and file systems take 255
_ASCII = str.maketrans({"·": "-", "…": "~", "→": ">", "×": "x", "—": "-", "–": "-", "’": "'"})


def check_output(path: str | None) -> None:
    """Raises UsageError when a file could not be written there, before any work is done."""
    if path is None:
        return
    place = Path(path)
    if os.path.isdir(path):
        raise UsageError("is a folder", where=path, hint="-o needs a file name")
    if len(os.fsencode(place.name)) > MAX_NAME:
        raise UsageError("cannot be written (the file name is too long)", where=f"{place.name[:40]}...")
    if not os.path.isdir(place.parent):
        raise UsageError("no such folder", where=str(place.parent), hint="Create it first")
    writable = os.access(path, os.W_OK) if os.path.exists(path) else os.access(place.parent, os.W_OK | os.X_OK)
    if not writable:
        raise UsageError("cannot be written", where=path)


def emit(text: str, path: str | None = None) -> None:
    """The document to stdout, or to a file that appears whole or not at all."""
    if path is None:
        click.echo(encodable(text), nl=False)
        return
    place = Path(path)
    try:
        if place.exists() and not place.is_file():
            place.write_text(text, encoding="utf-8")  # /dev/stderr, a named pipe: nothing to replace
            return
        _replace(place.resolve(), text)
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror or error})", where=path) from None


def _replace(place: Path, text: str) -> None:
    draft = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)


def encodable(text: str) -> str:
    """The text in what stdout can show: plain ASCII marks where its encoding has no others."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
        return text
    except (UnicodeEncodeError, LookupError):
        return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def width() -> int:
    """Columns for text: 80 when stdout is no terminal, else what it has, up to WIDEST."""
    return min(shutil.get_terminal_size().columns or 80, WIDEST) if _terminal() else 80


def color() -> bool:
    """Whether stdout is a terminal that takes colour and nobody asked for none (NO_COLOR)."""
    return _terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def document(diagnosis: Diagnosis, form: str) -> str:
    """The report, laid out for stdout as it is."""
    from diagnose import report

    return report.render(diagnosis, form, width=width(), color=color())


def nothing_seen(what: str, why: str, how: str) -> Diagnosis:
    """The cannot-tell diagnosis of a run that observed nothing."""
    from diagnose.guide import all_entries

    guide = tuple(EntryStatus(e.id, e.title, "unknown", "nothing was observed") for e in all_entries().values())
    return Diagnosis("cannot-tell", None, (), guide, (), (), (), (Missing(what, why, how),), ())
