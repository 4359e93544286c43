"""A/B bundles: which runs differ in one thing, by how much, and which guide entry that thing belongs to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from diagnose import facts as facts_module
from diagnose import ticks, versions
from diagnose.model import Fact, Observations, Value

ROLES = frozenset({"server", "prefill", "decode", "router", "client", "frontend", "worker", "planner", "epp"})
# names of a single deployment's files, not of runs
_GENERIC = frozenset(
    ("engine", "deployment", "start", "startup", "vllm", "sglang", "compose", "docker-compose", "values", "k8s", "pod")
    + ("command", "launch", "scaledobject", "hpa", "keda", "requests", "config")
)

# what a differing fact belongs to; "" = a consequence or noise, "workload" = not a choice of the server
ENTRY_OF = {
    "chunked_prefill": "1.1", "chunk_budget": "1.1", "max_num_batched_tokens": "1.1", "max_prefill_tokens": "1.1",
    "mixed_chunk": "1.1", "long_prefill_token_threshold": "1.1", "max_num_partial_prefills": "1.1",
    "prefix_caching": "1.2", "mamba_cache_mode": "1.2", "schedule_policy": "1.2",
    "attention_backend": "1.3", "prefill_attention_backend": "1.3", "decode_attention_backend": "1.3",
    "env.VLLM_ATTENTION_BACKEND": "1.3", "env.VLLM_FLASH_ATTN_VERSION": "1.3", "env.VLLM_USE_TRTLLM_ATTENTION": "1.3",
    "max_num_seqs": "2.1", "gpu_memory_utilization": "2.1", "mem_fraction_static": "2.1", "max_model_len": "2.1",
    "schedule_conservativeness": "2.1", "kv_blocks_override": "2.1", "num_scheduler_steps": "2.2",
    "enforce_eager": "2.2", "graph_mode": "2.2", "graph_sizes": "2.2", "graph_max_batch": "2.2",
    "env.VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "2.2", "flag.enable_torch_compile": "2.2",
    "quantization": "2.3", "kv_cache_dtype": "2.3", "dtype": "2.3", "model_precision": "2.3",
    "tp": "3.1", "pp": "3.1", "dp": "3.1", "ep": "3.1", "cp": "3.1", "dp_attention": "3.1",
    "custom_allreduce_disabled": "3.1", "env.NCCL_P2P_DISABLE": "3.1",
    "spec_method": "3.2", "spec_model": "3.2", "spec_tokens": "3.2", "spec_parallel_drafting": "3.2",
    "flag.speculative_num_steps": "3.2", "flag.speculative_eagle_topk": "3.2",
    "disaggregation": "3.3", "flag.is_prefill_worker": "3.3", "kv_role": "3.3",
    "max_loras": "4.1", "max_cpu_loras": "4.1",
    "hicache": "4.2", "hicache_storage": "4.2", "hicache_prefetch_policy": "4.2", "kv_offload": "4.2",
    "kv_connector": "4.2", "router_mode": "4.2", "load_balance_method": "4.2", "cpu_offload_bytes": "4.2",
    "flag.max_lora_rank": "4.1", "max_lora_rank": "4.1", "kv_block_size": "1.2",
    "lora": "workload", "lora_adapters": "workload", "engine_version": "version", "engine": "engine",
}  # fmt: skip
_PRECISION = re.compile(r"mxfp\d|nvfp4|fp8|int8|int4|awq|gptq|w\da\d+|bnb|4bit|8bit", re.IGNORECASE)
_HIGHER = ("output_throughput", "total_throughput", "request_throughput", "peak_output_throughput")
_LOWER = ("duration", "e2e_mean", "e2e_p50", "e2e_p99", "ttft_mean", "ttft_p50", "ttft_p99", "tpot_mean", "tpot_p50",
          "tpot_p99", "itl_mean", "itl_p50", "itl_p99")  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One side of a comparison: its configuration and its measurements by condition and metric (higher is better)."""

    name: str
    facts: Mapping[str, Fact]
    measured: Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Pair:
    """Two runs that differ in one guide entry; ``gain`` is better over worse less 1 at the most telling condition."""

    entry: str
    better: str
    worse: str
    gain: float
    metric: str
    condition: str
    fewer_flags_win: bool
    differing: tuple[str, ...]
    crossover: bool = False


@dataclass(frozen=True)
class Comparison:
    """All runs of an A/B bundle with the clean pairs, most telling first, and what could not be compared."""

    runs: tuple[Run, ...]
    pairs: tuple[Pair, ...]
    unmeasured: tuple[str, ...]
    mixed: tuple[tuple[str, str], ...]


