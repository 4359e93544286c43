"""Loaders shared by the tests: recordings, field reports and subjects built from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from diagnose.model import Value
from diagnose.subjects import Subject

DATA = Path(__file__).parent / "data"
CAPTURES = sorted(p.parent for p in (DATA / "captures").glob("*/expected.yaml"))
CASES = sorted(p.parent for p in (DATA / "cases").glob("*/expected.yaml"))


def subject(signals: Mapping[str, float], *, engine: str = "vllm", kind: str = "target", name: str = "r0") -> Subject:
    """A subject that has exactly these signals, all measured over a minute."""
    values = {k: Value(v, "metrics", 60.0) for k, v in signals.items()}
    return Subject(name, kind, engine, "", "tiny", values, {}, 2, 60.0)
