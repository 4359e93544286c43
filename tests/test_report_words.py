"""Numbers and sentences as people write them."""

from __future__ import annotations

import math

import pytest

from diagnose.model import Evidence, Finding, Value
from diagnose.report import words
from diagnose.symptoms import Symptom, Threshold


@pytest.mark.parametrize(
    ("value", "said"),
    [(4096, "4,096"), (3.4, "3.4"), (3.0, "3"), (0.0, "0"), (0.25, "0.25"), (0.0123, "0.012"), (1e-7, "0"),
     (-2.5, "-2.5"), (123.4, "123"), (math.nan, "?"), (math.inf, "unlimited")],
)  # fmt: skip
def test_plain(value: float, said: str) -> None:
    assert words.plain(value) == said


@pytest.mark.parametrize(
    ("value", "said"), [(1.0, "100 %"), (0.034, "3.4 %"), (0.0, "0 %"), (0.999, "100 %"), (math.nan, "?")]
)
def test_percent(value: float, said: str) -> None:
    assert words.percent(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0 s"), (0.0042, "4.2 ms"), (0.25, "250 ms"), (0.9996, "1 s"), (1.44, "1.4 s"), (27.2, "27 s"),
     (900, "15 min"), (9000, "2.5 h"), (math.inf, "?")],
)  # fmt: skip
def test_seconds(value: float, said: str) -> None:
    assert words.seconds(value) == said


@pytest.mark.parametrize(
    ("value", "unit", "signal", "said"),
    [
        (0.93, "ratio", "kv_usage_max", "93 %"),
        (3.0, "ratio", "preemptions_per_finished", "3"),
        (0.18, "ratio", "ab_1_3_gain", "18 %"),
        (57.0, "requests", "", "57"),
        (61.3, "tokens/s", "", "61.3 tokens/s"),
        (6.7e9, "bytes", "", "6.2 GiB"),
        (96.0, "bytes", "", "96 B"),
        (2.0**20, "bytes/s", "", "1 MiB/s"),
    ],
)
def test_quantity(value: float, unit: str, signal: str, said: str) -> None:
    assert words.quantity(value, unit, signal) == said


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [(1.0, "requests", "1 request"), (57.0, "requests", "57 requests"), (4096.0, "tokens", "4,096 tokens"),
     (0.5, "s", "500 ms"), (0.5, "ratio", "0.5"), (2.0, "tokens/s", "2 tokens/s"), (1.0, "", "1")],
)  # fmt: skip
def test_counted_names_what_is_counted(value: float, unit: str, said: str) -> None:
    assert words.counted(value, unit) == said


def test_clean_leaves_no_control_escape_or_bidi_characters() -> None:
    assert words.clean("a\x1b[31mred\x1b[0m\x07\n b\u202e \x00c\ud800") == "ared b c"


def test_a_comparison_names_value_and_bound() -> None:
    evidence = Evidence("kv_usage_max", 1.0, "ratio", ">=", 0.95, "metrics", 86.0)
    assert words.comparison(evidence) == "KV cache usage, peak 100 % (at least 95 %)"


def test_a_finding_of_an_unknown_symptom_is_told_by_the_comparisons_that_hold() -> None:
    held = Evidence("kv_usage_max", 1.0, "ratio", ">=", 0.95, "metrics")
    other = Evidence("requests_waiting", 0.0, "requests", ">", 5.0, "metrics")
    said = words.sentence(Finding("some_new_thing", "present", "r0", "high", (held, other)))
    assert said == "some new thing: KV cache usage, peak 100 % (at least 95 %)"


SYMPTOM = Symptom(
    "x",
    "X",
    "cause",
    "ticket",
    "kv_usage_max >= full",
    "",
    thresholds=(Threshold("full", 0.95, "ratio", 0.5, 1.0, "why"),),
)


def test_a_template_takes_signals_and_thresholds_and_drops_parts_without_numbers() -> None:
    template = "KV at {kv_usage_max} (full from {full}), {requests_waiting} waiting"
    evidence = (Evidence("kv_usage_max", 1.0, "ratio", ">=", 0.95, "metrics"),)
    assert words.fill(template, evidence, {}, SYMPTOM) == "KV at 100 % (full from 95 %)"
    known = {"requests_waiting": Value(57.0, "metrics")}
    assert words.fill(template, evidence, known, SYMPTOM) == "KV at 100 % (full from 95 %), 57 waiting"