def variants(observations: Observations) -> tuple[str, ...]:
    """Names of the runs that an A/B bundle compares, () when it is one deployment."""
    launched = _names(f.run for f in observations.facts if f.source == "launch" and not f.id.startswith("client_"))
    benched = _names(b.run for b in observations.benches)
    own = [n for n in launched if not is_role(n)]
    loose = [n for n in benched if not is_role(n)]
    if len(own) == 1 and len(loose) >= 2 and own[0] in loose and {"prefill", "decode"} & set(launched):
        return tuple(loose)  # an aggregated server against a disaggregated deployment of several roles
    if len(own) >= 2:
        return tuple(own)
    if own and "server" in launched and own[0] in benched:
        return (own[0], "server")
    return tuple(loose) if len(loose) >= 2 and not own else ()


def is_role(name: str) -> bool:
    """Whether a base name is a role of one deployment (``decode``, ``decode-1``, ``server``) or a generic file name."""
    stem = name.lower().rstrip("0123456789").rstrip("-_")
    return stem in ROLES or stem in _GENERIC


def compare(observations: Observations, names: tuple[str, ...], shared: dict[str, Fact]) -> Comparison:
    """The comparison of the runs ``names``; ``shared`` are facts of files that belong to no single run."""
    runs = tuple(_run(observations, name, names, shared) for name in names)
    pairs: list[Pair] = []
    mixed: list[tuple[str, str]] = []
    for a, b in combinations(runs, 2):
        entries, differing = difference(a, b)
        gap = _gap(a, b)
        if gap is None:
            continue
        if len(entries) > 1 or not entries:
            mixed.append((a.name, b.name))
            continue
        entry = entries.pop()
        if _by_design(entry, gap):
            gap = (gap[0], gap[1], 1.0)
        pairs.append(_pair(entry, a, b, gap, differing))
    pairs.sort(key=lambda p: (-_score(runs, p.better, p.metric, p.condition), p.gain))
    unmeasured = tuple(r.name for r in runs if not r.measured)
    return Comparison(runs, tuple(pairs), unmeasured, tuple(mixed))


def _by_design(entry: str, gap: tuple[str, str, float]) -> bool:
    """Small latency costs that a setting has by design: chunking on a lone prompt's TTFT, a larger batch on ITL."""
    latency = {"1.1": ("ttft",), "2.1": ("itl", "tpot")}.get(entry, ())
    return gap[0].startswith(latency) and 0.8 < gap[2] < 1.25 if latency else False


def difference(a: Run, b: Run) -> tuple[set[str], tuple[str, ...]]:
    """Guide entries (or workload, version, engine) in which two runs differ, and the facts that differ."""
    differing = [i for i in sorted({*a.facts, *b.facts}) if i in ENTRY_OF and _value(a, i) != _value(b, i)]
    roles = {str(r.facts["kv_role"].value) for r in (a, b) if "kv_role" in r.facts}
    if roles <= {"kv_both"}:  # a cache connector on both sides, no split of prefill and decode
        differing = [i for i in differing if i != "kv_role"]
    chosen = [
        i for i in differing if any(i in r.facts and r.facts[i].source in ("launch", "server_info") for r in (a, b))
    ]
    both = [
        i for i in differing if i in a.facts and i in b.facts
    ]  # a log that is silent on a fact does not differ in it
    entries = {ENTRY_OF[i] for i in chosen or both}
    resolved = {i for i in differing if ENTRY_OF[i] == "1.3"}
    if entries == {"2.3"} and resolved and "kv_cache_dtype" in differing:
        entries = {"1.3"}  # the KV dtype decided the kernel: the kernel is what the runs compare
    if "workload" in entries and entries <= {"workload", "4.1"} and any("lora" not in r.facts for r in (a, b)):
        entries = {"workload"}  # with adapters against without: not a choice of the server
    if entries == {"1.2"} and "kv_block_size" in differing and any("kv_connector" in r.facts for r in (a, b)):
        entries = {"3.3"}  # the block size decides how many pieces a transfer has
    if not entries:
        entries = _by_name(a.name, b.name)
    if "3.3" in entries:
        entries -= {"3.1", "4.2"}  # a split brings its own layout and connector
    return entries, tuple(differing)


_NAMED = (  # what a run's name says when its flags are not known
    ("3.2", r"spec|eagle|medusa|mtp|ngram|n-gram|draft|lookahead"),
    ("2.3", r"fp8|int8|int4|awq|gptq|bf16|fp16|nvfp4|mxfp\d|w\da\d+|quant"),
    ("1.3", r"fa[234]\b|flashinfer|flash.?attn|triton|xformers|trtllm|cutlass|flashmla|attention"),
    ("3.3", r"disagg|\bpd\b|\bmono\b|aggregated|\d+p\d+d"),
    ("4.2", r"lmcache|hicache|offload|mooncake|round.?robin|prefix.?aware|router"),
    ("2.2", r"eager|graph|capture"),
    ("1.1", r"chunk|mnbt"),
    ("1.2", r"\bapc\b|prefix|radix"),
    ("3.1", r"\btp\d+|\bpp\d+|\bep\d*\b|\bdp\d+"),
)
_OFF = re.compile(r"none|\boff\b|base|control|default|\bno\b|without|bf16|fp16|mono|vanilla", re.IGNORECASE)


