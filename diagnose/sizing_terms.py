"""The nouns of a sizing: a term with unit and source, and the computed number with everything it came from."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One input or intermediate of a formula, in base units; ``source`` says where the value comes from."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True)
class Sizing:
    """A computed number with everything it was computed from.

    ``value`` is what the move needs (sequences, tokens, replicas, ...), ``formula`` the filled-in line for a report.
    """

    terms: tuple[Term, ...]
    kv_tokens: float | None = None
    max_sequences: int | None = None
    per_token_bytes: float | None = None
    notes: tuple[str, ...] = ()
    value: float | None = None
    unit: str = ""
    formula: str = ""

    def text(self) -> str:
        """``value`` as a flag takes it: an integer where it is one, else three decimals at most; "" when unknown."""
        if self.value is None:
            return ""
        return str(int(self.value)) if float(self.value).is_integer() else f"{self.value:.3f}".rstrip("0")


def positive(*values: float | None) -> bool:
    """True when every value is there, finite and above zero."""
    return all(value is not None and math.isfinite(value) and value > 0 for value in values)


def number(value: float) -> str:
    """A number for a formula line: thousands separated, one decimal only where it matters."""
    return f"{value:,.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:,.3g}"


def tenths(value: float) -> str:
    """A count of things that fit, cut (not rounded) to one decimal: 147.96 must not read as 148."""
    return f"{math.floor(value * 10 + 1e-9) / 10:,.1f}"
