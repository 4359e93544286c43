"""Replicas unlike their peers: by one signal (robust z), and by how several signals go together (scikit-learn)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MIN_PEERS = 3
MIN_JOINT = 8  # peers from which the covariance of several signals can be estimated
ROBUST_Z = 3.5


def outliers(
    values_by_replica: Mapping[str, Mapping[str, float | None]], floors: Mapping[str, float] | None = None
) -> tuple[str, ...]:
    """Names of replicas unlike their peers, in the given order; () for fewer than 3 peers or nothing unusual.

    Input is signal values per replica; a signal that a replica lacks is ignored for that replica, one that few have is
    ignored. ``floors`` gives the smallest difference that matters per signal (in its unit). Beats a threshold: peers
    share the traffic, so "unlike the others" needs no absolute limit; and with 8 or more replicas of which each signal
    alone is in range, a replica whose signals do not go together (many running, few tokens) is still found.
    """
    if len(values_by_replica) < MIN_PEERS:
        return ()
    signals = sorted({signal for values in values_by_replica.values() for signal in values})
    found: set[str] = set()
    for signal in signals:
        column = {name: v for name, values in values_by_replica.items() if _finite(v := values.get(signal))}
        found |= _by_one_signal(column, (floors or {}).get(signal, 0.0))
    found |= _by_all_signals(values_by_replica, signals)
    return tuple(name for name in values_by_replica if name in found)


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _by_one_signal(column: Mapping[str, float | None], floor: float) -> set[str]:
    """Robust z over 3.5; the scale is at least a tenth of the level, so that a tight fleet is not split by noise."""
    values = {name: v for name, v in column.items() if v is not None}
    if len(values) < MIN_PEERS:
        return set()
    middle = median(values.values())
    deviation = 1.4826 * median(abs(v - middle) for v in values.values())
    scale = max(deviation, 0.1 * abs(middle), 0.02 * max(abs(v) for v in values.values()))
    if scale == 0:
        return set()
    return {name for name, v in values.items() if abs(v - middle) > max(ROBUST_Z * scale, floor)}


def _by_all_signals(rows: Mapping[str, Mapping[str, float | None]], signals: list[str]) -> set[str]:
    """Replicas of which one signal is far from what the others' relation predicts; () for fewer than 8 complete peers.

    Each signal is regressed on the rest (Huber: a few strange replicas do not bend the line). Far is five robust
    deviations and a fifth of the predicted value: a small difference in a tight fleet is no finding.
    """
    names = [name for name, values in rows.items() if all(_finite(values.get(s)) for s in signals)]
    if len(signals) < 2 or len(names) < max(MIN_JOINT, 4 * len(signals)):
        return set()
    import numpy as np

    data = np.asarray([[rows[name][s] for s in signals] for name in names], dtype=float)
    data = data[:, data.std(axis=0) > 0.01 * np.abs(data.mean(axis=0)) + 1e-12]
    far = np.zeros(len(names), dtype=bool)
    for column in range(data.shape[1] if data.shape[1] > 1 else 0):
        far |= _off_the_line(np.delete(data, column, axis=1), data[:, column])
    return {name for name, is_far in zip(names, far, strict=True) if is_far}


def _off_the_line(x: Array, y: Array) -> NDArray[np.bool_]:
    import numpy as np
    from sklearn.linear_model import HuberRegressor

    unit = (x - x.mean(axis=0)) / x.std(axis=0)
    try:
        predicted = HuberRegressor(max_iter=300).fit(unit, y / y.std()).predict(unit) * y.std()
    except ValueError:  # the optimiser did not converge: no statement
        return np.zeros(len(y), dtype=bool)
    residual = y - predicted
    scale = 1.4826 * float(np.median(np.abs(residual - np.median(residual))))
    explained = 1 - scale / (1.4826 * float(np.median(np.abs(y - np.median(y)))) or 1.0)
    if explained < 0.5:  # the signals do not go together here: nothing to break
        return np.zeros(len(y), dtype=bool)
    level = np.maximum(np.abs(predicted), 0.1 * float(np.median(np.abs(y))))
    return np.asarray(np.abs(residual) > np.maximum(5 * scale, 0.2 * level), dtype=bool)
