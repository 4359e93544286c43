"""Thresholds in force: every declared default, overridden by the user's TOML file, with where each came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from diagnose.errors import ConfigError
from diagnose.symptoms import Threshold, all_symptoms
from diagnose.units import to_seconds

DEFAULT = "default"
_SECTIONS = ("thresholds", "slo")


class Target(NamedTuple):
    """A service-level target the user may set: ``[slo] ttft_p95 = "1s"``. Seconds, or tokens per second."""

    name: str
    unit: str
    low: float
    high: float
    meaning: str


SLO_TARGETS = tuple(
    Target(f"{metric}_{stat}", "seconds", low, high, f"{title}, {words}")
    for metric, title, low, high in (
        ("ttft", "time to first token", 0.001, 600.0),
        ("itl", "inter-token latency", 0.0005, 60.0),
        ("e2e", "request latency", 0.001, 86400.0),
    )
    for stat, words in (("mean", "mean"), ("p50", "median"), ("p95", "95 of 100"), ("p99", "99 of 100"))
)


@dataclass(frozen=True)
class Settings:
    """Resolved settings. ``values`` and ``sources`` are keyed by ``<symptom>.<threshold>``; ``slo`` the targets."""

    values: Mapping[str, float]
    sources: Mapping[str, str]
    slo: Mapping[str, float] = field(default_factory=dict)
    path: str = ""

    def bounds(self, symptom_id: str) -> dict[str, float]:
        """Thresholds of one symptom by name; empty for a symptom without any."""
        prefix = f"{symptom_id}."
        return {key[len(prefix) :]: value for key, value in self.values.items() if key.startswith(prefix)}

    def provenance(self, threshold_id: str) -> str:
        """Where a threshold's value comes from: ``default`` or the file. Raises ConfigError for an unknown id."""
        if threshold_id not in self.sources:
            raise _unknown(threshold_id, self.values, "threshold", "")
        return self.sources[threshold_id]

    def overridden(self) -> tuple[str, ...]:
        """Ids whose value the user's file sets, in order."""
        return tuple(key for key, source in self.sources.items() if source != DEFAULT)


def declared() -> dict[str, Threshold]:
    """Every declared threshold by ``<symptom>.<name>``, in file order."""
    return {f"{s.id}.{t.name}": t for s in all_symptoms().values() for t in s.thresholds}


def resolve(path: str | None = None) -> Settings:
    """Settings from the defaults and the TOML file at ``path``. Raises ConfigError, one line."""
    known = declared()
    values = {key: threshold.default for key, threshold in known.items()}
    sources = dict.fromkeys(known, DEFAULT)
    if path is None:
        return Settings(values, sources)
    document = _read(path)
    for section in document:
        if section not in _SECTIONS:
            raise _unknown(section, _SECTIONS, "section", path)
    for key, value in _flatten(_table(document, "thresholds", path)).items():
        if key not in known:
            raise _unknown(key, known, "threshold", path)
        values[key] = _bounded(key, value, known[key], path)
        sources[key] = path
    return Settings(values, sources, _slo(_table(document, "slo", path), path), path)


def _read(path: str) -> dict[str, Any]:
    import tomllib

    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise ConfigError(
            "no such file", where=path, hint="Write one with: diagnose thresholds --format toml"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror or error})", where=path) from None
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError("not a text file in UTF-8", where=path, hint="Expected TOML") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(
            f"not TOML: {str(error)[:120]}", where=path, hint="See: diagnose thresholds --format toml"
        ) from None


def _table(document: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, Mapping):
        raise ConfigError(
            f"{name} is {_kind(table)}, expected a table", where=path, hint=f"Write [{name}] on its own line"
        )
    return table


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted ids from quoted dotted keys and nested tables alike."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        found = _flatten(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
        if twice := flat.keys() & found.keys():
            raise ConfigError(f"{min(twice)} is given twice", hint="Keep the dotted name or the table, not both")
        flat.update(found)
    return flat


def _bounded(key: str, value: Any, threshold: Threshold, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{key} is {_kind(value)}, expected a number ({threshold.unit})", where=path)
    if not math.isfinite(value) or not threshold.low <= value <= threshold.high:
        raise ConfigError(
            f"{key} = {value:g} is outside {threshold.low:g} to {threshold.high:g} {threshold.unit}".rstrip(),
            where=path,
            hint=_percent_hint(float(value), threshold) or f"The default is {threshold.default:g}",
        )
    return float(value)


def _percent_hint(value: float, threshold: Threshold) -> str:
    """A ratio written as a percentage is the common slip: show what was meant."""
    meant = value / 100
    if threshold.unit == "ratio" and value > 1 and threshold.low <= meant <= threshold.high:
        return f"Write {meant:g} (a ratio), not {value:g}"
    return ""


def _slo(table: Mapping[str, Any], path: str) -> dict[str, float]:
    known = {target.name: target for target in SLO_TARGETS}
    targets = {}
    for key, value in table.items():
        if key not in known:
            raise _unknown(key, known, "target", path)
        targets[key] = _seconds(key, value, known[key], path)
    return targets


def _seconds(key: str, value: Any, target: Target, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ConfigError(
            f"{key} is {_kind(value)}, expected a duration", where=path, hint='For example "250ms" or 0.25'
        )
    try:
        seconds = to_seconds(value) if isinstance(value, str) else float(value)
    except ValueError:
        raise ConfigError(f"{key} = {value!r} is no duration", where=path, hint='For example "250ms" or "1s"') from None
    if not math.isfinite(seconds) or not target.low <= seconds <= target.high:
        raise ConfigError(f"{key} = {seconds:g} is outside {target.low:g} to {target.high:g} seconds", where=path)
    return seconds


def _unknown(key: str, known: Mapping[str, Any] | tuple[str, ...], what: str, path: str) -> ConfigError:
    """The error for a name that does not exist: near matches first, else everything that is known (up to twelve)."""
    import difflib

    names = list(known)
    close = difflib.get_close_matches(key, names, n=3, cutoff=0.5) or [n for n in names if key.split(".")[-1] in n][:3]
    hint = f"Did you mean {' or '.join(close)}?" if close else ""
    more = f"{len(names)} are known: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"
    listing = more if len(names) <= 12 or not close else f"{len(names)} are known, see: diagnose thresholds"
    return ConfigError(f"unknown {what} {key!r}", where=path, hint=f"{hint} {listing}".strip())


def _kind(value: Any) -> str:
    names = {bool: "a boolean", str: "text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)
