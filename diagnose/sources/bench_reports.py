"""Layouts of benchmark reports as flat pairs: text blocks, markdown and CSV tables, guidellm, genai-perf, aiperf."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

Pairs = dict[str, Any]

_BLOCK = re.compile(r"=+ .*(?:Benchmark|Benchmarking|Serving|Throughput) .*=+", re.I)
_ROW = re.compile(
    r"^\s*(?P<key>[A-Za-z][\w #/().%-]*?)\s*:\s*(?P<value>-?[\d.,]+|inf|nan|not set)\s*(?P<unit>%|ms|s|tok/s)?\s*$"
)
_THROUGHPUT = re.compile(
    r"Throughput:\s*([\d.]+) requests/s,\s*([\d.]+) total tokens/s(?:,\s*([\d.]+) output tokens/s)?"
)
_AIPERF = (
    "time_to_first_token",
    "inter_token_latency",
    "request_latency",
    "output_token_throughput",
    "request_throughput",
)
_GUIDELLM = {
    "requests_per_second": "request_throughput", "request_concurrency": "concurrency",
    "output_tokens_per_second": "output_throughput", "tokens_per_second": "total_throughput",
}  # fmt: skip
_GUIDELLM_MS = {"time_to_first_token_ms": "ttft", "time_per_output_token_ms": "tpot", "inter_token_latency_ms": "itl"}


def text_blocks(text: str) -> Iterator[Pairs]:
    """``Name: number`` lines of each ``== Serving Benchmark Result ==`` block, or the one-line throughput form."""
    block: Pairs | None = None
    for line in text.splitlines():
        line = line.lstrip("> |").rstrip(" |")
        if found := _THROUGHPUT.search(line):
            yield {"request_throughput": found.group(1), "total_throughput": found.group(2),
                   "output_throughput": found.group(3)}  # fmt: skip
        elif _BLOCK.match(line):
            if block:
                yield block
            block = {}
        elif block is not None and (row := _ROW.match(line)):
            block.setdefault(_titled(row.group("key"), row.group("unit") or ""), row.group("value"))
    if block:
        yield block


def _titled(key: str, unit: str) -> str:
    """The spelling of a JSON key for a line of a text block."""
    lowered = re.sub(r"\((tok|req|tokens|requests)/s(?:ec)?\)", "", key.lower()).strip()
    lowered = lowered.replace("maximum request concurrency", "max_concurrency").replace("#", "").strip()
    lowered = {"traffic request rate": "request_rate", "request rate configured (rps)": "request_rate",
               "benchmark duration (s)": "duration", "total generated tokens": "total_output_tokens",
               "total input text tokens": "raw_input_text_tokens"}.get(lowered, lowered)  # fmt: skip
    return f"{lowered} {unit}" if unit == "ms" and "ms" not in lowered else lowered


def tables(text: str) -> Iterator[Pairs]:
    """Rows of markdown and CSV tables; a table of ``metric | value`` rows is one result."""
    rows = [_cells(line) for line in text.splitlines()]
    header: list[str] = []
    pairs: Pairs = {}
    for row in rows:
        if len(row) < 2 or all(re.fullmatch(r":?-+:?", cell) for cell in row):
            header = header if len(row) >= 2 else []
        elif not header:
            header = row
        elif len(row) == len(header) == 2 and not _numeric(row[0]):
            # ``metric | value`` rows, or configurations with one metric: the names that are known decide.
            pairs[row[0]] = row[1]
            yield dict(zip(header, row, strict=True))
        elif _statistics(header):
            for name, cell in zip(header[1:], row[1:], strict=False):
                pairs[f"{name} {row[0]}"] = cell
        else:
            yield dict(zip(header, row, strict=False))
    if pairs:
        yield pairs


def _cells(line: str) -> list[str]:
    line = line.strip()
    if line.startswith("|"):
        return [cell.strip().strip("*`") for cell in line.strip("|").split("|")]
    if line.count(",") >= 1 and not line.endswith(":"):
        return [cell.strip() for cell in next(csv.reader([line]), [])]
    return []


def _numeric(cell: str) -> bool:
    return re.fullmatch(r"-?[\d.,]+\s*\S{0,6}", cell) is not None


def _statistics(header: list[str]) -> bool:
    """Whether the columns are statistics, as genai-perf writes its CSV."""
    return len({cell.lower() for cell in header} & {"avg", "mean", "p50", "p90", "p95", "p99", "min", "max"}) >= 2


def guidellm(benchmark: Mapping[str, Any]) -> Pairs:
    """One entry of a guidellm report."""
    out: Pairs = {}
    metrics = benchmark.get("metrics")
    for name, value in metrics.items() if isinstance(metrics, dict) else ():
        spread = value.get("successful", value) if isinstance(value, dict) else None
        if not isinstance(spread, dict):
            continue
        if name in _GUIDELLM:
            out[_GUIDELLM[name]] = spread.get("mean")
        elif name in _GUIDELLM_MS:
            out |= _spread(_GUIDELLM_MS[name], spread, "_ms")
        elif name == "request_latency":
            out |= _spread("e2e", spread, "")
        elif name in ("prompt_token_count", "output_token_count"):
            out["input_len" if name.startswith("prompt") else "output_len"] = spread.get("mean")
    totals = benchmark.get("run_stats", benchmark.get("request_totals"))
    made = totals.get("requests_made", totals) if isinstance(totals, dict) else None
    if isinstance(made, dict):
        out["completed"] = made.get("successful")
        out["num_requests"] = made.get("total")
    for key in ("duration", "request_rate"):
        out[key] = benchmark.get(key)
    return out | _strategy(benchmark)


def _strategy(benchmark: Mapping[str, Any]) -> Pairs:
    """How the load was made, wherever this release keeps it."""
    for holder in (benchmark, benchmark.get("args"), benchmark.get("config"), benchmark.get("scheduler")):
        strategy = holder.get("strategy") if isinstance(holder, dict) else None
        if isinstance(strategy, dict):
            return {"max_concurrency": strategy.get("streams", strategy.get("max_concurrency")),
                    "request_rate": strategy.get("rate")}  # fmt: skip
    return {}


def _spread(name: str, spread: Mapping[str, Any], unit: str) -> Pairs:
    out: Pairs = {f"mean_{name}{unit}": spread.get("mean"), f"median_{name}{unit}": spread.get("median")}
    percentiles = spread.get("percentiles")
    for key in ("p50", "p90", "p95", "p99"):
        value = percentiles.get(key) if isinstance(percentiles, dict) else spread.get(key)
        out[f"{key}_{name}{unit}"] = value
    return out


def is_aiperf(document: Mapping[str, Any]) -> bool:
    """Whether this is an export of genai-perf or aiperf: metrics with unit and avg."""
    return any(isinstance(document.get(key), dict) and "avg" in document[key] for key in _AIPERF)


def aiperf(document: Mapping[str, Any]) -> Pairs:
    """An export of genai-perf or aiperf."""
    out: Pairs = {}
    names = {"time_to_first_token": "ttft", "inter_token_latency": "itl", "request_latency": "e2e"}
    for key, spread in document.items():
        if not isinstance(spread, dict) or "avg" not in spread:
            continue
        if key in names:
            unit = "_ms" if str(spread.get("unit", "ms")) in ("ms", "milliseconds") else ""
            out |= _spread(names[key], {**spread, "mean": spread["avg"], "median": spread.get("p50")}, unit)
        elif key in ("input_sequence_length", "output_sequence_length"):
            out["input_len" if key.startswith("input") else "output_len"] = spread["avg"]
        elif key == "request_count":
            out["completed"] = spread["avg"]
        else:
            out[key] = spread["avg"]
    return out | _aiperf_load(document)


def _aiperf_load(document: Mapping[str, Any]) -> Pairs:
    config = document.get("input_config")
    if not isinstance(config, dict):
        return {}
    analyzer = config.get("perf_analyzer")
    stimulus = analyzer.get("stimulus") if isinstance(analyzer, dict) else None
    for load in (config.get("loadgen"), analyzer, stimulus):
        if isinstance(load, dict) and ("concurrency" in load or "request_rate" in load):
            return {"max_concurrency": load.get("concurrency"), "request_rate": load.get("request_rate")}
    return {}
