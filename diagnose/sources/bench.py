"""Benchmark results of one run: vLLM and SGLang JSON, guidellm, genai-perf and aiperf, text blocks, tables.

Value names: request_rate, max_concurrency, completed, duration, num_requests, request_throughput, output_throughput,
total_throughput, input_tokens, output_tokens (totals), input_len, output_len (per request), ttft_*, tpot_*, itl_*,
e2e_* with mean, p50, p90, p95, p99, accept_length, acceptance_rate, concurrency (measured), peak_output_throughput;
any other number as ``raw.<key>``. Seconds, tokens, per second, ratio 0-1. What a result does not say is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from diagnose import units
from diagnose.model import Bench
from diagnose.sources import bench_reports

MAX_RESULTS = 2_000
MAX_RAW = 200
Values = dict[str, float]

_NAMES = {
    "request_rate": "request_rate", "max_concurrency": "max_concurrency", "concurrency": "concurrency",
    "completed": "completed", "successful_requests": "completed", "num_completed": "completed",
    "duration": "duration", "benchmark_duration": "duration", "elapsed_time": "duration", "total_latency": "duration",
    "num_prompts": "num_requests", "num_requests": "num_requests", "total_requests": "num_requests",
    "request_throughput": "request_throughput", "requests_per_second": "request_throughput",
    "request_per_second": "request_throughput", "req_per_s": "request_throughput", "rps": "request_throughput",
    "output_throughput": "output_throughput", "output_token_throughput": "output_throughput",
    "output_tokens_per_second": "output_throughput", "output_token_throughput_per_request": "",
    "total_token_throughput": "total_throughput", "total_throughput": "total_throughput",
    "overall_throughput": "total_throughput", "generation_throughput": "output_throughput",
    "decode_throughput": "output_throughput", "prompt_throughput": "input_throughput",
    "tokens_per_second": "total_throughput",
    "total_tokens_per_second": "total_throughput", "max_output_tokens_per_s": "peak_output_throughput",
    "peak_output_token_throughput": "peak_output_throughput", "input_throughput": "input_throughput",
    "total_input_tokens": "input_tokens", "total_output_tokens": "output_tokens", "total_input": "input_tokens",
    "total_output": "output_tokens", "total_generated_tokens": "output_tokens",
    "random_input_len": "input_len", "input_len": "input_len", "isl": "input_len", "mean_input_len": "input_len",
    "random_output_len": "output_len", "output_len": "output_len", "osl": "output_len", "mean_output_len": "output_len",
    "accept_length": "accept_length", "acceptance_length": "accept_length", "mean_acceptance_length": "accept_length",
    "spec_decode_acceptance_length": "accept_length", "acceptance_rate": "acceptance_rate",
    "spec_decode_acceptance_rate": "acceptance_rate", "draft_acceptance_rate": "acceptance_rate",
}  # fmt: skip
_LATENCY = {
    "ttft": "ttft", "time_to_first_token": "ttft", "first_token_latency": "ttft", "tpot": "tpot",
    "time_per_output_token": "tpot", "itl": "itl", "inter_token_latency": "itl", "intertoken_latency": "itl",
    "e2el": "e2e", "e2e": "e2e", "e2e_latency": "e2e", "request_latency": "e2e", "end_to_end_latency": "e2e",
    "latency": "e2e",
}  # fmt: skip
_STATS = {"mean": "mean", "avg": "mean", "average": "mean", "median": "p50", "p50": "p50", "p90": "p90", "p95": "p95",
          "p99": "p99", "std": "std", "max": "max", "min": "min", "p75": "p75", "p999": "p999"}  # fmt: skip
_SPLIT = re.compile(r"^(?:(?P<pre>mean|avg|average|median|std|max|min|p\d{2,3})_)?(?P<name>\w+?)"
                    r"(?:_(?P<post>mean|avg|median|std|max|min|p\d{2,3}))?(?:_(?P<unit>ms|s))?$")  # fmt: skip
_STATISTIC = re.compile(r"^(?:avg|mean)_")
_RATE = re.compile(r"\(?\b(tok|tokens?|req|requests?)\s*(?:/|per)\s*s(?:ec(?:ond)?)?\b\)?|\(per sec\)()")
_SKIPPED = {"backend", "date", "timestamp", "seed", "random_range_ratio", "burstiness"}


def parse_bench(text: str, run: str, where: str) -> tuple[Bench, ...]:
    """The results in a text, in order; empty when it holds none. Nothing is raised."""
    results: list[Bench] = []
    for label, values in _results(text):
        if values and len(results) < MAX_RESULTS:
            results.append(Bench(run, values, f"{where}, {label}" if label else where))
    return tuple(results)


def _results(text: str) -> Iterator[tuple[str, Values]]:
    """Each result with what its row is called, where it is a row."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        yield from (("", values) for values in _json(stripped))
        return
    blocks = list(bench_reports.text_blocks(text))
    for block in blocks:
        yield "", from_pairs(block)
    for row in [] if blocks else bench_reports.tables(text):
        values = from_pairs(row)
        if _known(values):
            yield next((str(cell) for cell in row.values() if _number(cell) is None), ""), values


