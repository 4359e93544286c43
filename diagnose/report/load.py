"""The load of a target in one line: the numbers that an operator looks at first; unknown ones are left out."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.model import TargetSummary, Value
from diagnose.report import words

# label, signal, a second signal in brackets and its label
_COLUMNS = (
    ("running", "requests_running", "requests_running_max", "peak"),
    ("waiting", "requests_waiting", "requests_waiting_max", "peak"),
    ("KV", "kv_usage", "kv_usage_max", "peak"),
    ("preemptions", "preemptions", "", ""),
    ("TTFT", "ttft_mean", "ttft_p99", "p99"),
    ("ITL", "itl_mean", "itl_p99", "p99"),
    ("prefix hits", "prefix_hit_ratio", "", ""),
    ("accepted drafts", "spec_acceptance", "", ""),
    ("generated", "generation_tps", "", ""),
)
_MANY = 3


def summary(targets: tuple[TargetSummary, ...]) -> tuple[str, ...]:
    """One line per target, () when there are many (they get a table) or nothing is known."""
    if len(targets) > _MANY:
        return ()
    lines = [(t.name, line(t.signals)) for t in targets]
    named = len(targets) > 1
    return tuple(f"{words.clean(name)}: {text}" if named else text for name, text in lines if text)


def line(signals: Mapping[str, Value]) -> str:
    """The known numbers of one target, joined; "" when none is known."""
    parts = []
    for label, signal, second, second_label in _COLUMNS:
        if signal not in signals:
            continue
        text = f"{label} {_short(signal, signals[signal])}"
        beside = _short(second, signals[second]) if second in signals else ""
        if beside and not text.endswith(f" {beside}"):
            text += f" ({second_label} {beside})"
        parts.append(text)
    if parts and any(v.since_start for v in signals.values()):
        parts.append("latencies and ratios since start")
    return words.article_list(parts)


def _short(signal: str, value: Value) -> str:
    return words.quantity(value.value, words.unit_of(signal), signal)
