"""What load generator and remarks say about the load: shared prefixes, offline batches, offered rate."""

from __future__ import annotations

import re

from diagnose import facts as facts_module
from diagnose.model import Bench, Fact, Remark, Value

_SHARED = re.compile(
    r"(system prompt|shared (prefix|prompt|document|context)|common (prefix|prompt|system)"
    r"|same ([\w,.-]+ ){0,3}(prefix|prompt|system|document|image|context|page|file)\w*"
    r"|asked (repeatedly|\w+ times)|multi.?turn|each turn|re-?sends?|conversation"
    r"|prefix.?(repetition|sharing)|identical prompts?|repeats? the same)",
    re.IGNORECASE,
)
_UNSHARED = re.compile(r"(random prompts?|unique prompts?|no (shared|common) prefix|no prefix sharing)", re.IGNORECASE)
_TOKENS = re.compile(r"(\d[\d,]*)\s*(k?)[- ]?tok\w*[^.]{0,40}?(?:system prompt|prefix|common|shared)", re.IGNORECASE)
_OFFLINE = re.compile(
    r"\b(offline|nightly|overnight|bulk|batch (job|inference|run|scoring|workload)"
    r"|(scoring|evaluation|inference) batch)\b",
    re.IGNORECASE,
)
_SHARING_SETS = (
    "prefix",
    "multiturn",
    "multi-turn",
    "sharegpt-multi",
    "generated-shared-prefix",
    "mooncake",
    "conversation",
)


def client_signals(facts: dict[str, Fact], remarks: tuple[Remark, ...], benches: tuple[Bench, ...]) -> dict[str, Value]:
    """Signals about the load, absent where nobody says anything about it."""
    words = " ".join(r.text for r in remarks)
    out: dict[str, float | None] = {
        "prompts_share": _share(facts, words),
        "shared_prefix_tokens": _prefix(facts, words),
        "client_offline": 1.0 if _OFFLINE.search(words) else None,
        "lora_adapters": facts_module.number(facts.get("lora_adapters")),
        "lora_overflow": _overflow(facts),
        "offered_over_served": _offered(facts, benches),
        "client_closed_loop": _closed(facts),
        "client_concurrency": _in_flight(facts, benches),
        "scaling_efficiency": _scaling(benches),
    }
    for name in ("ttft_mean", "ttft_p50", "ttft_p99", "itl_mean", "itl_p99", "tpot_mean", "e2e_mean"):
        values = [b.values[name] for b in benches if name in b.values]
        out[f"bench_{name}"] = values[-1] if len(benches) == 1 and values else None
    return {k: Value(v, "load generator") for k, v in out.items() if v is not None}


def _share(facts: dict[str, Fact], words: str) -> float | None:
    if (facts_module.number(facts.get("client_prefix_len")) or 0) > 0:
        return 1.0
    dataset = facts_module.text(facts.get("client_dataset")).lower()
    if any(s in dataset for s in _SHARING_SETS) or _SHARED.search(words):
        return 1.0
    return 0.0 if dataset.startswith("random") or _UNSHARED.search(words) else None


def _prefix(facts: dict[str, Fact], words: str) -> float | None:
    given = facts_module.number(facts.get("client_prefix_len"))
    if given:
        return given
    match = _TOKENS.search(words)
    return float(match[1].replace(",", "")) * (1000 if match[2] else 1) if match else None


def _overflow(facts: dict[str, Fact]) -> float | None:
    adapters, slots = facts_module.number(facts.get("lora_adapters")), facts_module.number(facts.get("max_loras"))
    return adapters / slots if adapters and slots else None


def _offered(facts: dict[str, Fact], benches: tuple[Bench, ...]) -> float | None:
    """Offered over served request rate, for the one benchmark that names both."""
    for bench in benches:
        offered = bench.values.get("request_rate") or facts_module.number(facts.get("client_request_rate"))
        served = bench.values.get("request_throughput")
        if offered and served and offered != float("inf"):
            return offered / served
    return None


def _in_flight(facts: dict[str, Fact], benches: tuple[Bench, ...]) -> float | None:
    """Requests that the client keeps in flight: by its flags, or by the single benchmark."""
    given = facts_module.number(facts.get("client_concurrency")) or facts_module.number(facts.get("client_threads"))
    return given or (benches[0].values.get("max_concurrency") if len(benches) == 1 else None)


def _scaling(benches: tuple[Bench, ...]) -> float | None:
    """Throughput growth over concurrency growth from the lowest to the highest concurrency up to 32."""
    points = sorted(
        (b.values["max_concurrency"], b.values["output_throughput"])
        for b in benches
        if b.values.get("max_concurrency") and b.values.get("output_throughput")
    )
    points = [p for p in points if p[0] <= 32]
    if len(points) < 2 or points[-1][0] < 4 * points[0][0]:
        return None
    (low, slow), (high, fast) = points[0], points[-1]
    return (fast / slow) / (high / low)


def _closed(facts: dict[str, Fact]) -> float | None:
    """1 when the client keeps a fixed number in flight or sends everything at once: its queue is not demand."""
    rate = facts_module.number(facts.get("client_request_rate"))
    if rate == float("inf") or "client_concurrency" in facts or "client_threads" in facts:
        return 1.0
    return 0.0 if rate else None
