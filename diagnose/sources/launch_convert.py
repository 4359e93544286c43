"""From one setting's value to facts: plain conversions, and the nested JSON settings of vLLM.

Missing or unreadable values give nothing. Sizes are bytes, lengths are tokens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from diagnose import units
from diagnose.model import FactValue
from diagnose.sources import pyrepr

_TOKENS = re.compile(r"([\d.]+)\s*([kKmMgG])(i?)")
Pairs = list[tuple[str, FactValue]]


def typed(value: Any) -> FactValue:
    if isinstance(value, bool | int | float):
        return value
    typed = pyrepr.scalar(str(value))
    return typed if isinstance(typed, bool | int | float) else str(value)


def convert(fact: str, how: str, value: Any, resolved: bool) -> Pairs:
    """The facts of one setting; nothing when the value cannot be read as what the setting is."""
    how, _, argument = how.partition(":")
    if how in _NESTED:
        return _NESTED[how](value, resolved)
    if value is None or value == "None":
        # A resolved dump that says None tells that the feature is off; an unset flag tells nothing.
        return [(fact, "")] if resolved and fact in ("quantization", "spec_method", "disaggregation") else []
    if how == "on":
        return [(fact, argument)] if _bool(value) else []
    result = _PLAIN[how](value)
    if result is None:
        return []
    pairs: Pairs = [(fact, result)]
    if how == "backend" and not resolved:
        pairs.append(("attention_backend_explicit", True))
    if how == "graph_backend" and result in ("disabled", "none"):
        pairs.append(("enforce_eager", True))
    return pairs


def _bool(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in ("true", "1", "yes", "on", "") else False if word in ("false", "0", "no", "off") else None


def to_int(value: Any) -> int | None:
    number = to_float(value)
    return int(number) if number is not None and math.isfinite(number) else None


def to_float(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(str(value).replace(",", "").replace("_", "").strip())
    except ValueError:
        return None


def _tokens(value: Any) -> int | None:
    """Tokens from ``32768``, ``32k``, ``1M`` (decimal) or ``32K`` (binary, as the engine reads it)."""
    found = _TOKENS.fullmatch(str(value).strip())
    if not found:
        return to_int(value)
    letter = found.group(2)
    power = "kmg".index(letter.lower()) + 1
    number = to_float(found.group(1))
    return None if number is None else int(number * (1024 if letter.isupper() else 1000) ** power)


def _size(value: Any) -> int | None:
    found = _TOKENS.fullmatch(str(value).strip().rstrip("bB"))
    return _tokens(found.group(1) + found.group(2)) if found else to_int(value)


def _gib(value: Any) -> int | None:
    number = to_float(value)
    return None if number is None or not math.isfinite(number) else int(units.gib(number))


def _text(value: Any) -> str | None:
    if isinstance(value, dict | list):
        return None
    return str(value)


def _first(value: Any) -> str | None:
    return _first(value[0]) if isinstance(value, list) and value else _text(value)


def _sizes(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, str):
        value = re.findall(r"\d+", value)
    numbers = [to_int(v) for v in value] if isinstance(value, list) else [to_int(value)]
    return tuple(sorted({n for n in numbers if n is not None})) or None


def _rate(value: Any) -> float | None:
    return math.inf if str(value).lower() in ("inf", "infinity", "max") else to_float(value)


def _count(value: Any) -> int | None:
    if isinstance(value, str):
        return len(value.split())
    return len(value) if isinstance(value, list | dict) else None


def _not(value: Any) -> bool | None:
    said = _bool(value)
    return None if said is None else not said


def _role(value: Any) -> str:
    return {"null": "", "none": ""}.get(str(value).lower(), str(value).lower())


_PLAIN: dict[str, Callable[[Any], FactValue | None]] = {
    "text": _text, "int": to_int, "float": to_float, "bool": _bool, "not": _not, "tokens": _tokens, "size": _size,
    "gib": _gib, "first": _first, "sizes": _sizes, "rate": _rate, "count": _count, "adapters": _count, "chunk": to_int,
    "role": _role, "backend": _text,
    "offload_size": lambda v: "native" if (to_float(v) or 0) > 0 else None,
    "graph_mode": lambda v: graph_mode(v),
    "dtype": lambda v: str(v).removeprefix("torch."),
    "device": lambda v: _text(v.get("device") if isinstance(v, dict) else v),
    "lower": lambda v: str(v).lower(),
    "spec_algorithm": lambda v: str(v).lower(),
    "graph_backend": lambda v: str(v).lower(),
}  # fmt: skip


# Values of the enum behind the mode, as JSON shows them.
_GRAPH_MODES = {
    "0": "NONE",
    "1": "PIECEWISE",
    "2": "FULL",
    "[2, 0]": "FULL_DECODE_ONLY",
    "[2, 1]": "FULL_AND_PIECEWISE",
}


def graph_mode(value: Any) -> str:
    """The name of a CUDA graph mode, also from the numbers behind it."""
    text = str(value).removeprefix("CUDAGraphMode.")
    return _GRAPH_MODES.get(text, text.upper())


def mapping(value: Any) -> dict[str, Any]:
    """A nested setting as a dict: already parsed, or JSON / repr text."""
    if isinstance(value, str) and value.strip()[:1] == "{":
        value = pyrepr.parse(value.strip())
    return dict(value) if isinstance(value, dict) else {}


def _spec(value: Any, resolved: bool) -> Pairs:
    """Speculation: method, draft model, tokens. None in a resolved dump means off."""
    config = mapping(value)
    if not config:
        return [("spec_method", "")] if resolved and value in (None, "None") else []
    out: Pairs = []
    model = config.get("model") or config.get("draft_model") or config.get("speculative_model")
    method = config.get("method")
    if method is None and model is not None:
        method = "ngram" if str(model).strip("[]").lower() == "ngram" else "draft_model"
    if method is not None:
        out.append(("spec_method", str(method).lower()))
    if isinstance(model, str) and model != "ngram":
        out.append(("spec_model", model))
    tokens = to_int(config.get("num_speculative_tokens", config.get("num_spec_tokens")))
    if tokens is not None:
        out.append(("spec_tokens", tokens))
    if (parallel := config.get("parallel_drafting")) is not None:
        out.append(("spec_parallel_drafting", bool(parallel)))
    return out


def _kv_transfer(value: Any, resolved: bool) -> Pairs:
    """KV connector, role, and what it offloads to; the members of a MultiConnector count too."""
    config = mapping(value)
    name, role = config.get("kv_connector"), config.get("kv_role")
    out: Pairs = []
    if name:
        out.append(("kv_connector", str(name)))
        offload = _offload(str(name))
        if offload:
            out.append(("kv_offload", offload))
    if role:
        out.append(("kv_role", str(role)))
        side = {"kv_producer": "prefill", "kv_consumer": "decode"}.get(str(role))
        if side:
            out.append(("disaggregation", side))
    extra = config.get("kv_connector_extra_config")
    for inner in mapping(extra).get("connectors") or []:
        out += [pair for pair in _kv_transfer(inner, resolved) if pair[0] == "kv_offload"]
    return out


def _offload(connector: str) -> str:
    name = connector.lower()
    known = {"lmcache": "lmcache", "mooncakestore": "mooncake", "offloading": "native", "flexkv": "flexkv"}
    return next((kind for part, kind in known.items() if part in name), "")


def _kv_events(value: Any, resolved: bool) -> Pairs:
    config = mapping(value)
    on = config.get("enable_kv_cache_events", True if config.get("publisher") else None)
    return [] if on is None else [("kv_events", bool(on))]


def _compilation(value: Any, resolved: bool) -> Pairs:
    """Graph mode and captured sizes; a bare number is the optimization level."""
    config = mapping(value)
    if not config:
        level = to_int(value)
        return [] if level is None else [("flag.compilation_level", level)]
    out: Pairs = []
    if config.get("cudagraph_mode") is not None:
        out.append(("graph_mode", graph_mode(config["cudagraph_mode"])))
    elif config.get("use_cudagraph") is False:
        out.append(("graph_mode", "NONE"))
    if config.get("cudagraph_capture_sizes"):
        sizes = _sizes(config["cudagraph_capture_sizes"])
        out += [("graph_sizes", sizes)] if sizes else []
    largest = to_int(config.get("max_cudagraph_capture_size") or config.get("max_capture_size"))
    if largest is not None:
        out.append(("graph_max_batch", largest))
    for key in ("level", "mode"):
        if config.get(key) is not None and not resolved:
            out.append(("flag.compilation_level", typed(config[key])))
    return out


def _structured(value: Any, resolved: bool) -> Pairs:
    config = mapping(value)
    backend = config.get("backend") or config.get("guided_decoding_backend")
    return [("structured_outputs_backend", str(backend))] if backend else []


def _attention(value: Any, resolved: bool) -> Pairs:
    backend = mapping(value).get("backend")
    return convert("attention_backend", "backend", backend, resolved) if backend else []


_NESTED: dict[str, Callable[[Any, bool], Pairs]] = {
    "spec": _spec, "kv_transfer": _kv_transfer, "kv_events": _kv_events, "compilation": _compilation,
    "structured": _structured, "attention": _attention,
}  # fmt: skip
