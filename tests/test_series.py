"""Scrapes as canonical metrics: resets, restarts, spellings, ranks, copies, routers, histograms, missing data."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose import histograms
from diagnose.engines.catalog import METRICS, known_families
from diagnose.histograms import Histogram
from diagnose.model import Scrape
from diagnose.series import TargetSeries, targets
from diagnose.sources.scrapes import read_scrapes


def series(*bodies: str, times: tuple[float, ...] = ()) -> TargetSeries:
    """One target from expositions 10 s apart; ``{N`` stands for ``{model_name="tiny"``."""
    scrapes: list[Scrape] = []
    for n, body in enumerate(bodies):
        lines = "".join(
            f"{line.strip()}\n" for line in body.replace("{N", '{model_name="tiny"').split(";") if line.strip()
        )
        at = times[n] if times else 100.0 + 10.0 * n
        scrapes += read_scrapes(lines, "r0", at, known_families())
    (target,) = targets(tuple(scrapes))
    return target


TOKENS = "vllm:generation_tokens_total{N}"
PREEMPTED = "vllm:num_preemptions_total{N}"


def test_increase_is_the_sum_over_intervals() -> None:
    target = series(f"{TOKENS} 100", f"{TOKENS} 160", f"{TOKENS} 400")
    assert (target.increase("generation_tokens"), target.window) == (300.0, 20.0)
    assert [(i.start, v) for i, v in target.increases("generation_tokens")] == [(0, 60.0), (1, 240.0)]
    assert target.lifetime("generation_tokens") == 400.0


def test_a_reset_drops_its_interval_only() -> None:
    target = series(f"{TOKENS} 100", f"{TOKENS} 160", f"{TOKENS} 7", f"{TOKENS} 47")
    assert (target.resets, target.increase("generation_tokens"), target.window) == (1, 100.0, 20.0)
    assert target.segment == 2


def test_a_reset_of_another_counter_drops_the_interval_too() -> None:
    """A restart is seen by one counter that fell, though the other has overtaken its old value already."""
    target = series(f"{TOKENS} 100; {PREEMPTED} 50", f"{TOKENS} 900; {PREEMPTED} 0")
    assert (target.resets, target.intervals, target.increase("generation_tokens")) == (1, (), None)


def test_a_histogram_count_that_falls_is_a_reset() -> None:
    target = series("vllm:time_to_first_token_seconds_count{N} 90", "vllm:time_to_first_token_seconds_count{N} 3")
    assert target.resets == 1


def test_a_new_process_start_is_a_restart_though_counters_grew() -> None:
    start = "process_start_time_seconds"
    target = series(f"{TOKENS} 10; {start} 50", f"{TOKENS} 800; {start} 104")
    assert (target.resets, target.intervals) == (1, ())
    steady = series(f"{TOKENS} 10; {start} 50.0", f"{TOKENS} 800; {start} 50.4")
    assert steady.resets == 0


def test_gauges_before_a_restart_belong_to_another_process() -> None:
    run = "vllm:num_requests_running{N}"
    target = series(f"{run} 60; {TOKENS} 900", f"{run} 2; {TOKENS} 10", f"{run} 3; {TOKENS} 20")
    assert target.gauge("running") == [(110.0, 2.0), (120.0, 3.0)]


def test_a_gauge_may_fall() -> None:
    target = series(f"vllm:num_requests_running{{N}} 9; {TOKENS} 1", f"vllm:num_requests_running{{N}} 2; {TOKENS} 5")
    assert target.resets == 0


def test_a_clock_that_does_not_advance_drops_the_scrape() -> None:
    target = series(f"{TOKENS} 1", f"{TOKENS} 9", f"{TOKENS} 20", times=(100.0, 90.0, 110.0))
    assert (target.clock_steps, len(target.scrapes), target.increase("generation_tokens")) == (1, 2, 19.0)
    same = series(f"{TOKENS} 1", f"{TOKENS} 9", times=(100.0, 100.0))
    assert (same.clock_steps, same.window) == (1, None)


def test_two_spellings_are_never_summed_and_the_newest_wins() -> None:
    target = series("vllm:kv_cache_usage_perc{N} 0.5; vllm:gpu_cache_usage_perc{N} 0.5")
    assert target.values("kv_usage") == [0.5]
    both = "vllm:prefix_cache_queries_total{N} %d; vllm:gpu_prefix_cache_queries_total{N} %d"
    assert series(both % (0, 0), both % (70, 70)).increase("prefix_queries") == 70.0
    old = series("vllm:gpu_cache_usage_perc{N} 0.25")
    assert old.values("kv_usage") == [0.25]


def test_both_separators_and_the_ray_prefix() -> None:
    for name in ("vllm:num_requests_running", "vllm_num_requests_running", "ray_vllm_num_requests_running"):
        target = series(f"{name}{{N}} 4")
        assert (target.engine, target.values("running")) == ("vllm", [4.0])
    for name in ("sglang:num_running_reqs", "sglang_num_running_reqs"):
        target = series(f"{name}{{N}} 4")
        assert (target.engine, target.values("running")) == ("sglang", [4.0])


def test_copies_of_tensor_parallel_ranks_count_once() -> None:
    body = "; ".join(f'sglang:num_running_reqs{{N,tp_rank="{r}",pp_rank="0"}} 12' for r in range(8))
    target = series(body)
    assert (target.values("running"), target.copies("running")) == ([12.0], 8)
    assert series('sglang:num_running_reqs{N,tp_rank="0"} 12').copies("running") == 1


def test_data_parallel_ranks_add_up_for_counts_and_show_the_fullest_for_usage() -> None:
    body = (
        'vllm:num_requests_running{N,engine="0"} 3; vllm:num_requests_running{N,engine="1"} 5;'
        'vllm:kv_cache_usage_perc{N,engine="0"} 0.2; vllm:kv_cache_usage_perc{N,engine="1"} 0.9'
    )
    target = series(body)
    assert (target.values("running"), target.values("kv_usage")) == ([8.0], [0.9])
    assert target.ranks("running") == [{"0": 3.0, "1": 5.0}]
    sglang = series('sglang:num_running_reqs{N,dp_rank="0"} 3; sglang:num_running_reqs{N,dp_rank="1"} 5')
    assert sglang.ranks("running") == [{"0": 3.0, "1": 5.0}]


def test_other_labels_add_up() -> None:
    body = (
        'vllm:request_success_total{N,finished_reason="stop"} %d; '
        'vllm:request_success_total{N,finished_reason="length"} %d'
    )
    target = series(body % (0, 0), body % (30, 12))
    assert (target.increase("finished"), target.increase("finished_length")) == (42.0, 12.0)


def test_a_router_that_re_exports_engine_names_is_no_engine() -> None:
    router = series(
        'vllm:num_requests_running{server="http://a:8000"} 40; vllm:num_requests_waiting{server="http://a:8000"} 9'
    )
    assert (router.engine, router.values("running")) == ("router", [None])
    mixed = series('vllm:num_requests_running{N} 4; vllm:num_requests_running{server="http://a:8000"} 40')
    assert (mixed.engine, mixed.values("running")) == ("vllm", [4.0])


def test_a_waiting_count_per_priority_is_not_added_to_the_total() -> None:
    target = series('sglang:num_queue_reqs{N} 5; sglang:num_queue_reqs{N,priority="1"} 3')
    assert target.values("waiting") == [5.0]


def test_nan_is_missing() -> None:
    target = series("vllm:kv_cache_usage_perc{N} NaN", "vllm:kv_cache_usage_perc{N} 0.4")
    assert (target.values("kv_usage"), target.gauge("kv_usage")) == ([None, 0.4], [(110.0, 0.4)])
    only = series("vllm:kv_cache_usage_perc{N} NaN; vllm:num_requests_running{N} 0")
    assert not only.present("kv_usage")


def test_a_counter_that_appears_later_started_from_zero() -> None:
    target = series(f"{TOKENS} 100", f"{TOKENS} 160; {PREEMPTED} 4")
    assert target.increase("preemptions") == 4.0


def test_missing_stays_missing() -> None:
    target = series("vllm:num_requests_running{N} 0", "vllm:num_requests_running{N} 0")
    assert target.increase("preemptions") is None and target.lifetime("preemptions") is None
    assert target.increases("preemptions") == [] and target.histogram("ttft") is None
    assert target.values("waiting") == [None, None] and target.gauge("waiting") == []
    assert target.info("cache_config") is None and target.by_label("spec_position") == {}


def test_one_scrape_has_no_increase() -> None:
    target = series(f"{TOKENS} 900")
    assert (target.increase("generation_tokens"), target.window, target.lifetime("generation_tokens")) == (
        None,
        None,
        900.0,
    )


def test_a_label_filter_chooses_the_series() -> None:
    body = (
        'vllm:num_requests_waiting_by_reason{N,reason="capacity"} 7; '
        'vllm:num_requests_waiting_by_reason{N,reason="deferred"} 2'
    )
    target = series(body)
    assert (target.values("waiting_capacity"), target.values("waiting_deferred")) == ([7.0], [2.0])


def test_units_are_scaled_to_base_units() -> None:
    assert series("sglang:graph_memory_usage_gb{N} 1.5; sglang:num_running_reqs{N} 1").values("graph_memory") == [
        1.5 * 2**30
    ]
    milli = series(
        'sglang:kv_transfer_latency_ms_bucket{N,le="100"} 4; sglang:kv_transfer_latency_ms_bucket{N,le="+Inf"} 4;'
        "sglang:kv_transfer_latency_ms_sum{N} 200; "
        "sglang:kv_transfer_latency_ms_count{N} 4; sglang:num_running_reqs{N} 1"
    )
    hist = milli.histogram("transfer_time")
    assert hist is not None and (hist.total, hist.count) == (pytest.approx(0.2), 4.0) and 0.1 in hist.buckets


def test_spec_positions_by_label() -> None:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    body = f'{name}{{N,position="0"}} %d; {name}{{N,position="1"}} %d'
    assert series(body % (10, 5), body % (90, 15)).by_label("spec_position") == {"0": 80.0, "1": 10.0}


TTFT = "vllm:time_to_first_token_seconds"


def hist_body(low: int, mid: int, top: int, total: float) -> str:
    counts = (("0.1", low), ("1.0", mid), ("+Inf", top))
    return (
        "; ".join(f'{TTFT}_bucket{{N,le="{le}"}} {n}' for le, n in counts)
        + f"; {TTFT}_sum{{N}} {total}; {TTFT}_count{{N}} {top}"
    )


def test_histograms_are_differences_and_skip_resets() -> None:
    target = series(
        hist_body(10, 20, 20, 4.0), hist_body(10, 30, 40, 34.0), hist_body(1, 2, 2, 1.0), hist_body(2, 4, 4, 2.0)
    )
    hist = target.histogram("ttft")
    assert hist == Histogram({0.1: 1.0, 1.0: 12.0, math.inf: 22.0}, 31.0, 22.0)
    alone = series(hist_body(10, 20, 20, 4.0)).histogram("ttft")
    assert alone == Histogram({0.1: 10.0, 1.0: 20.0, math.inf: 20.0}, 4.0, 20.0)


# values of Prometheus's histogram_quantile for buckets {0.1: 10, 0.5: 40, 1: 90, +Inf: 100}
KNOWN = [(0.05, 0.05), (0.1, 0.1), (0.25, 0.3), (0.4, 0.5), (0.5, 0.6), (0.9, 1.0), (0.95, 1.0), (0.99, 1.0)]


@pytest.mark.parametrize(("q", "expected"), KNOWN)
def test_quantile_equals_prometheus(q: float, expected: float) -> None:
    hist = Histogram({0.1: 10, 0.5: 40, 1.0: 90, math.inf: 100}, 0, 100)
    assert histograms.quantile(q, hist) == pytest.approx(expected)


def test_quantile_without_observations_or_buckets_is_missing() -> None:
    assert histograms.quantile(0.5, Histogram({0.1: 0, math.inf: 0}, 0, 0)) is None
    assert histograms.quantile(0.5, Histogram({}, 3.0, 2)) is None
    assert histograms.quantile(0.5, Histogram({math.inf: 5}, 3.0, 5)) is None
    assert histograms.quantile(0.5, Histogram({0.1: 5, 1.0: 5}, 3.0, 5)) is None


def test_share_above_snaps_to_the_next_edge() -> None:
    hist = Histogram({0.1: 50, 0.3: 90, 1.0: 98, math.inf: 100}, 0, 100)
    assert histograms.share_above(0.3, hist) == pytest.approx(0.1)
    assert histograms.share_above(0.2, hist) == pytest.approx(0.1)
    assert histograms.share_above(5.0, hist) is None
    assert histograms.share_above(0.3, Histogram({0.3: 0, math.inf: 0}, 0, 0)) is None


@given(st.lists(st.integers(0, 40), min_size=2, max_size=8), st.floats(0.01, 0.99))
def test_quantiles_stay_within_the_finite_edges_and_grow(counts: list[int], q: float) -> None:
    edges = [float(2**n) for n in range(len(counts) - 1)] + [math.inf]
    total = 0
    buckets = {}
    for edge, count in zip(edges, counts, strict=True):
        total += count
        buckets[edge] = float(total)
    low = histograms.quantile(q, Histogram(buckets, 0, total))
    high = histograms.quantile(min(0.99, q + 0.1), Histogram(buckets, 0, total))
    assert (low is None) == (total == 0)
    if low is not None and high is not None:
        assert 0 <= low <= edges[-2] and low <= high + 1e-9


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=12))
def test_increase_is_never_negative_and_matches_the_monotone_parts(readings: list[int]) -> None:
    target = series(*[f"{TOKENS} {r}" for r in readings])
    rises = [b - a for a, b in zip(readings, readings[1:], strict=False) if b >= a]
    assert target.resets == len(readings) - 1 - len(rises)
    assert target.increase("generation_tokens") == (sum(rises) if rises else None)


def test_every_metric_of_the_catalog_resolves_in_every_spelling() -> None:
    """A misspelt name would be silent: each spelling must be a family that the engine's own tables list."""
    from diagnose.engines.catalog import rows

    listed = {r.name for r in rows()}
    unlisted = {
        s.name
        for m in METRICS.values()
        for engine, spellings in m.spellings.items()
        if engine in ("vllm", "sglang")
        for s in spellings
        if s.name not in listed and s.name.removesuffix("_total") not in listed
    }
    assert not unlisted
