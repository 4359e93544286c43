"""Loaders shared by the tests: recordings, field reports and subjects built from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from diagnose.engines.catalog import known_families
from diagnose.model import Observations, Value
from diagnose.sources.bundle import read_bundle
from diagnose.subjects import Subject

DATA = Path(__file__).parent / "data"
CAPTURES = sorted(p.parent for p in (DATA / "captures").glob("*/expected.yaml"))
CASES = sorted(p.parent for p in (DATA / "cases").glob("*/expected.yaml"))


def subject(signals: Mapping[str, float], *, engine: str = "vllm", kind: str = "target", name: str = "r0") -> Subject:
    """A subject that has exactly these signals, all measured over a minute."""
    values = {k: Value(v, "metrics", 60.0) for k, v in signals.items()}
    return Subject(name, kind, engine, "", "tiny", values, {}, 2, 60.0)


def judge(expected: Mapping[str, Any], verdict: str, entry: str | None) -> tuple[bool, bool]:
    """Strictly right, and wrong advice, as the field reports are scored."""
    also = expected.get("also_accept") or []
    strict = verdict == expected["verdict"] and (verdict != "act" or entry == expected["next"])
    lenient = strict or (entry in also if verdict == "act" else verdict in also)
    unasked = verdict == "act" and expected["verdict"] != "act" and not lenient
    return strict, unasked or entry in (expected.get("must_not_next") or [])


def read(folder: Path) -> tuple[Observations, dict[str, Any]]:
    """What the sources see in a bundle, and the expected answer beside it."""
    expected = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
    return read_bundle(str(folder), known_families()), expected