def _json(text: str) -> Iterator[Values]:
    """One JSON document, or one per line."""
    try:
        documents = [json.loads(text)]
    except (ValueError, RecursionError):
        documents = []
        for line in text.splitlines()[:MAX_RESULTS]:
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    for document in documents:
        yield from _document(document, 0)


def _document(document: Any, depth: int) -> Iterator[Values]:
    if isinstance(document, list):
        for item in document if depth < 3 else ():
            yield from _document(item, depth + 1)
        return
    if not isinstance(document, dict):
        return
    if isinstance(document.get("benchmarks"), list):
        for benchmark in document["benchmarks"]:
            if isinstance(benchmark, dict):
                yield from_pairs(bench_reports.guidellm(benchmark))
        return
    if bench_reports.is_aiperf(document):
        yield from_pairs(bench_reports.aiperf(document))
        return
    own = from_pairs(document)
    if _known(own):
        yield own
    elif depth < 3:
        inner = [
            v for value in document.values() if isinstance(value, dict | list) for v in _document(value, depth + 1)
        ]
        yield from inner if any(_known(v) for v in inner) else [own]


def _known(values: Values) -> bool:
    return any(not name.startswith("raw.") for name in values)


def from_pairs(pairs: Mapping[str, Any]) -> Values:
    """Canonical names and base units from a flat result; later spellings of one name do not replace earlier ones."""
    out: Values = {}
    for raw, value in pairs.items():
        key = _key(raw)
        number = _number(value)
        if number is None or key in _SKIPPED:
            continue
        name, number = _named(key, number)
        if name and name not in out and (not name.startswith("raw.") or len(out) < MAX_RAW):
            out[name] = number
    _completed(out)
    return out


def _key(raw: object) -> str:
    """``Mean TTFT (ms)`` and ``mean_ttft_ms`` as one spelling."""
    text = str(raw).strip().lower()
    rate = _RATE.search(text)
    if rate:
        kind = "request " if (rate.group(1) or "").startswith("req") and "request" not in text[: rate.start()] else ""
        text = _RATE.sub(" ", text)
        text = f"{kind}{text.strip()} throughput" if "throughput" not in text else text
    text = re.sub(r"[()\[\]:/]", " ", text)
    return re.sub(r"[\s.-]+", "_", text.strip()).strip("_")


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(str(value).replace(",", "").strip().rstrip("%"))
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _named(key: str, number: float) -> tuple[str, float]:
    """Name and number in base units; ``raw.<key>`` when the key is not known."""
    if key in _NAMES:
        name = _NAMES[key]
        if name == "acceptance_rate" and number > 1.0:
            number = units.percent(number)
        return name, number
    rest = _STATISTIC.sub("", key)
    if rest != key and _NAMES.get(rest):
        return _NAMES[rest], number
    found = _SPLIT.match(key)
    measure = _LATENCY.get(found.group("name").removeprefix("request_")) if found else None
    measure = measure or (_LATENCY.get(found.group("name")) if found else None)
    if found is None or measure is None:
        return f"raw.{key}", number
    stat = _STATS.get(found.group("pre") or found.group("post") or "mean")
    if stat is None:
        return f"raw.{key}", number
    return f"{measure}_{stat}", units.milliseconds(number) if found.group("unit") == "ms" else number


def _completed(out: Values) -> None:
    """Adds the throughput that a duration and a count imply."""
    duration = out.get("duration")
    if not duration or duration < 0:
        return
    count = out.get("completed", out.get("num_requests"))
    if count is not None and "request_throughput" not in out:
        out["request_throughput"] = count / duration
    if "output_tokens" in out and "output_throughput" not in out:
        out["output_throughput"] = out["output_tokens"] / duration
