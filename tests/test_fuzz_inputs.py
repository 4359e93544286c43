"""Mutated recordings and logs through the whole pipeline: no exception, one of four verdicts, a valid document."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose import walk
from diagnose.engines.catalog import known_families
from diagnose.errors import DiagnoseError
from diagnose.model import Observations
from diagnose.report import json_
from diagnose.settings import resolve
from diagnose.sources.logs import parse_log
from diagnose.sources.scrapes import read_scrapes

DATA = Path(__file__).parent / "data" / "captures"
RECORDINGS = ("vllm-cpu-0.32.0-02-preemption-storm", "sglang-0.5.23-kv-full-retracting", "vllm-0.9.2-hung")
SCHEMA = json.loads(resources.files("diagnose.report").joinpath("schema.json").read_text(encoding="utf-8"))
SETTINGS = resolve(None)
JUNK = ("NaN", "-1", "1e308", "+Inf", "\x00", "{", '"', "é", "\x1b[31m", "0", "18446744073709551616")

mutation = st.tuples(
    st.sampled_from(("drop", "repeat", "cut", "value", "insert", "swap")),
    st.floats(0, 0.999),
    st.floats(0, 0.999),
    st.sampled_from(JUNK),
)


@cache
def scrapes(name: str) -> tuple[str, ...]:
    files = sorted((DATA / name / "scrapes").rglob("*.prom.gz"))
    return tuple(gzip.decompress(f.read_bytes()).decode() for f in files[1:4])


@cache
def log() -> str:
    return (DATA / RECORDINGS[0] / "logs" / "server.log").read_text(encoding="utf-8", errors="replace")


def mutate(text: str, changes: list[tuple[str, float, float, str]]) -> str:
    lines = text.splitlines()
    for how, where, other, junk in changes:
        if not lines:
            break
        at, second = int(where * len(lines)), int(other * len(lines))
        if how == "drop":
            del lines[at : at + 1 + second // 10]
        elif how == "repeat":
            lines.insert(second, lines[at])
        elif how == "cut":
            lines[at] = lines[at][: int(other * len(lines[at]))]
        elif how == "value":
            lines[at] = lines[at].rpartition(" ")[0] + " " + junk
        elif how == "insert":
            lines.insert(at, junk)
        else:
            lines[at], lines[second] = lines[second], lines[at]
    return "\n".join(lines)


def check(observations: Observations) -> None:
    found = walk.diagnose(observations, SETTINGS)
    assert found.verdict in walk.WORST_FIRST and (found.verdict == "act") == (found.next is not None)
    jsonschema.validate(json.loads(json_.render(found)), SCHEMA)


@pytest.mark.parametrize("name", RECORDINGS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.lists(mutation, max_size=6),
    times=st.lists(st.sampled_from((0.0, 15.0, 15.0, -30.0, 1e-6, 1e9)), min_size=3, max_size=3),
)
def test_mutated_scrapes(name: str, changes: list[tuple[str, float, float, str]], times: list[float]) -> None:
    found = Observations()
    at = 1_796_000_000.0
    for text, step in zip(scrapes(name), times, strict=True):
        at += step
        try:
            found += Observations(scrapes=read_scrapes(mutate(text, changes), "r0", at, known_families()))
        except DiagnoseError:
            continue
    check(found)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes=st.lists(mutation, max_size=8))
def test_mutated_logs(changes: list[tuple[str, float, float, str]]) -> None:
    check(parse_log(mutate(log(), changes), "server"))


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=400))
def test_any_text_as_log(text: str) -> None:
    check(parse_log(text, "server"))
