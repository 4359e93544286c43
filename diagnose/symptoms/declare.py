"""What a symptom declaration consists of."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.symptoms import grammar

KINDS = ("fault", "cause", "effect", "opportunity", "monitoring", "benign", "info")
SEVERITIES = ("page", "ticket", "info")


@dataclass(frozen=True)
class Threshold:
    """A number with its unit, bounds and reason; users override it as ``<symptom>.<name>``."""

    name: str
    default: float
    unit: str
    low: float
    high: float
    reason: str


@dataclass(frozen=True)
class At:
    """A case value relative to a threshold, so that cases hold for any legal override."""

    threshold: str
    offset: float = 0.0


@dataclass(frozen=True)
class Symptom:
    """One pattern over signals.

    ``applies`` names what the symptom is about; where that is known to be off, the verdict is not-applicable.
    kind: ``fault`` the engine or a metric is broken, no tuning; ``cause`` a limit that hurts now; ``effect`` pain that
    causes explain; ``opportunity`` something free is left unused; ``monitoring`` the view is incomplete (cannot-tell
    when nothing else decides); ``benign`` looks alarming and is not (explains the symptoms that it names);
    ``info`` context only.
    """

    id: str
    title: str
    kind: str
    severity: str
    when: str
    meaning: str
    applies: str = ""
    hold: float = 0.0
    thresholds: tuple[Threshold, ...] = ()
    moves: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    confidence: str = "high"
    say: str = ""
    missing: str = ""
    alert: str = ""

    def node(self) -> grammar.Node:
        """The parsed condition."""
        return grammar.parse(self.when)

    def bounds(self) -> dict[str, float]:
        """Default thresholds by name."""
        return {t.name: t.default for t in self.thresholds}
