"""Numbers of one periodic log line of vLLM and of what runs beside it. Anchored on field names, in any order.

Kinds and value names: ``vllm`` prompt_tps, generation_tps, running, waiting, swapped, deferred, preemptions, corrupted,
kv_usage, cpu_kv_usage, prefix_hit_ratio, external_hit_ratio, mm_hit_ratio; ``vllm_iteration`` context_requests,
context_tokens, generation_requests, generation_tokens, elapsed, kv_usage; ``spec`` accept_rate, accept_length,
accepted_tokens, drafted_tokens, accepted_tps, drafted_tps, spec_tokens, system_efficiency; ``kv_transfer`` transfers,
xfer_time, xfer_time_p90, post_time, bytes_per_transfer, throughput, descriptors; ``transfer_engine`` throughput;
``lmcache`` total_tokens, hit_tokens, need_to_load; ``score`` score, worker. Ratios 0-1, seconds, bytes, tokens, per
second. What a line does not say is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from diagnose import units

Values = dict[str, float]
_X = r"(-?(?:(?:\d{1,20}(?:,\d{3}){0,6}(?:\.\d{1,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,4})?|nan|inf))"
_END = r"(?=\s*(?:[,.;]|$|\s))"


def _compiled(fields: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern.replace("<X>", _X)) for name, pattern in fields.items()}


_VLLM = _compiled({
    "prompt_tps": r"Avg prompt throughput:\s*<X>\s*tokens/s",
    "generation_tps": r"Avg generation throughput:\s*<X>\s*tokens/s",
    "running": r"Running:\s*<X>\s*reqs",
    "waiting": r"(?:Waiting|Pending):\s*<X>\s*reqs",
    "swapped": r"Swapped:\s*<X>\s*reqs",
    "deferred": r"Deferred:\s*<X>\s*reqs",
    "preemptions": r"Preemptions:\s*<X>(?=[^\d.]|$)",
    "corrupted": r"Corrupted:\s*<X>\s*reqs",
    "prefix_hit_ratio": r"(?<!External )(?<!external )[Pp]refix cache hit rate:\s*(?:GPU:\s*)?<X>\s*%",
    "external_hit_ratio": r"External prefix cache hit rate:\s*<X>\s*%",
    "mm_hit_ratio": r"MM cache hit rate:\s*<X>\s*%",
})  # fmt: skip
_KV = re.compile(r"(\b\w{1,20}) KV cache usage:\s*" + _X + r"\s*%")
_PERCENT = {"prefix_hit_ratio", "external_hit_ratio", "mm_hit_ratio"}
_ITERATION = re.compile(
    rf"Iteration\(\s*(\d+)\):\s*{_X} context requests,\s*{_X} context tokens,\s*{_X} generation requests,\s*"
    rf"{_X} generation tokens(?:,\s*iteration elapsed time:\s*{_X} ms)?"
)
_ITERATION_NAMES = ("context_requests", "context_tokens", "generation_requests", "generation_tokens", "elapsed")
_SPEC = _compiled({
    "accept_rate": r"[Dd]raft acceptance rate:\s*<X>(\s*%)?" + _END,
    "accept_length": r"Mean acceptance length:\s*<X>" + _END,
    "accepted_tps": r"Accepted throughput:\s*<X>\s*tokens/s",
    "drafted_tps": r"Drafted throughput:\s*<X>\s*tokens/s",
    "accepted_tokens": r"Accepted:\s*<X>\s*tokens",
    "drafted_tokens": r"Drafted:\s*<X>\s*tokens",
    "system_efficiency": r"System efficiency:\s*<X>" + _END,
    "spec_tokens": r"Number of speculative tokens:\s*<X>" + _END,
})  # fmt: skip
_POSITIONS = re.compile(r"Per-position acceptance rate:\s*([\d.][\d., ]{0,400})")
_TRANSFER = _compiled({
    "transfers": r"Num successful transfers\s*=\s*<X>",
    "failed_transfers": r"Num failed transfers\s*=\s*<X>",
    "failed_notifications": r"Num failed notifications\s*=\s*<X>",
    "expired_requests": r"Num KV expired reqs\s*=\s*<X>",
    "xfer_time": r"Avg xfer time \(ms\)\s*=\s*<X>",
    "xfer_time_p90": r"P90 xfer time \(ms\)\s*=\s*<X>",
    "post_time": r"Avg post time \(ms\)\s*=\s*<X>",
    "post_time_p90": r"P90 post time \(ms\)\s*=\s*<X>",
    "bytes_per_transfer": r"Avg MB per transfer\s*=\s*<X>",
    "throughput": r"Throughput \(MB/s\)\s*=\s*<X>",
    "descriptors": r"Avg number of descriptors\s*=\s*<X>",
    "store_bytes": r"GPU_to_CPU_total_bytes\s*=\s*<X>",
    "store_seconds": r"GPU_to_CPU_total_time\s*=\s*<X>",
    "load_bytes": r"CPU_to_GPU_total_bytes\s*=\s*<X>",
    "load_seconds": r"CPU_to_GPU_total_time\s*=\s*<X>",
})  # fmt: skip
_MILLIS = {"xfer_time", "xfer_time_p90", "post_time", "post_time_p90"}
_MIB = {"bytes_per_transfer", "throughput"}
_LMCACHE = _compiled({
    "total_tokens": r"Total tokens:?\s*<X>" + _END,
    "hit_tokens": r"LMCache hit tokens:\s*<X>" + _END,
    "need_to_load": r"need to load:\s*<X>" + _END,
})  # fmt: skip
_LMCACHE_IO = re.compile(
    rf"(Retrieved|Stored|Loaded) {_X} out of (?:total )?{_X}.*?cost:? {_X} ms(?:.*?throughput:? {_X} GB/s)?", re.S
)
_ENGINE_THROUGHPUT = re.compile(rf"Transfer Engine Throughput:\s*{_X}\s*([KMG]?i?B)/s")
_SCORE = re.compile(rf"worker (\d+) score:\s*{_X}")
_FORMULA = re.compile(rf"Formula for (?:worker_id=|worker_|worker )?(\d+).*?with {_X} cached blocks:\s*{_X}\s*=")


def ratio(percentage: float) -> float:
    """Ratio 0-1 from a printed percentage, without the noise that the division adds."""
    return round(units.percent(percentage), 9)


def number(text: str | None) -> float | None:
    """A float; None for nothing, nan and infinities."""
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def fields(patterns: Mapping[str, re.Pattern[str]], line: str) -> Values:
    """What a line says, by name."""
    out: Values = {}
    for name, pattern in patterns.items():
        found = pattern.search(line)
        value = number(found.group(1)) if found else None
        if value is not None:
            out[name] = value
    return out


def vllm(line: str) -> Values:
    """The periodic line of any era. With one KV usage it is the engine's own cache, whatever the device is called."""
    out = fields(_VLLM, line)
    for name in _PERCENT & out.keys():
        out[name] = ratio(out[name])
    usages = {device: number(value) for device, value in _KV.findall(line)}
    for device, value in usages.items():
        if value is not None:
            name = "cpu_kv_usage" if device == "CPU" and len(usages) > 1 else "kv_usage"
            out[name] = ratio(value)
    return out


