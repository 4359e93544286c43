"""The guide: twelve entries in the order of evaluation, each with its moves (``e1_1.py`` ... ``e4_3.py``)."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from diagnose.guide.declare import Entry, Flag, Move

__all__ = ["Entry", "Flag", "Move", "all_entries", "find_move"]


@functools.cache
def all_entries() -> dict[str, Entry]:
    """Entries by id ("1.1" ... "4.3"), in the guide's order."""
    found: dict[str, Entry] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        entry = getattr(importlib.import_module(f"{__name__}.{module}"), "ENTRY", None)
        if entry is not None:
            found[entry.id] = entry
    return dict(sorted(found.items()))


def find_move(ref: str) -> tuple[Entry, Move]:
    """Entry and move of a reference such as ``2.1/fewer-sequences``. Raises KeyError."""
    entry_id, _, move_id = ref.partition("/")
    entry = all_entries()[entry_id]
    for move in entry.moves:
        if move.id == move_id:
            return entry, move
    raise KeyError(ref)
