"""Planted causes are recovered, and nothing is claimed where the data cannot decide."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from diagnose.peers import outliers
from diagnose.trends import ItlInterval, explain_itl, growth, worth_explaining

GIB = 1024**3
SEEDS = range(5)


def intervals(seed: int, cause: str, n: int = 30, stalls: int = 0, noise: float = 0.002) -> list[ItlInterval]:
    """ITL of 20 ms plus what ``cause`` adds; the other two vary as much and do nothing."""
    rng = np.random.default_rng(seed)
    prefill, running = rng.gamma(2, 2000, n), rng.uniform(10, 60, n)
    preemptions = np.where(rng.random(n) < 0.4, rng.gamma(1, 2, n), 0.0)
    itl = 0.02 + rng.normal(0, noise, n)
    itl += {"prefill_tps": prefill * 6e-6, "preemption_rate": preemptions * 0.015, "running": running * 0.001}.get(
        cause, 0
    )
    itl[rng.choice(n, stalls, replace=False)] += 0.4
    return [ItlInterval(*map(float, row)) for row in zip(itl, prefill, preemptions, running, strict=True)]


@pytest.mark.parametrize(("cause", "entry"), [("prefill_tps", "1.1"), ("preemption_rate", "2.1"), ("running", "3.3")])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stalls", [0, 2])
def test_planted_cause_is_found(cause: str, entry: str, seed: int, stalls: int) -> None:
    found = explain_itl(intervals(seed, cause, stalls=stalls))
    assert found is not None
    assert (found.cause, found.entry) == (cause, entry)
    assert found.contributions[cause] > 0.5
    assert found.explained > 0.5
    assert found.seconds > 0


def test_beats_a_threshold_when_all_three_are_high() -> None:
    # same prefill rate, preemption rate and batch size in both: a limit on each fires alike, the cause differs
    rows = intervals(3, "")
    by_prefill = [
        ItlInterval(0.02 + 6e-6 * (r.prefill_tps or 0), r.prefill_tps, r.preemption_rate, r.running) for r in rows
    ]
    by_batch = [ItlInterval(0.02 + 1e-3 * (r.running or 0), r.prefill_tps, r.preemption_rate, r.running) for r in rows]
    first, second = explain_itl(by_prefill), explain_itl(by_batch)
    assert first is not None and second is not None
    assert (first.cause, second.cause) == ("prefill_tps", "running")
    assert first.confidence == second.confidence == "high"


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_explains_nothing(seed: int) -> None:
    assert explain_itl(intervals(seed, "", noise=0.006)) is None
    assert explain_itl(intervals(seed, "", stalls=2)) is None


def test_collinear_predictors_are_refused() -> None:
    rows = intervals(1, "prefill_tps")
    tied = [ItlInterval(r.itl, r.prefill_tps, r.preemption_rate, (r.prefill_tps or 0) / 100) for r in rows]
    assert explain_itl(tied) is None


def test_one_interval_does_not_make_a_cause() -> None:
    rows = intervals(2, "", noise=0.0005)
    quiet = [ItlInterval(r.itl, r.prefill_tps, 0.0, r.running) for r in rows]
    burst = [*quiet[:-1], ItlInterval(0.2, quiet[-1].prefill_tps, 9.0, quiet[-1].running)]
    assert explain_itl(burst) is None


def test_too_few_missing_and_constant() -> None:
    good = intervals(0, "prefill_tps")
    assert explain_itl(good[:7]) is None
    assert explain_itl([ItlInterval(0.02, 100.0, 0.0, 5.0)] * 20) is None
    assert explain_itl([]) is None
    holes = [
        ItlInterval(r.itl, None if i > 6 else r.prefill_tps, r.preemption_rate, r.running) for i, r in enumerate(good)
    ]
    assert explain_itl(holes) is None
    broken = [*good, ItlInterval(math.nan, 1.0, 1.0, 1.0), ItlInterval(0.1, math.inf, 1.0, 1.0)]
    found = explain_itl(broken)
    assert found is not None and found.intervals == len(good)


def test_constant_predictor_is_left_out() -> None:
    found = explain_itl([ItlInterval(r.itl, r.prefill_tps, 0.0, r.running) for r in intervals(0, "prefill_tps")])
    assert found is not None and set(found.contributions) == {"prefill_tps", "running"}


def test_healthy_input_imports_nothing_heavy() -> None:
    code = (
        "import sys; from diagnose.trends import *; from diagnose.peers import outliers\n"
        "rows = [ItlInterval(0.02, 100.0 + i, 0.0, 5.0) for i in range(40)]\n"
        "assert explain_itl(rows) is None and not worth_explaining(rows)\n"
        "assert growth(range(40), [5e9] * 40).growing is False\n"
        "assert outliers({f'r{i}': {'tps': 100.0} for i in range(4)}) == ()\n"
        "assert not {'numpy', 'sklearn', 'scipy'} & set(sys.modules), 'heavy import'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_worth_explaining_asks_for_a_spread() -> None:
    assert worth_explaining(intervals(0, "prefill_tps"))
    assert not worth_explaining(intervals(0, "", noise=0.0))


# growth

TIMES = np.arange(0, 600, 15.0)


def series(kind: str, seed: int) -> list[float]:
    noise = np.random.default_rng(seed).normal(0, 0.05 * GIB, len(TIMES))
    shapes = {
        "line": TIMES * 0.01 * GIB,
        "stairs": np.floor(TIMES / 75) * 0.8 * GIB,
        "step": (TIMES > 300) * 4.0 * GIB,
        "early step": (TIMES > 60) * 4.0 * GIB,
        "warm-up": 5 * GIB * (1 - np.exp(-TIMES / 60)),
        "noise": noise * 20,
        "saw": (TIMES % 150) * 0.02 * GIB,
        "fall": -TIMES * 0.01 * GIB,
    }
    return list(40 * GIB + shapes[kind] + noise)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["line", "stairs"])
def test_growth_is_found_with_time_to_the_limit(kind: str, seed: int) -> None:
    found = growth(list(TIMES), series(kind, seed), limit=80 * GIB)
    assert found is not None and found.growing
    assert found.slope == pytest.approx(0.01 * GIB, rel=0.1)
    assert found.seconds_to_limit == pytest.approx(3400, rel=0.15)
    assert found.confidence == "high"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["step", "early step", "warm-up", "noise", "saw", "fall"])
def test_no_growth(kind: str, seed: int) -> None:
    found = growth(list(TIMES), series(kind, seed))
    assert found is not None
    assert not found.growing
    assert found.why


def test_growth_without_enough_points() -> None:
    assert growth([0, 1], [1.0, 2.0]) is None
    assert growth([5.0] * 20, list(range(20))) is None
    assert growth(list(range(20)), [None] * 15 + [1.0] * 5) is None
    constant = growth(list(range(20)), [7.0] * 20)
    assert constant is not None and not constant.growing


def test_growth_skips_missing_points() -> None:
    values: list[float | None] = list(series("line", 0))
    values[3], values[9] = None, math.nan
    found = growth(list(TIMES), values)
    assert found is not None and found.growing


# peers


def fleet(seed: int, n: int, slow: int = 0) -> dict[str, dict[str, float | None]]:
    """Replicas under very different load whose throughput follows it; ``slow`` ones run many and produce half."""
    rng = np.random.default_rng(seed)
    running = rng.uniform(15, 60, n)
    tps = running * rng.normal(30, 1, n)
    running[:slow], tps[:slow] = 45, 45 * 30 * 0.5
    return {f"r{i}": {"running": float(running[i]), "tps": float(tps[i])} for i in range(n)}


def test_one_signal_far_from_its_peers() -> None:
    values = {"a": {"kv": 0.40}, "b": {"kv": 0.42}, "c": {"kv": 0.95}}
    assert outliers(values) == ("c",)
    assert outliers({"a": {"kv": 0.40}, "c": {"kv": 0.95}}) == ()  # two cannot say which one is odd
    assert outliers({"a": {"kv": 0.40}, "b": {"kv": 0.45}, "c": {"kv": 0.50}}) == ()


def test_small_differences_have_a_floor() -> None:
    waiting = {"a": {"waiting": 0.0}, "b": {"waiting": 0.0}, "c": {"waiting": 0.0}, "d": {"waiting": 2.0}}
    assert outliers(waiting) == ("d",)
    assert outliers(waiting, {"waiting": 5.0}) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_signals_that_do_not_go_together(seed: int) -> None:
    # 45 running and 675 tokens/s are both in range of the others: no limit on either signal can tell
    values = fleet(seed, 24, slow=1)
    others = [v for name, v in values.items() if name != "r0"]
    for signal in ("running", "tps"):
        seen = [v[signal] or 0.0 for v in others]
        assert min(seen) < (values["r0"][signal] or 0.0) < max(seen)
    assert outliers(values) == ("r0",)
    assert outliers(fleet(seed, 24)) == ()


def test_missing_signals() -> None:
    values = fleet(0, 24, slow=1)
    values["r5"]["tps"] = None
    values["r6"] = {}
    values["r7"]["tps"] = math.nan
    assert outliers(values) == ("r0",)
    assert outliers({}) == ()
    assert outliers({"a": {}, "b": {}, "c": {}}) == ()