def iteration(line: str) -> Values:
    """One engine step, as logged with iteration details (0.26 and later)."""
    found = _ITERATION.search(line)
    if not found:
        return {}
    out = {name: value for name, text in zip(_ITERATION_NAMES, found.groups()[1:], strict=True)
           if (value := number(text)) is not None}  # fmt: skip
    if "elapsed" in out:
        out["elapsed"] = units.milliseconds(out["elapsed"])
    usage = _KV.search(line)
    value = number(usage.group(2)) if usage else None
    return out if value is None else {**out, "kv_usage": ratio(value)}


def spec(line: str) -> tuple[Values, tuple[float, ...]]:
    """Speculation of one interval and its acceptance per position. V0's token counts since start are left out."""
    out = fields(_SPEC, line)
    found = _SPEC["accept_rate"].search(line)
    if found and found.group(2) and "accept_rate" in out:
        out["accept_rate"] = ratio(out["accept_rate"])
    elif "SpecDecoding" in line:
        out.pop("accept_rate", None)  # V1 always prints a percentage: the line was cut in the number
    positions = _POSITIONS.search(line)
    numbers = [number(text) for text in positions.group(1).split(",")] if positions else []
    return out, tuple(value for value in numbers if value is not None)


def kv_transfer(line: str) -> Values:
    """KV connector transfers of one interval; averaged over rank-level transfers."""
    out = fields(_TRANSFER, line)
    for name in _MILLIS & out.keys():
        out[name] = units.milliseconds(out[name])
    for name in _MIB & out.keys():
        out[name] *= units.MIB
    return out


def lmcache(line: str) -> Values:
    """LMCache's lookup of one request; ``need_to_load`` may be negative."""
    return fields(_LMCACHE, line)


def lmcache_io(line: str) -> Values:
    """LMCache's transfer of one request: retrieved_tokens or stored_tokens, seconds, throughput."""
    found = _LMCACHE_IO.search(line)
    if not found:
        return {}
    verb, tokens, _, cost, rate = found.groups()
    raw = {"stored_tokens" if verb == "Stored" else "retrieved_tokens": number(tokens), "seconds": number(cost),
           "throughput": number(rate)}  # fmt: skip
    out = {name: value for name, value in raw.items() if value is not None}
    if "seconds" in out:
        out["seconds"] = units.milliseconds(out["seconds"])
    if "throughput" in out:
        out["throughput"] *= units.GIB
    return out


def transfer_engine(line: str) -> Values:
    """Mooncake's throughput in bytes per second."""
    found = _ENGINE_THROUGHPUT.search(line)
    value = number(found.group(1)) if found else None
    return {} if value is None or found is None else {"throughput": value * units.to_bytes(f"1{found.group(2)}")}


def score(line: str) -> Values:
    """The score of one worker in a router's choice: what it has cached; the cost beside it counts load too."""
    found = _SCORE.search(line) or _FORMULA.search(line)
    result = number(found.group(2)) if found else None
    if found is None or result is None:
        return {}
    out = {"score": result, "worker": float(found.group(1)[:300])}
    cost = number(found.group(3)) if found.re is _FORMULA else None
    return out if cost is None else {**out, "cost": cost}
