"""Wording of numbers and comparisons. Percent signs and ms exist only in reports; a missing value is "?"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from diagnose.engines.catalog import SIGNALS
from diagnose.model import Evidence, Finding, Value
from diagnose.symptoms import Symptom, all_symptoms
from diagnose.symptoms.grammar import OPS

VERDICT_WORDS = {"act": "ACT", "healthy": "HEALTHY", "engine-fault": "ENGINE FAULT", "cannot-tell": "CANNOT TELL"}
VERDICT_ORDER = ("engine-fault", "act", "cannot-tell", "healthy")
ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "dynamo": "Dynamo", "lmcache": "LMCache"}
_OP_WORDS = {">": "above", ">=": "at least", "<": "below", "<=": "at most", "==": "is", "!=": "is not"}
# Ratios that people read as a share of a whole; the others (3.0 per finished request) stay plain numbers.
_SHARES = re.compile(
    r"usage|share|hit_ratio|hit_log|acceptance|_position|utilization|_gain\b|worker_cpu|kv_rank_spread"
)
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")


def clean(text: str) -> str:
    """The text on one line without control, bidi and escape characters: it may come from a log or a label."""
    return " ".join(_CONTROL.sub("", text).split())


def plain(value: float) -> str:
    """A bare number for people: ``4,096``, ``3.4``, ``0.012``; ``?`` when it is not finite."""
    if not math.isfinite(value):
        return "?" if math.isnan(value) else ("unlimited" if value > 0 else "-unlimited")
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:.1f}"
    digits = 2 if size >= 0.1 else 3 if size >= 0.001 else 6
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") or "0"


def percent(value: float) -> str:
    """A ratio as a percentage: ``100 %``, ``3.4 %``."""
    if not math.isfinite(value):
        return "?"
    shown = value * 100
    return f"{plain(round(shown) if abs(shown) >= 10 else round(shown, 1))} %"


def seconds(value: float) -> str:
    """Seconds as ``250 ms``, ``1.4 s``, ``27 s``, ``15 min`` or ``2.5 h``."""
    size = abs(value)
    if not math.isfinite(value):
        return "?"
    if 0 < size < 0.9995:
        shown = value * 1000
        return f"{shown:.0f} ms" if size >= 0.01 else f"{shown:.1f} ms"
    if size < 10:
        return f"{value:.1f}".removesuffix(".0") + " s"
    if size < 600:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if size < 7200 else f"{value / 3600:.1f} h"


def size(value: float) -> str:
    """Bytes as ``6.2 GiB``, ``512 MiB`` or ``96 B``."""
    for unit, factor in (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if abs(value) >= factor:
            return f"{plain(value / factor)} {unit}"
    return f"{plain(value)} B"


def quantity(value: float, unit: str, signal: str = "") -> str:
    """A value with its unit, as a person writes it; shares of a whole become percent."""
    if unit == "ratio":
        return percent(value) if _SHARES.search(signal) else plain(value)
    if unit in ("s", "seconds"):
        return seconds(value)
    if unit == "bytes":
        return size(value)
    if unit == "bytes/s":
        return f"{size(value)}/s"
    return plain(value) if unit in ("", "bool", "boolean") else f"{plain(value)} {_plural(unit, value)}"


def _plural(unit: str, value: float) -> str:
    return unit[:-1] if value == 1 and unit.endswith("s") and "/" not in unit else unit


def signal_value(signal: str, value: Value | float) -> str:
    """The value of a signal of the catalog as text."""
    return quantity(value.value if isinstance(value, Value) else value, unit_of(signal), signal)


def unit_of(signal: str) -> str:
    """The unit of a signal, "" when the catalog does not know it."""
    declared = SIGNALS.get(signal)
    return declared.unit if declared else ""


def signal_title(signal: str) -> str:
    """The title of a signal; its id in words when the catalog does not know it."""
    declared = SIGNALS.get(signal)
    return declared.title if declared else signal.replace("_", " ")


def comparison(evidence: Evidence) -> str:
    """One comparison as words: ``KV cache usage, peak 100 % (at least 95 %)``; configuration reads as on or off."""
    title = signal_title(evidence.signal)
    if evidence.signal.startswith("config_") and evidence.value in (0.0, 1.0) and evidence.threshold in (0.0, 1.0):
        return f"{title.removeprefix('config ')} {'on' if evidence.value else 'off'}"
    value = quantity(evidence.value, evidence.unit, evidence.signal)
    if evidence.op not in _OP_WORDS or (evidence.op == ">" and evidence.threshold == 0):
        return f"{title} {value}"
    bound = quantity(
        evidence.threshold, evidence.unit if evidence.unit in ("ratio", "s", "bytes") else "", evidence.signal
    )
    return f"{title} {value} ({_OP_WORDS[evidence.op]} {bound})"


def sentence(finding: Finding, signals: Mapping[str, Value] | None = None) -> str:
    """What a finding says: the symptom's own template as far as its numbers are known, else title and comparisons."""
    symptom = all_symptoms().get(finding.symptom)
    if symptom is not None and symptom.say:
        said = fill(symptom.say, finding.evidence, signals or {}, symptom)
        if said:
            return clean(said)
    title = symptom.title if symptom is not None else finding.symptom.replace("_", " ")
    held = [e for e in finding.evidence if e.op not in OPS or OPS[e.op](e.value, e.threshold)]
    parts = "; ".join(dict.fromkeys(comparison(e) for e in held[:3]))
    return clean(f"{title}: {parts}" if parts else title)


def fill(template: str, evidence: Iterable[Evidence], signals: Mapping[str, Value], symptom: Symptom) -> str:
    """The template with ``{signal}`` and ``{threshold}`` as text; parts whose numbers are not known are left out."""
    known = {t.name: quantity(t.default, t.unit, _compared_with(symptom, t.name)) for t in symptom.thresholds}
    known |= {name: signal_value(name, value) for name, value in signals.items()}
    known |= {e.signal: quantity(e.value, e.unit, e.signal) for e in evidence}
    parts = [p for p in re.split(r"(?<=[,;:]) ", template) if all(n in known for n in _PLACEHOLDER.findall(p))]
    return _PLACEHOLDER.sub(lambda m: known[m.group(1)], " ".join(parts)).rstrip(",;: ")


def _compared_with(symptom: Symptom, threshold: str) -> str:
    """The signal that a threshold bounds: it decides whether a ratio reads as percent."""
    match = re.search(rf"(\w+)\s*(?:>=|<=|==|!=|>|<)\s*{re.escape(threshold)}\b", symptom.when)
    return match.group(1) if match else ""


def engine_name(engine: str, version: str = "") -> str:
    """``vLLM 0.32.0``; "unknown engine" when there is none."""
    name = ENGINE_NAMES.get(engine, engine) or "unknown engine"
    return f"{name} {version}".strip()


def count(number: int, noun: str) -> str:
    """``1 scrape``, ``28 scrapes``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def article_list(parts: Iterable[str], joint: str = " · ") -> str:
    """The non-empty parts joined."""
    return joint.join(p for p in parts if p)