def _by_name(a: str, b: str) -> set[str]:
    """The guide entry that the names of two runs speak of, {} when they name none or several."""
    found = {entry for entry, words in _NAMED if any(re.search(words, n, re.IGNORECASE) for n in (a, b))}
    return found if len(found) == 1 else set()


def signals(comparison: Comparison) -> dict[str, Value]:
    """``ab_*`` signals: per entry the gain of the better side and which side it is; what was tried without effect."""
    out: dict[str, float] = {"ab_runs": float(len(comparison.runs)), "ab_unmeasured": float(len(comparison.unmeasured))}
    for pair in comparison.pairs:
        key = pair.entry.replace(".", "_")
        if f"ab_{key}_gain" not in out or pair.gain > out[f"ab_{key}_gain"] >= 0 and not _is_best(comparison, pair):
            out.setdefault(f"ab_{key}_gain", pair.gain)
            out.setdefault(f"ab_{key}_off_wins", float(pair.fewer_flags_win))
            out.setdefault(f"ab_{key}_crossover", float(pair.crossover))
        if pair.entry == "3.2":
            both = [
                facts_module.text(_run_of(comparison, n).facts.get("spec_method")) for n in (pair.better, pair.worse)
            ]
            out.setdefault("ab_3_2_both_on", float(all(m.lower() not in ("", "none") for m in both)))
        if pair.entry == "3.1" and "ab_3_1_scaling" not in out:
            out |= _scaling(comparison, pair)
        if pair.entry == "1.3":
            better = _run_of(comparison, pair.better)
            chosen = "attention_backend" in better.facts and better.facts["attention_backend"].source == "launch"
            named = _OFF.search(pair.better) is not None
            out.setdefault("ab_1_3_automatic_wins", float(named and not chosen))
        if pair.entry == "version":
            newer = [
                versions.key(facts_module.text(_run_of(comparison, n).facts.get("engine_version")))
                for n in (pair.better, pair.worse)
            ]
            out["ab_version_newer_wins"] = float(newer[0] > newer[1])
    if any(p.metric == "kv_tokens" and _same_memory(comparison, p) for p in comparison.pairs):
        out["ab_kv_size_only"] = 1.0
    real = [p for p in comparison.pairs if p.entry not in ("workload", "engine")]
    if real:
        out["ab_best_gain"] = max(p.gain for p in real)
        if comparison.mixed and out["ab_best_gain"] < 0.05:
            del out["ab_best_gain"]
    if not real and comparison.mixed:
        out["ab_mixed"] = 1.0
    return {k: Value(v, "benchmark") for k, v in out.items()}


def _scaling(comparison: Comparison, pair: Pair) -> dict[str, float]:
    """Throughput that added GPUs brought over what they should bring; {} when both layouts use as many."""
    better, worse = _run_of(comparison, pair.better), _run_of(comparison, pair.worse)
    gpus = [math.prod(facts_module.number(r.facts.get(i)) or 1.0 for i in ("tp", "pp", "dp")) for r in (better, worse)]
    if pair.metric not in _HIGHER or gpus[0] == gpus[1]:
        return {}
    ratio = 1.0 + pair.gain if gpus[0] > gpus[1] else 1.0 / (1.0 + pair.gain)
    return {"ab_3_1_scaling": ratio * min(gpus) / max(gpus)}


def _run_of(comparison: Comparison, name: str) -> Run:
    return next(r for r in comparison.runs if r.name == name)


def _same_memory(comparison: Comparison, pair: Pair) -> bool:
    """Whether both runs gave the KV cache the same memory, so that only the printed token count differs."""
    sizes = [
        facts_module.number(r.facts.get("kv_bytes")) for r in comparison.runs if r.name in (pair.better, pair.worse)
    ]
    return len(sizes) == 2 and all(sizes) and max(sizes) < 1.05 * min(sizes)  # type: ignore[type-var, operator]


def _is_best(comparison: Comparison, pair: Pair) -> bool:
    return bool(comparison.pairs) and comparison.pairs[0].better == pair.better


