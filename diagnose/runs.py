"""Which log, launch and benchmark files describe which target: by name, by role, by engine."""

from __future__ import annotations

from diagnose.model import Observations
from diagnose.series import TargetSeries

ROLE_STEMS = ("prefill", "decode", "router", "frontend")


def of_target(observations: Observations, target: TargetSeries, found: tuple[TargetSeries, ...]) -> set[str]:
    """Base names of the files that describe a target: by name, by role, or all when it is the only one."""
    known = names(observations)
    if not known:  # scrapes alone: nothing to match against every peer
        return set()
    own = stem(target.name)
    members = {t.name for t in found}
    stems = {stem(t.name) for t in found if t.name != target.name}
    named = {n for n in known if n and (n == target.name or (n not in members and stem(n) == own))}
    others = {n for n in known if stem(n) in stems}
    logged = {s.run for s in observations.stats}
    free = {n for n in known - others - named if _fits(n, own, len(found) == 1, logged)}
    return named | {
        n
        for n in free
        if not target.engine or _is_client(observations, n) or engine(observations, n) in ("", target.engine)
    }


def _fits(name: str, own: str, alone: bool, logged: set[str]) -> bool:
    """Whether a file of no target's name belongs to a target: never another role's, a log only to the single target."""
    role = stem(name) if stem(name) in ROLE_STEMS else ""
    if role and (own in ROLE_STEMS or not alone):
        return False
    return alone or name not in logged


def _is_client(observations: Observations, name: str) -> bool:
    return name.startswith("client") or all(f.id.startswith("client_") for f in observations.facts if f.run == name)


def names(observations: Observations) -> set[str]:
    """Base names of all files that gave something."""
    parts = (observations.stats, observations.events, observations.facts, observations.benches, observations.remarks)
    return {item.run for part in parts for item in part}


def engine(observations: Observations, name: str) -> str:
    """Engine that a file speaks of, "" when it does not say."""
    for stat in observations.stats:
        if stat.run == name and stat.kind in ("vllm", "spec", "vllm_iteration"):
            return "vllm"
        if stat.run == name and stat.kind.startswith("sglang"):
            return "sglang"
    return next((str(f.value) for f in observations.facts if f.run == name and f.id == "engine"), "")


def stem(name: str) -> str:
    """A name without its number: ``decode-1`` is ``decode``."""
    return name.lower().rstrip("0123456789").rstrip("-_")


def label(names: list[str]) -> str:
    """The name under which files of one deployment are shown."""
    return next((n for n in names if not n.startswith("client")), names[0]) or "input"
