"""Benchmark results in every layout."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.sources.bench import parse_bench


def results(text: object) -> list[dict[str, float]]:
    """The values of each result; JSON values are written out first."""
    return [
        dict(b.values) for b in parse_bench(text if isinstance(text, str) else json.dumps(text), "r", "bench/r.json")
    ]


def approx(values: dict[str, float]) -> object:
    """Values up to rounding."""
    return pytest.approx(values)


BLOCK = """
============ Serving Benchmark Result ============
Successful requests:                     1000
Maximum request concurrency:             64
Traffic request rate:                    inf
Benchmark duration (s):                  52.30
Total input tokens:                      219171
Total generated tokens:                  196200
Request throughput (req/s):              19.12
Output token throughput (tok/s):         3751.43
Peak output token throughput (tok/s):    5000.00
Total Token throughput (tok/s):          7942.11
Concurrency:                             55.20
Accept length:                           2.55
---------------Time to First Token----------------
Mean TTFT (ms):                          18273.42
Median TTFT (ms):                        17000.00
P99 TTFT (ms):                           40000.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          99.02
---------------Inter-token Latency----------------
P95 ITL (ms):                            120.02
----------------End-to-end Latency----------------
Median E2E Latency (ms):                 30273.42
==================================================
"""


def test_text_block() -> None:
    (values,) = results(BLOCK)
    assert values == approx({
        "completed": 1000, "max_concurrency": 64, "request_rate": math.inf, "duration": 52.3, "input_tokens": 219171,
        "output_tokens": 196200, "request_throughput": 19.12, "output_throughput": 3751.43,
        "peak_output_throughput": 5000, "total_throughput": 7942.11, "concurrency": 55.2, "accept_length": 2.55,
        "ttft_mean": 18.27342, "ttft_p50": 17.0, "ttft_p99": 40.0, "tpot_mean": 0.09902, "itl_p95": 0.12002,
        "e2e_p50": 30.27342,
    })  # fmt: skip
    assert len(results(BLOCK + BLOCK.replace("19.12", "20.12"))) == 2
    quoted = "\n".join("> " + line for line in BLOCK.splitlines())
    assert results(quoted) == [values]


def test_vllm_json() -> None:
    (values,) = results({
        "date": "20260101", "backend": "vllm", "model_id": "m", "num_prompts": 100, "request_rate": "inf",
        "max_concurrency": 8, "duration": 10.0, "completed": 100, "total_input_tokens": 1000,
        "total_output_tokens": 500, "request_throughput": 10.0, "output_throughput": 50.0,
        "total_token_throughput": 150.0, "mean_ttft_ms": 20.0, "median_ttft_ms": 19.0, "p99_ttft_ms": 40.0,
        "mean_tpot_ms": 5.0, "p99_itl_ms": 9.0, "mean_e2el_ms": 800.0, "something_else": 3,
    })  # fmt: skip
    assert values == approx({
        "num_requests": 100, "request_rate": math.inf, "max_concurrency": 8, "duration": 10, "completed": 100,
        "input_tokens": 1000, "output_tokens": 500, "request_throughput": 10, "output_throughput": 50,
        "total_throughput": 150, "ttft_mean": 0.02, "ttft_p50": 0.019, "ttft_p99": 0.04, "tpot_mean": 0.005,
        "itl_p99": 0.009, "e2e_mean": 0.8, "raw.something_else": 3,
    })  # fmt: skip


def test_sglang_json_lines() -> None:
    lines = [
        {"backend": "sglang", "request_rate": 4, "random_input_len": 4096, "random_output_len": 2048,
         "median_ttft_ms": 39.7, "accept_length": 2.1},
        {"backend": "sglang", "max_concurrency": 1, "output_throughput": 113.2, "mean_tpot_ms": 8.55},
    ]  # fmt: skip
    first, second = results("\n".join(json.dumps(line) for line in lines))
    assert first == approx(
        {"request_rate": 4, "input_len": 4096, "output_len": 2048, "ttft_p50": 0.0397, "accept_length": 2.1}
    )
    assert second == approx({"max_concurrency": 1, "output_throughput": 113.2, "tpot_mean": 0.00855})


def test_throughput_benchmarks() -> None:
    (values,) = results({"elapsed_time": 10.92, "num_requests": 64})
    assert values == approx({"duration": 10.92, "num_requests": 64, "request_throughput": 64 / 10.92})
    (values,) = results("Throughput: 5.86 requests/s, 12000.1 total tokens/s, 6000.2 output tokens/s\n")
    assert values == {"request_throughput": 5.86, "total_throughput": 12000.1, "output_throughput": 6000.2}


def test_guidellm() -> None:
    spread = {"mean": 20.0, "median": 19.0, "percentiles": {"p90": 30.0, "p95": 35.0, "p99": 40.0}}
    report = {
        "benchmarks": [
            {
                "args": {"strategy": {"type_": "concurrent", "streams": 64}},
                "duration": 60.0,
                "run_stats": {"requests_made": {"successful": 100, "errored": 1, "total": 101}},
                "metrics": {
                    "requests_per_second": {"successful": {"mean": 1.6}},
                    "request_concurrency": {"successful": {"mean": 60.2}},
                    "output_tokens_per_second": {"successful": {"mean": 200.0}},
                    "time_to_first_token_ms": {"successful": spread},
                    "inter_token_latency_ms": {"successful": spread},
                    "request_latency": {"successful": {"mean": 2.0, "median": 1.9, "percentiles": {"p99": 4.0}}},
                    "prompt_token_count": {"successful": {"mean": 512.0}},
                },
            }
        ]
    }
    (values,) = results(report)
    assert values == approx({
        "max_concurrency": 64, "duration": 60, "completed": 100, "num_requests": 101, "request_throughput": 1.6,
        "concurrency": 60.2, "output_throughput": 200, "input_len": 512, "ttft_mean": 0.02, "ttft_p50": 0.019,
        "ttft_p90": 0.03, "ttft_p95": 0.035, "ttft_p99": 0.04, "itl_mean": 0.02, "itl_p50": 0.019, "itl_p90": 0.03,
        "itl_p95": 0.035, "itl_p99": 0.04, "e2e_mean": 2.0, "e2e_p50": 1.9, "e2e_p99": 4.0,
    })  # fmt: skip


def test_genai_perf_and_aiperf() -> None:
    export = {
        "time_to_first_token": {"unit": "ms", "avg": 20.0, "p50": 19.0, "p99": 40.0},
        "inter_token_latency": {"unit": "ms", "avg": 5.0},
        "request_throughput": {"unit": "requests/sec", "avg": 3.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 300.0},
        "output_sequence_length": {"avg": 100.0},
        "request_count": {"avg": 50.0},
        "input_config": {"loadgen": {"concurrency": 16}},
    }
    (values,) = results(export)
    assert values == approx({
        "ttft_mean": 0.02, "ttft_p50": 0.019, "ttft_p99": 0.04, "itl_mean": 0.005, "request_throughput": 3,
        "output_throughput": 300, "output_len": 100, "completed": 50, "max_concurrency": 16,
    })  # fmt: skip
    csv = "Metric,avg,p50,p99\nTime To First Token (ms),20,19,40\nRequest Throughput (per sec),3,,\n"
    (values,) = results(csv)
    assert values == approx({"ttft_mean": 0.02, "ttft_p50": 0.019, "ttft_p99": 0.04, "request_throughput": 3})


def test_markdown_tables() -> None:
    rows = (
        "config | output tok/s | TTFT (ms) | req/s",
        "---|---:|---|---",
        "fp8 | 1,100 | 20 | 3",
        "bf16 | 200 | 30 | 2",
    )
    text = "".join(f"| {row} |\n" for row in rows)
    first, second = parse_bench(text, "r", "bench/r.md")
    assert dict(first.values) == approx({"output_throughput": 1100, "ttft_mean": 0.02, "request_throughput": 3})
    assert first.where == "bench/r.md, fp8" and second.where == "bench/r.md, bf16"


def test_nested_results() -> None:
    assert results({"a": {"mean_ttft_ms": 1}, "b": {"mean_ttft_ms": 2}}) == [{"ttft_mean": 0.001}, {"ttft_mean": 0.002}]
    assert results([{"mean_ttft_ms": 1}, {"mean_ttft_ms": 2}]) == [{"ttft_mean": 0.001}, {"ttft_mean": 0.002}]


def test_what_holds_no_result() -> None:
    for text in ("", "{}", "[]", "{", "null", "nothing here", "a: b\nc: d\n", '{"detail": "Not Found"}'):
        assert results(text) == []


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.text(alphabet="|,=:{}[]\"ab1.-\n ", max_size=80),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["benchmarks", "metrics", "time_to_first_token", "avg", "duration", "completed",
                                 "input_config", "perf_analyzer", "mean_ttft_ms", "strategy", "args"]),
                inner, max_size=5,
            ),
            max_leaves=15,
        ),
    )
)  # fmt: skip
def test_anything_can_be_read(text: object) -> None:
    for values in results(text):
        assert all(isinstance(value, float) and value == value for value in values.values())
