"""The catalog tables and the spellings made from them: what each engine version calls what."""

from __future__ import annotations

import pytest

from diagnose.engines.catalog import METRICS, Metric, Spelling, known_families, rows, signal_title, signal_unit

KINDS: dict[str, set[str]] = {}
for _row in rows():
    KINDS.setdefault(_row.name, set()).add(_row.kind)
SPELT = [
    (metric, spelling)
    for metric in METRICS.values()
    for engine, spellings in metric.spellings.items()
    if engine in ("vllm", "sglang")
    for spelling in spellings
]


@pytest.mark.parametrize(("metric", "spelling"), SPELT, ids=[f"{m.id}-{s.name}" for m, s in SPELT])
def test_a_spelling_is_a_name_of_the_engine(metric: Metric, spelling: Spelling) -> None:
    """A misspelt name would be silent: the signal would be missing for ever."""
    kinds = KINDS.get(spelling.name) or KINDS.get(spelling.name.removesuffix("_total"))
    assert kinds, f"{spelling.name} is in no table"
    if metric.kind != "info" and not spelling.kind:
        assert any(metric.kind in kind.lower() for kind in kinds), f"{spelling.name} is {kinds}, not a {metric.kind}"


def test_counters_are_read_by_the_name_that_is_exposed() -> None:
    """Engines built on prometheus_client append _total to counters; the tables list the exposed name."""
    odd = [s.name for m, s in SPELT if m.kind == "counter" and not s.kind and not s.name.endswith("_total")]
    assert odd == []


def test_ranks_add_up_for_counts_and_show_the_fullest_for_usage() -> None:
    for metric in METRICS.values():
        if metric.kind in ("counter", "histogram"):
            assert metric.combine == "sum", metric.id
        if metric.kind == "gauge" and metric.unit == "ratio" and "usage" in metric.id:
            assert metric.combine == "max", metric.id
        if metric.kind == "gauge" and metric.unit == "requests":
            assert metric.combine == "sum", metric.id


def test_no_engine_spells_one_metric_twice_alike() -> None:
    for metric in METRICS.values():
        for spellings in metric.spellings.values():
            names = [(s.name, tuple(s.only.items()), tuple(s.without.items())) for s in spellings]
            assert len(names) == len(set(names)), metric.id


def test_both_engines_spell_the_core() -> None:
    core = (
        "running",
        "waiting",
        "kv_usage",
        "preemptions",
        "finished",
        "prompt_tokens",
        "generation_tokens",
        "prefix_queries",
        "prefix_hits",
        "ttft",
        "itl",
        "e2e",
        "queue_time",
        "cache_config",
    )
    assert [m for m in core if not {"vllm", "sglang"} <= METRICS[m].spellings.keys()] == []


def test_known_families_hold_every_spelling() -> None:
    assert {s.name for _, s in SPELT} <= known_families()


def test_generated_signals_have_title_and_unit() -> None:
    assert (signal_unit("log_oom_cuda"), signal_unit("ab_3_1_gain"), signal_unit("kv_usage")) == (
        "lines",
        "ratio",
        "ratio",
    )
    assert all(signal_title(s) for s in ("config_max_num_seqs", "log_oom_cuda", "ab_3_1_gain", "kv_usage"))
