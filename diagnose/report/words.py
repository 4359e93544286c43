"""Wording of findings: comparisons, templates, names. Text from outside is cleaned here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from diagnose.engines.catalog import SIGNALS
from diagnose.model import Evidence, Finding, Value
from diagnose.symptoms import Symptom, all_symptoms
from diagnose.symptoms.grammar import OPS
from diagnose.wording import counted, percent, plain, quantity, seconds, size

__all__ = ["counted", "percent", "plain", "quantity", "seconds", "size"]

VERDICT_WORDS = {"act": "ACT", "healthy": "HEALTHY", "engine-fault": "ENGINE FAULT", "cannot-tell": "CANNOT TELL"}
VERDICT_ORDER = ("engine-fault", "act", "cannot-tell", "healthy")
ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "dynamo": "Dynamo", "lmcache": "LMCache"}
_OP_WORDS = {">": "above", ">=": "at least", "<": "below", "<=": "at most", "==": "is", "!=": "is not"}
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ONE = re.compile(
    r"(?<![\d.,])1 (scrape|request|preemption|retraction|token|rank|replica|run|interval|time|setting|lookup)s\b"
)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")


def clean(text: str) -> str:
    """The text on one line without control, bidi and escape characters: it may come from a log or a label."""
    return " ".join(_CONTROL.sub("", text).split())


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
            return singular(clean(said))
    title = symptom.title if symptom is not None else finding.symptom.replace("_", " ")
    held = [e for e in finding.evidence if e.op not in OPS or OPS[e.op](e.value, e.threshold)]
    parts = "; ".join(dict.fromkeys(comparison(e) for e in held[:3]))
    return clean(f"{title}: {parts}" if parts else title)


def singular(text: str) -> str:
    """The text with ``1 scrapes`` and the like put right: templates are written for many."""
    return _ONE.sub(r"1 \1", text)


def fill(template: str, evidence: Iterable[Evidence], signals: Mapping[str, Value], symptom: Symptom) -> str:
    """The template with ``{signal}`` and ``{threshold}`` as text; parts whose numbers are not known are left out."""
    known = {t.name: quantity(t.default, t.unit, _compared_with(symptom, t.name)) for t in symptom.thresholds}
    known |= {n: quantity(v.value, unit_of(n), n) for n, v in signals.items()}
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
