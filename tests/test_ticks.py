"""The course of a run: the same shapes from scrapes and from log lines; missing columns give no shape."""

from __future__ import annotations

import pytest
from test_series import series

from diagnose import ticks
from diagnose.model import LogStat
from diagnose.ticks import Tick


def shape(*course: Tick) -> dict[str, float]:
    return {k: v.value for k, v in ticks.shape_signals(course, "log").items()}


def gauges(*course: Tick) -> dict[str, float]:
    return {k: v.value for k, v in ticks.gauge_signals(course, "log").items()}


def at(
    n: int,
    running: float | None,
    waiting: float | None,
    kv: float | None,
    generation: float | None = 100.0,
    prompt: float | None = 0.0,
    preemptions: float | None = None,
) -> Tick:
    known = [x for x in (generation, prompt) if x is not None]
    return Tick(
        10.0 * n,
        running,
        waiting,
        kv,
        generation,
        prompt,
        any(x > 0 for x in known) if known else None,
        preemptions,
        10.0,
    )


def stat(time: float | None, rank: str = "", kind: str = "vllm", **values: float) -> LogStat:
    return LogStat("server", kind, time, values, rank)


def test_ticks_of_scrapes() -> None:
    body = (
        "vllm:num_requests_running{N} %d; vllm:num_requests_waiting{N} 1; "
        "vllm:generation_tokens_total{N} %d; vllm:prompt_tokens_total{N} 10"
    )
    course = ticks.from_series(series(body % (3, 100), body % (5, 600)))
    assert course == (Tick(110.0, 5.0, 1.0, None, 50.0, 0.0, True, None, 10.0),)


def test_a_reset_makes_no_tick() -> None:
    body = "vllm:num_requests_running{N} 3; vllm:generation_tokens_total{N} %d"
    assert len(ticks.from_series(series(body % 100, body % 5, body % 50))) == 1


def test_nothing_says_whether_tokens_moved() -> None:
    body = "vllm:num_requests_running{N} 3; vllm:num_requests_waiting{N} 3"
    course = ticks.from_series(series(body, body))
    assert [t.moved for t in course] == [None]
    assert "stalled_seconds" not in shape(*course)


def test_a_running_sglang_moves_though_its_counters_stand() -> None:
    """SGLang books tokens when a request finishes; the throughput gauge shows that steps are made."""
    body = "sglang:num_running_reqs{N} 9; sglang:generation_tokens_total{N} 500; sglang:gen_throughput{N} %s"
    assert shape(*ticks.from_series(series(body % "80.0", body % "80.0")))["stalled_seconds"] == 0.0
    assert shape(*ticks.from_series(series(body % "0.0", body % "0.0")))["stalled_seconds"] == 10.0


def test_log_lines_of_ranks_at_one_time_add_up() -> None:
    lines = [
        stat(t, rank, running=r, waiting=1, kv_usage=u, generation_tps=10.0)
        for t in (0.0, 10.0)
        for rank, r, u in (("0", 3.0, 0.2), ("1", 5.0, 0.9))
    ]
    course = ticks.from_log(lines)
    assert [(t.running, t.waiting, t.kv, t.generation) for t in course] == [(8.0, 2.0, 0.9, 20.0)] * 2


def test_lines_without_times_are_ten_seconds_apart() -> None:
    course = ticks.from_log([stat(None, running=1), stat(None, running=2)])
    assert [t.time for t in course] == [0.0, 10.0]


def test_other_kinds_of_lines_make_no_ticks() -> None:
    assert (
        ticks.from_log(
            [
                stat(0.0, kind="gpu", utilization=1.0),
                stat(0.0, kind="spec", accept_rate=0.5),
                stat(0.0, running=1, kind="sglang_prefill"),
            ]
        )
        == ()
    )


def test_plain_signals() -> None:
    found = gauges(at(0, 2, 0, 0.5, 100, 50, 0), at(1, 4, 6, 0.9, 300, 50, 3))
    assert (found["requests_running"], found["requests_running_max"], found["requests_running_last"]) == (3.0, 4.0, 4.0)
    assert (found["waiting_over_running"], found["generation_tps"], found["preemptions"]) == (1.0, 200.0, 3.0)
    assert found["preemptions_per_running"] == 0.75 and found["tokens_moved"] == 2500.0
    assert "kv_usage" not in gauges(at(0, 2, 0, None))
    assert gauges() == {}


@pytest.mark.parametrize(
    ("course", "seconds"),
    [
        ([at(0, 1, 0, 0.1), at(1, 1, 0, 0.1)], 0.0),
        ([at(0, 1, 0, 0.1), at(1, 1, 0, 0.1, 0, 0), at(2, 1, 0, 0.1, 0, 0)], 20.0),
        ([at(1, 1, 0, 0.1, 0, 0), at(2, 1, 0, 0.1, 0, 0)], 20.0),
        ([at(0, 1, 0, 0.1, 0, 0), at(1, 1, 0, 0.1)], 0.0),
    ],
)
def test_stalled_seconds_at_the_end(course: list[Tick], seconds: float) -> None:
    assert shape(*course)["stalled_seconds"] == seconds


