"""Questions that one threshold cannot answer: what moves ITL, and does a level keep growing.

(Replicas unlike their peers: ``peers.py``.) numpy and scikit-learn are imported inside the functions, after
a check in plain Python that there is something to ask.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MIN_INTERVALS = 8
MIN_SPREAD = 1.3  # highest over median ITL: below it there is nothing to explain
MIN_EXPLAINED = 0.4
MAX_CHANCE = 0.01
COLLINEAR = 0.9
PREDICTORS = ("prefill_tps", "preemption_rate", "running")
ENTRIES = {"prefill_tps": "1.1", "preemption_rate": "2.1", "running": "3.3"}


class ItlInterval(NamedTuple):
    """One interval between scrapes: mean ITL (s), prefill tokens/s, preemptions/s, mean running; None is missing."""

    itl: float | None
    prefill_tps: float | None
    preemption_rate: float | None
    running: float | None


class ItlCause(NamedTuple):
    """What goes with ITL. ``cause`` is a predictor, ``entry`` its guide entry; ``contributions`` are shares of the
    spread of ITL (0-1 over all predictors), ``seconds`` what a typical step of the cause adds to ITL."""

    cause: str
    entry: str
    confidence: str
    explained: float
    contributions: Mapping[str, float]
    seconds: float
    intervals: int


class Growth(NamedTuple):
    """A trend over time, slope per second. ``growing`` is False with ``why`` for a step, a plateau, noise or a fall."""

    growing: bool
    why: str
    slope: float
    rise: float
    confidence: str
    fit: float
    seconds_to_limit: float | None = None


def worth_explaining(intervals: Sequence[ItlInterval]) -> bool:
    """Cheap question first: enough complete intervals, and an ITL that varies. Plain Python, no import."""
    itl = [i.itl for i in intervals if i.itl is not None and math.isfinite(i.itl) and i.itl > 0]
    return len(itl) >= MIN_INTERVALS and max(itl) >= MIN_SPREAD * median(itl)


def explain_itl(intervals: Sequence[ItlInterval]) -> ItlCause | None:
    """Whether ITL follows prefill arrivals, preemptions or batch size; None when the data does not decide.

    Beats a threshold: under load all three are high at once, and a limit on each fires on all. Only their movement
    against ITL over the intervals tells which one ITL follows, with single stalls (a GC pause, a slow scrape) not
    counted for more than they are. None for fewer than 8 complete intervals, a steady ITL, a fit that chance would
    give, predictors that move together, or a lead that rests on one interval.
    """
    if not worth_explaining(intervals):
        return None
    import numpy as np

    rows = [(i.itl, i.prefill_tps, i.preemption_rate, i.running) for i in intervals]
    complete = [row for row in rows if all(v is not None and math.isfinite(v) for v in row)]
    if len(complete) < MIN_INTERVALS:
        return None
    data = np.asarray(complete, dtype=float)
    names, x = _varying(data[:, 1:])
    fit = _fit(x, data[:, 0]) if names else None
    if fit is None or fit.explained < MIN_EXPLAINED or fit.chance > MAX_CHANCE:
        return None
    lead = int(np.argmax(fit.shares))
    if fit.shares[lead] < 0.5 or _collinear(x, lead) or not _stands_without_its_peak(x, data[:, 0], lead):
        return None
    return ItlCause(
        cause=names[lead],
        entry=ENTRIES[names[lead]],
        confidence=_confidence(fit.explained, float(fit.shares[lead]), len(complete)),
        explained=fit.explained,
        contributions={n: float(s) for n, s in zip(names, fit.shares, strict=True)},
        seconds=float(fit.slopes[lead]),
        intervals=len(complete),
    )


class _Fit(NamedTuple):
    slopes: Any  # seconds of ITL per standard deviation of each predictor
    shares: Any  # share of the explained spread, 0 for predictors that would lower ITL
    explained: float
    chance: float  # probability of such a fit without any relation


def _varying(x: Array) -> tuple[list[str], Array]:
    """Predictors that vary (a constant one explains nothing), standardised."""
    keep = [j for j in range(x.shape[1]) if x[:, j].std() > 1e-9 + 0.01 * abs(x[:, j].mean())]
    return [PREDICTORS[j] for j in keep], (x[:, keep] - x[:, keep].mean(axis=0)) / x[:, keep].std(axis=0)


def _fit(x: Array, y: Array) -> _Fit | None:
    """Huber regression; shares by how much each predictor carries, chance by an F test on the Huber loss."""
    import numpy as np
    from scipy.stats import f as f_distribution
    from sklearn.linear_model import HuberRegressor

    n, k = x.shape
    if n - k - 1 < 3 or float(y.std()) == 0.0:
        return None
    unit = (y - np.median(y)) / _spread(y)
    try:
        model = HuberRegressor(alpha=1e-4, max_iter=500).fit(x, unit)
    except ValueError:  # the optimiser did not converge
        return None
    residual = unit - model.predict(x)
    scale = max(1.4826 * float(np.median(np.abs(residual - np.median(residual)))), 0.02)
    inside = np.abs(residual) <= 4 * scale
    if inside.mean() < 0.7:
        return None
    # stalls are left out and counted as lost points
    left, total, used = (
        float((residual[inside] ** 2).sum()),
        float(unit[inside].var()) * inside.sum(),
        int(inside.sum()),
    )
    if used - k - 1 < 2 or total == 0:
        return None
    explained = max(0.0, 1 - left / total)
    ratio = (total - left) / k / (left / (used - k - 1)) if left else math.inf
    carried = np.maximum(0.0, model.coef_) * np.maximum(0.0, _covariance(x[inside], unit[inside]))
    shares = carried / carried.sum() if carried.sum() > 0 else np.zeros(k)
    return _Fit(model.coef_ * _spread(y), shares, explained, float(f_distribution.sf(ratio, k, used - k - 1)))


def _spread(y: Array) -> float:
    """Spread that a few stalls do not set: the middle four fifths, else the standard deviation."""
    import numpy as np

    low, high = np.quantile(y, (0.1, 0.9))
    return float(high - low) / 2.56 or float(y.std())


def _covariance(x: Array, y: Array) -> Any:
    return ((x - x.mean(axis=0)) * (y - y.mean())[:, None]).mean(axis=0)


def _collinear(x: Array, lead: int) -> bool:
    """Whether the leading predictor moves together with another one: then the data cannot tell them apart."""
    import numpy as np

    others = [j for j in range(x.shape[1]) if j != lead]
    return any(abs(float(np.corrcoef(x[:, lead], x[:, j])[0, 1])) > COLLINEAR for j in others)


def _stands_without_its_peak(x: Array, y: Array, lead: int) -> bool:
    """Whether the lead is the same without the interval in which the leading predictor was most unusual."""
    import numpy as np

    rest = np.arange(len(y)) != int(np.argmax(np.abs(x[:, lead])))
    if x[rest, lead].std() < 1e-9:
        return False
    fit = _fit(x[rest], y[rest])
    return fit is not None and int(np.argmax(fit.shares)) == lead and fit.chance <= 5 * MAX_CHANCE


def _confidence(explained: float, share: float, points: int) -> str:
    if explained >= 0.7 and share >= 0.7 and points >= 2 * MIN_INTERVALS:
        return "high"
    return "medium" if explained >= 0.55 and share >= 0.6 else "low"


def growth(times: Sequence[float], values: Sequence[float | None], limit: float | None = None) -> Growth | None:
    """Whether a level (memory bytes) keeps growing: Theil-Sen slope, compared with one step and with a plateau.

    Beats a threshold: "more than at start" also fires on a load that stepped up once, on a warm-up that levelled off
    and on noise. A rising line must describe the series better than one jump between two levels, and the second half
    must still rise. None for fewer than 8 finite points or a time span of zero.
    """
    points = sorted((t, v) for t, v in zip(times, values, strict=True) if v is not None and math.isfinite(v + t))
    if len(points) < MIN_INTERVALS or points[-1][0] <= points[0][0]:
        return None
    level = median(v for _, v in points)
    spread = max(v for _, v in points) - min(v for _, v in points)
    if spread <= 0.01 * abs(level):
        return Growth(False, "constant", 0.0, 0.0, "high", 1.0)
    import numpy as np

    t = np.asarray([p[0] - points[0][0] for p in points], dtype=float)
    y = np.asarray([p[1] for p in points], dtype=float)
    slope, line = _theil_sen(t, y)
    late, _ = _theil_sen(t[len(t) // 2 :], y[len(y) // 2 :])
    total = float(np.abs(y - np.median(y)).sum())
    fit = max(0.0, 1 - float(np.abs(y - line).sum()) / total) if total else 0.0
    rise = slope * float(t[-1])
    why = _no_growth(t, y, line, rise, late, slope)
    if why:
        return Growth(False, why, slope, rise, "medium", fit)
    confidence = "high" if fit >= 0.8 and len(points) >= 2 * MIN_INTERVALS else "medium" if fit >= 0.5 else "low"
    left = (limit - float(y[-1])) / slope if limit is not None and limit > float(y[-1]) else None
    return Growth(True, "keeps rising", slope, rise, confidence, fit, left)


def _theil_sen(t: Array, y: Array) -> tuple[float, Array]:
    """Slope and fitted line of scikit-learn's Theil-Sen (seeded: the same answer every time)."""
    from sklearn.linear_model import TheilSenRegressor

    span = float(t[-1] - t[0]) or 1.0
    x = ((t - t[0]) / span)[:, None]
    model = TheilSenRegressor(random_state=0, max_subpopulation=2000).fit(x, y)
    return float(model.coef_[0]) / span, model.predict(x)


def _no_growth(t: Array, y: Array, line: Array, rise: float, late: float, slope: float) -> str:
    """Why the series does not keep growing, "" when it does."""
    import numpy as np
    from sklearn.tree import DecisionTreeRegressor

    if rise <= 0:
        return "falls or stays"
    order = np.sign(y[None, :] - y[:, None])[np.triu_indices(len(y), 1)]
    if float(order.mean()) < 0.5:  # Kendall: rising pairs less falling pairs
        return "noise"
    step = DecisionTreeRegressor(max_leaf_nodes=2, random_state=0).fit(t[:, None], y).predict(t[:, None])
    if float(((y - step) ** 2).sum()) <= float(((y - line) ** 2).sum()):
        return "one step"
    return "levels off" if late < 0.3 * slope else ""
