"""Numbers of one SGLang batch line and of one finished request. Anchored on field names, in any order.

``sglang_decode`` running, tokens, kv_usage (the fullest pool), full_kv_usage, swa_kv_usage, mamba_usage, accept_length,
accept_rate, cuda_graph (0/1), generation_tps, waiting, prealloc_queue, transfer_queue, retracted, preallocated_usage;
``sglang_prefill`` new_seqs, new_tokens, cached_tokens, kv_usage, running, waiting, pending_tokens, cuda_graph,
prompt_tps, bootstrap_queue, inflight_queue; ``request`` prompt_tokens, completion_tokens, cached_tokens, ttft, e2e,
queue. Ratios 0-1, seconds, tokens, per second.
"""

from __future__ import annotations

import re

from diagnose.sources.log_stats import Values, fields, number, ratio

_X = r"(-?(?:\d{1,20}(?:,\d{3}){0,6}(?:\.\d{1,20})?|\.\d{1,20}))(?=\s*(?:,(?!\d)|$|[.;]\s|[.;]$|\s|\]))"
_POOLS = {
    "token_usage": rf"(?<!full )(?<!swa )\btoken usage:\s*{_X}",
    "full_kv_usage": rf"full token usage:\s*{_X}",
    "swa_kv_usage": rf"swa token usage:\s*{_X}",
    "mamba_usage": rf"mamba usage:\s*{_X}",
}
_COMMON = {
    "running": rf"#running-req:\s*{_X}",
    "waiting": rf"#queue-req:\s*{_X}",
}
_DECODE = {
    "tokens": rf"(?:#token|#full token):\s*{_X}",
    "accept_length": rf"accept len:\s*{_X}",
    "accept_rate": rf"accept rate:\s*{_X}",
    "generation_tps": rf"gen throughput \(token/s\):\s*{_X}",
    "prealloc_queue": rf"#prealloc-req:\s*{_X}",
    "transfer_queue": rf"#transfer-req:\s*{_X}",
    "retracted": rf"#retracted-req:\s*{_X}",
    "preallocated_usage": rf"pre-allocated usage:\s*{_X}",
}
_PREFILL = {
    "new_seqs": rf"#new-seq:\s*{_X}",
    "new_tokens": rf"#new-token:\s*{_X}",
    "cached_tokens": rf"#cached-token:\s*{_X}",
    "pending_tokens": rf"#pending-token:\s*{_X}",
    "prompt_tps": rf"input throughput \(token/s\):\s*{_X}",
    "bootstrap_queue": rf"(?:#unbootstrapped-req|#prealloc-req):\s*{_X}",
    "inflight_queue": rf"(?:#transferring-req|#inflight-req):\s*{_X}",
}
_HIT = re.compile(r"cache hit rate:\s*(-?[\d.]+)\s*%")
_GRAPH = re.compile(r"(?:cuda|cpu|npu|xpu|musa) graph:\s*(\w+)")
_REQUEST = {
    "prompt_tokens": r"['\"]prompt_tokens['\"]:\s*(-?\d+)",
    "completion_tokens": r"['\"]completion_tokens['\"]:\s*(-?\d+)",
    "cached_tokens": r"['\"]cached_tokens['\"]:\s*(-?\d+)",
    "ttft": r"['\"](?:ttft_latency|first_token_latency|ttft)['\"]:\s*(-?[\d.]+)",
    "e2e": r"['\"](?:e2e_latency|latency)['\"]:\s*(-?[\d.]+)",
    "queue": r"['\"](?:queue_latency|queue_time|queued_time)['\"]:\s*(-?[\d.]+)",
}
_COMPILED = {
    "decode": {name: re.compile(p) for name, p in {**_POOLS, **_COMMON, **_DECODE}.items()},
    "prefill": {name: re.compile(p) for name, p in {**_POOLS, **_COMMON, **_PREFILL}.items()},
    "request": {name: re.compile(p) for name, p in _REQUEST.items()},
}


def batch(line: str) -> tuple[str, Values]:
    """Kind (``sglang_decode`` or ``sglang_prefill``) and values; empty values when the line is neither."""
    decode, prefill = line.find("Decode batch"), line.find("Prefill batch")
    if decode < 0 and prefill < 0:
        return "", {}
    kind = "decode" if decode >= 0 and (prefill < 0 or decode < prefill) else "prefill"
    out = fields(_COMPILED[kind], line[max(decode if kind == "decode" else prefill, 0) :])
    pools = [out[name] for name in _POOLS if name in out]
    out.pop("token_usage", None)
    if pools:
        out["kv_usage"] = max(pools)
    graph = _GRAPH.search(line)
    if graph:
        out["cuda_graph"] = 0.0 if graph.group(1).lower() in ("false", "none", "disabled", "eager") else 1.0
    hits = _HIT.search(line)
    value = number(hits.group(1)) if hits else None
    if value is not None:
        out["prefix_hit_ratio"] = ratio(value)
    return f"sglang_{kind}", out


def request(line: str) -> Values:
    """Usage of one finished request, from a meta_info dict or an OpenAI usage object; prompt tokens must be there."""
    out = fields(_COMPILED["request"], line)
    return out if "prompt_tokens" in out else {}