def test_running_falls_at_a_full_cache_while_the_queue_grows() -> None:
    assert shape(at(0, 60, 0, 0.99), at(1, 50, 10, 1.0), at(2, 40, 20, 1.0))["running_falls_at_full_kv"] == 2.0
    assert shape(at(0, 60, 0, 0.9), at(1, 50, 10, 0.981))["running_falls_at_full_kv"] == 1.0
    assert shape(at(0, 60, 0, 0.9), at(1, 50, 10, 0.979))["running_falls_at_full_kv"] == 0.0
    assert shape(at(0, 60, 10, 0.6), at(1, 50, 20, 0.7))["running_falls_at_full_kv"] == 0.0
    assert shape(at(0, 60, 20, 1.0), at(1, 50, 10, 1.0))["running_falls_at_full_kv"] == 0.0
    assert "running_falls_at_full_kv" not in shape(at(0, 60, 0, None), at(1, 50, 10, None))
    assert "running_falls_at_full_kv" not in shape(at(0, 60, 0, 1.0))


def test_kv_rising_needs_three_points_and_no_fall() -> None:
    assert shape(at(0, 1, 0, 0.2), at(1, 1, 0, 0.3), at(2, 1, 0, 0.5))["kv_rising"] == pytest.approx(0.3)
    assert shape(at(0, 1, 0, 0.2), at(1, 1, 0, 0.6), at(2, 1, 0, 0.5))["kv_rising"] == 0.0
    assert "kv_rising" not in shape(at(0, 1, 0, 0.2), at(1, 1, 0, 0.3))


def test_prefill_stall_needs_both_states() -> None:
    quiet, busy = at(0, 10, 0, 0.3, 500, 0), at(1, 10, 0, 0.4, 50, 9000)
    assert shape(quiet, busy)["prefill_stall_ratio"] == pytest.approx(0.1)
    assert "prefill_stall_ratio" not in shape(quiet, quiet)
    assert "prefill_stall_ratio" not in shape(busy, busy)
    assert "prefill_stall_ratio" not in shape(
        quiet, at(1, 10, 0, 0.4, 50, 90)
    )  # nothing that one would call prefill load


def test_prefill_saturated_needs_flat_prompts_a_queue_and_starved_decode() -> None:
    starved = [at(n, 40 + n, 20, 0.5, 100, 8000 + 50 * n) for n in range(4)]
    assert shape(*starved)["prefill_saturated"] == 1.0
    assert shape(*[at(n, 40, 20, 0.5, 2000, 8000) for n in range(4)])["prefill_saturated"] == 0.0
    assert shape(*[at(n, 40, 0, 0.5, 100, 8000) for n in range(4)])["prefill_saturated"] == 0.0
    assert shape(*[at(n, 40, 20, 0.5, 100, 8000 * (n + 1)) for n in range(4)])["prefill_saturated"] == 0.0
    assert "prefill_saturated" not in shape(*starved[:2])


def test_pinned_counts_only_ticks_with_a_queue() -> None:
    assert shape(at(0, 2, 9, 0.1), at(1, 2, 9, 0.1), at(2, 0, 0, 0.1))["running_pinned"] == 1.0
    assert shape(at(0, 2, 9, 0.1), at(1, 8, 9, 0.1), at(2, 2, 9, 0.1))["running_pinned"] == (2 + 0.5) / 8
    assert "running_pinned" not in shape(at(0, 2, 9, 0.1), at(1, 2, 0, 0.1))


def test_a_trough_that_fills_again_is_no_dead_engine() -> None:
    assert shape(at(0, 50, 5, 1.0), at(1, 0, 50, 0.1), at(2, 40, 10, 0.8))["trough_recovers"] == 1.0
    assert shape(at(0, 50, 5, 1.0), at(1, 0, 50, 0.1), at(2, 0, 50, 0.1))["trough_recovers"] == 0.0


def test_negative_throughput_is_kept() -> None:
    assert shape(at(0, 1, 0, 0.1, -12.0))["generation_tps_min"] == -12.0


def test_load_is_seen_only_where_running_and_waiting_are_known() -> None:
    assert shape(at(0, 1, 0, 0.1))["load_seen"] == 1.0
    assert shape(at(0, 1, None, 0.1))["load_seen"] == 0.0
    assert shape()["load_seen"] == 0.0


def test_missing_columns_give_no_shape() -> None:
    assert shape(Tick(0.0), Tick(10.0), Tick(20.0)) == {"load_seen": 0.0}