def _pair(entry: str, a: Run, b: Run, gap: tuple[str, str, float], differing: tuple[str, ...]) -> Pair:
    metric, condition, ratio = gap
    better, worse = (b, a) if ratio >= 1 else (a, b)
    gain = ratio - 1 if ratio >= 1 else 1 / ratio - 1
    fewer = _flags(better) < _flags(worse)
    if _flags(better) == _flags(worse) and entry != "1.3":
        fewer = bool(_OFF.search(better.name)) and not _OFF.search(worse.name)
    return Pair(entry, better.name, worse.name, gain, metric, condition, fewer, differing, _crosses(a, b))


def _crosses(a: Run, b: Run) -> bool:
    """Whether the faster side changes between conditions, each time beyond noise."""
    ratios = [b.measured[k] / a.measured[k] for k in a.measured if k in b.measured and k[1] in (*_HIGHER, *_LOWER)]
    return any(r > 1.03 for r in ratios) and any(r < 0.97 for r in ratios) and len({k[0] for k in a.measured}) > 1


def _gap(a: Run, b: Run) -> tuple[str, str, float] | None:
    """Metric, condition and b over a where the two differ most, over the first kind of metric that both have."""
    common = [k for k in a.measured if k in b.measured and a.measured[k] > 0 and b.measured[k] > 0]
    if not common:
        return None
    kinds = [m for m in (*_HIGHER, *_LOWER) if any(k[1] == m for k in common)]
    chosen = [k for k in common if k[1] == kinds[0]] if kinds else common
    if kinds:  # other conditions may have been measured by another metric
        conditions = {k[0] for k in chosen}
        chosen += [k for k in common if k[0] not in conditions]
    best = max(chosen, key=lambda k: max(a.measured[k] / b.measured[k], b.measured[k] / a.measured[k]))
    return best[1], best[0], b.measured[best] / a.measured[best]


def _score(runs: tuple[Run, ...], name: str, metric: str, condition: str) -> float:
    run = next(r for r in runs if r.name == name)
    return run.measured.get((condition, metric), 0.0)


def _run(observations: Observations, name: str, names: tuple[str, ...], shared: dict[str, Fact]) -> Run:
    own = facts_module.best(f for f in observations.facts if f.run == name)
    measured: dict[tuple[str, str], float] = {}
    for bench in observations.benches:
        if belongs(bench.run, names) == name:
            condition = bench.run[len(name) :].strip("-_")
            for metric, value in bench.values.items():
                if metric in _HIGHER:
                    measured[condition, metric] = value
                elif metric in _LOWER and value > 0:
                    measured[condition, metric] = 1.0 / value
    if not measured:
        measured = _from_log(observations, name, own)
    return Run(name, {**shared, **_implied(name, own), **own}, measured)


def _implied(name: str, own: Mapping[str, Fact]) -> dict[str, Fact]:
    """Facts in names: the precision in a model's name, the version in a run's."""
    out = {}
    precision = _PRECISION.search(facts_module.text(own.get("model")))
    if precision:
        out["model_precision"] = Fact("model_precision", precision[0].lower(), "launch", "model name", name)
    if re.fullmatch(r"(vllm-|sglang-)?v?\d+\.\d+(\.\d+)?(\.?post\d+)?", name):
        version = re.sub(r"^(vllm-|sglang-)?v?", "", name)
        out["engine_version"] = Fact("engine_version", version, "launch", "run name", name)
    return out


def belongs(run: str, names: Iterable[str]) -> str:
    """The variant that a file of base name ``run`` belongs to: the same name, else the longest one it starts with."""
    fitting = [n for n in names if run == n or run.startswith((f"{n}-", f"{n}_"))]
    return max(fitting, key=len, default="")


def _from_log(observations: Observations, name: str, own: Mapping[str, Fact]) -> dict[tuple[str, str], float]:
    """What a log measures: decode speed under prefill, else mean decode speed, else the size of the KV cache."""
    course = ticks.from_log(s for s in observations.stats if s.run == name)
    known = [t for t in course if t.generation is not None]
    busy = [
        t.generation for t in known if t.generation is not None and (t.prompt or 0.0) > 500 and (t.running or 0) > 1
    ]
    out: dict[tuple[str, str], float] = {}
    if busy:
        out["", "generation under prefill"] = sum(busy) / len(busy)
    elif known:
        out["", "generation"] = sum(t.generation or 0.0 for t in known) / len(known)
    tokens = facts_module.number(own.get("kv_tokens")) or facts_module.number(own.get("kv_blocks"))
    if tokens and not out:
        out["", "kv_tokens"] = tokens
    return out


def _flags(run: Run) -> int:
    return sum(f.source == "launch" and f.value not in (False, "", "None") for f in run.facts.values())


def _value(run: Run, ident: str) -> object:
    fact = run.facts.get(ident)
    return None if fact is None or fact.value is False or fact.value in ("", "None", "auto") else fact.value


def _names(runs: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(r for r in runs if r))
