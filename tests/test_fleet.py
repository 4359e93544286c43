"""Spread over ranks and replicas, copies, and a router's view beside the worker's own."""

from __future__ import annotations

import pytest
from test_series import series

from diagnose import fleet
from diagnose.model import LogStat, Scrape, Value
from diagnose.series import TargetSeries
from diagnose.signals import metric_signals


def values(found: dict[str, Value]) -> dict[str, float]:
    return {k: v.value for k, v in found.items()}


def ranked(*waiting: float) -> TargetSeries:
    body = "".join(
        f'vllm:num_requests_running{{N,engine="{n}"}} 4; vllm:num_requests_waiting{{N,engine="{n}"}} {w};'
        f'vllm:kv_cache_usage_perc{{N,engine="{n}"}} 0.{n + 1};'
        for n, w in enumerate(waiting)
    )
    return series(body)


def replica(name: str, waiting: float, kv: float) -> TargetSeries:
    body = (
        f"vllm:num_requests_running{{N}} 4; "
        f"vllm:num_requests_waiting{{N}} {waiting}; vllm:kv_cache_usage_perc{{N}} {kv}"
    )
    only = series(body)
    return TargetSeries(name, tuple(Scrape(name, s.time, s.samples, s.types) for s in only.scrapes))


def test_ranks_of_one_target() -> None:
    found = values(fleet.rank_signals(ranked(0, 0, 30)))
    assert (found["ranks"], found["waiting_rank_max"], found["waiting_rank_spread"]) == (3.0, 30.0, 0.0)
    assert (found["kv_rank_spread"], found["kv_rank_min"], found["running_rank_spread"]) == (
        pytest.approx(0.2),
        0.1,
        1.0,
    )


def test_one_rank_has_no_spread() -> None:
    assert fleet.rank_signals(ranked(9)) == {}
    assert fleet.rank_signals(series("vllm:num_requests_waiting{N} 9")) == {}


def test_nobody_waits_is_even() -> None:
    assert values(fleet.rank_signals(ranked(0, 0)))["waiting_rank_spread"] == 1.0


def test_two_ranks_are_compared_with_each_other_and_more_by_the_median() -> None:
    assert values(fleet.rank_signals(ranked(5, 10)))["waiting_rank_spread"] == 0.5
    assert values(fleet.rank_signals(ranked(0, 9, 10)))["waiting_rank_spread"] == 0.9


def test_copies_of_a_rank_are_no_ranks() -> None:
    body = "".join(
        f'sglang:num_queue_reqs{{N,tp_rank="{n}"}} 9; sglang:num_running_reqs{{N,tp_rank="{n}"}} 4;' for n in range(4)
    )
    assert fleet.rank_signals(series(body)) == {}


def test_replicas_of_one_model() -> None:
    members = [replica("a", 40, 1.0), replica("b", 0, 0.2), replica("c", 1, 0.3)]
    found = values(fleet.replica_signals(members, {t.name: metric_signals(t) for t in members}))
    assert (found["ranks"], found["waiting_rank_max"], found["kv_rank_spread"]) == (3.0, 40.0, pytest.approx(0.8))


def test_a_replica_without_a_signal_is_left_out_not_zero() -> None:
    members = [replica("a", 40, 1.0), replica("b", 30, 0.9)]
    signals = {t.name: dict(metric_signals(t)) for t in members}
    del signals["b"]["requests_waiting"], signals["b"]["kv_usage"]
    found = values(fleet.replica_signals(members, signals))
    assert found["ranks"] == 2.0 and "waiting_rank_max" not in found and "kv_rank_spread" not in found


def test_one_replica_is_no_fleet() -> None:
    only = replica("a", 40, 1.0)
    assert fleet.replica_signals([only], {"a": metric_signals(only)}) == {}


def test_ranks_named_by_log_lines() -> None:
    lines = [
        LogStat("server", "vllm", 0.0, {"running": 4.0, "waiting": w, "kv_usage": u}, r)
        for r, w, u in (("0", 20.0, 1.0), ("1", 0.0, 0.1))
    ]
    found = values(fleet.log_rank_signals(lines))
    assert (found["ranks"], found["waiting_rank_max"], found["waiting_rank_spread"]) == (2.0, 20.0, 0.0)
    assert fleet.log_rank_signals(lines[:1]) == {}
    assert fleet.log_rank_signals([LogStat("server", "vllm", 0.0, {"running": 4.0})] * 2) == {}


def test_the_views_of_router_and_worker_are_put_side_by_side() -> None:
    router = series("dynamo_frontend_worker_active_decode_blocks 10; dynamo_frontend_model_total_kv_blocks 1000")
    worker = series("dynamo_component_active_decode_blocks 900; dynamo_component_total_blocks 1000")
    found = values(fleet.view_signals([router, worker]))
    assert (found["load_view_ratio"], found["worker_block_usage"]) == (pytest.approx(90.0), pytest.approx(0.9))


def test_views_need_both_sides() -> None:
    worker = series("dynamo_component_active_decode_blocks 900; dynamo_component_total_blocks 1000")
    assert "load_view_ratio" not in fleet.view_signals([worker])
    assert fleet.view_signals([series("vllm:num_requests_running{N} 1")]) == {}
