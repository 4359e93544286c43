"""What a guide entry and its moves consist of."""

from __future__ import annotations

from dataclasses import dataclass

COSTS = ("none", "reload", "restart", "redeploy", "hardware")
RISKS = ("none", "latency", "quality", "availability")


@dataclass(frozen=True)
class Flag:
    """How one engine spells a move, for versions ``since`` (inclusive) up to ``until`` (inclusive); "" is open.

    ``{value}`` in ``text`` is filled by the sizing function of the move, or by ``fallback`` in words.
    """

    engine: str
    text: str
    since: str = ""
    until: str = ""


@dataclass(frozen=True)
class Move:
    """One change of one guide entry, in one direction.

    ``requires`` / ``ruled_out`` / ``applied`` are conditions over signals (``symptoms/grammar.py``), "" is open.
    ``sizing`` names a function of ``diagnose.sizing`` that computes ``{value}``.
    """

    id: str
    title: str
    direction: str | None
    flags: tuple[Flag, ...]
    expect: tuple[str, ...]
    measure: str
    undo: str
    cost: str = "restart"
    risk: str = "none"
    requires: str = ""
    ruled_out: str = ""
    applied: str = ""
    sizing: str = ""
    fallback: str = ""
    then: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """One of the twelve optimizations of the guide, with its moves."""

    id: str
    phase: int
    title: str
    default_state: str
    what: str
    impact: str
    risk: str
    evaluation: str
    moves: tuple[Move, ...]
