"""Engine logs of every era, with what containers, terminals and people put around the lines."""

from __future__ import annotations

import json
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose.engines import log_events
from diagnose.model import LogEvent, LogStat, Observations
from diagnose.sources.logs import parse_log

DATA = Path(__file__).parent / "data" / "logs"
V1 = (
    "(APIServer pid=38) INFO 03-11 06:16:53 [loggers.py:257] Engine 000: Avg prompt throughput: 16.0 tokens/s, "
    "Avg generation throughput: 1150.0 tokens/s, Running: 51 reqs, Waiting: 117 reqs, GPU KV cache usage: 98.6%, "
    "Prefix cache hit rate: 70.0%, MM cache hit rate: 0.0%"
)
V1_VALUES = {
    "prompt_tps": 16.0,
    "generation_tps": 1150.0,
    "running": 51.0,
    "waiting": 117.0,
    "kv_usage": 0.986,
    "prefix_hit_ratio": 0.7,
    "mm_hit_ratio": 0.0,
}
SPEC = (
    "(APIServer pid=44) INFO 05-08 12:00:00 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 1.84, "
    "Accepted throughput: 87.00 tokens/s, Drafted throughput: 312.00 tokens/s, Accepted: 870 tokens, "
    "Drafted: 3120 tokens, Per-position acceptance rate: 0.810, 0.020, 0.010, Avg Draft acceptance rate: 27.9%"
)
SGLANG = (
    "[2026-08-21 12:00:00 TP0] Decode batch, #running-req: 6, #full token: 127100, full token usage: 0.31, "
    "mamba num: 23, mamba usage: 0.40, accept len: 2.41, accept rate: 0.47, cuda graph: True, "
    "gen throughput (token/s): 168.20, #queue-req: 0"
)
NOISE = 'INFO:     10.0.0.4:33012 - "GET /metrics HTTP/1.1" 200 OK'


def one(line: str) -> LogStat:
    """The only stat of a line."""
    (stat,) = parse_log(line, "r").stats
    return stat


def events(text: str) -> dict[str, LogEvent]:
    """Events by id."""
    return {event.id: event for event in parse_log(text, "r").events}


def facts(seen: Observations) -> dict[str, object]:
    """The last value of each fact."""
    return {fact.id: fact.value for fact in seen.facts}


# -- vLLM --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (
            "INFO 11-20 10:11:12 llm_engine.py:624] Avg prompt throughput: 10.1 tokens/s, Avg generation throughput: "
            "20.2 tokens/s, Max iteration time: 12.1 ms, Avg time/tok: 5.5 ms, Running: 3 reqs, Swapped: 1 reqs, "
            "Pending: 2 reqs, GPU KV cache usage: 33.3%, CPU KV cache usage: 1.1%",
            {"prompt_tps": 10.1, "generation_tps": 20.2, "running": 3, "swapped": 1, "waiting": 2, "kv_usage": 0.333,
             "cpu_kv_usage": 0.011},
        ),
        (
            "2024-12-20 15:18:19 - vllm.engine.metrics - INFO - Avg prompt throughput: 0.0 tokens/s, Avg generation "
            "throughput: -1.1 tokens/s, Running: 6 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 0.3%, "
            "CPU KV cache usage: 0.0%.",
            {"prompt_tps": 0.0, "generation_tps": -1.1, "running": 6, "swapped": 0, "waiting": 0, "kv_usage": 0.003,
             "cpu_kv_usage": 0.0},
        ),
        (
            "INFO 01-20 10:11:12 loggers.py:72] Avg prompt throughput: 10.1 tokens/s, Avg generation throughput: 20.2 "
            "tokens/s, Running: 3 reqs, Waiting: 2 reqs GPU KV cache usage: 33.3%.",
            {"prompt_tps": 10.1, "generation_tps": 20.2, "running": 3, "waiting": 2, "kv_usage": 0.333},
        ),
        (V1, V1_VALUES),
        (
            "INFO 06-01 10:00:00 [loggers.py:271] Engine 003: Avg prompt throughput: 16.0 tokens/s, Avg generation "
            "throughput: 1,150.0 tokens/s, Running: 51 reqs, Waiting: 117 reqs, Deferred: 5 reqs, Preemptions: 12, "
            "Corrupted: 1 reqs, CPU KV cache usage: 98.6%, Prefix cache hit rate: 70.0%, External prefix cache hit "
            "rate: 12.5%, MM cache hit rate: 3.0%",
            {"prompt_tps": 16.0, "generation_tps": 1150.0, "running": 51, "waiting": 117, "deferred": 5,
             "preemptions": 12, "corrupted": 1, "kv_usage": 0.986, "prefix_hit_ratio": 0.7,
             "external_hit_ratio": 0.125, "mm_hit_ratio": 0.03},
        ),
        (
            "INFO 06-01 10:00:00 [loggers.py:271] Engine 000: Avg prompt throughput: 16.0 tokens/s, Avg generation thr",
            {"prompt_tps": 16.0},
        ),
    ],
)  # fmt: skip
def test_vllm_periodic_line_of_every_era(line: str, values: dict[str, float]) -> None:
    stat = one(line)
    assert (stat.kind, dict(stat.values)) == ("vllm", values)


def test_vllm_second_line_of_v0_goes_with_the_first() -> None:
    text = (
        "INFO 11-20 10:11:22 metrics.py:455] Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 "
        "tokens/s, Running: 3 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 33.3%, CPU KV cache usage: "
        "0.0%.\nINFO 11-20 10:11:22 metrics.py:471] Prefix cache hit rate: GPU: 45.00%, CPU: 0.00%\n"
    )
    assert one(text).values["prefix_hit_ratio"] == 0.45
    alone = one(text.splitlines()[1])
    assert dict(alone.values) == {"prefix_hit_ratio": 0.45}


def test_vllm_ranks_and_times() -> None:
    seen = parse_log(V1 + "\n" + V1.replace("Engine 000", "Engine 001").replace("06:16:53", "06:17:03"), "r")
    assert [stat.rank for stat in seen.stats] == ["0", "1"]
    first, second = (stat.time for stat in seen.stats)
    assert first is not None and second == first + 10.0


def test_vllm_iteration_details() -> None:
    stat = one(
        "(APIServer pid=26343) INFO 11-30 23:26:43 [loggers.py:199] Engine 000: Iteration(450): 1 context requests, 32 "
        "context tokens, 3 generation requests, 3 generation tokens, iteration elapsed time: 9.99 ms, CPU KV cache "
        "usage: 0.1%"
    )
    assert stat.kind == "vllm_iteration"
    assert dict(stat.values) == {
        "context_requests": 1, "context_tokens": 32, "generation_requests": 3, "generation_tokens": 3,
        "elapsed": 0.00999, "kv_usage": 0.001,
    }  # fmt: skip


def test_speculation_of_both_engines_generations() -> None:
    new = one(SPEC)
    assert new.per_position == (0.81, 0.02, 0.01)
    assert new.values["accept_rate"] == 0.279 and new.values["accepted_tokens"] == 870
    middle = one(
        "INFO 06-01 10:00:00 [metrics.py:82] SpecDecoding metrics: Draft acceptance rate: 60.5%, Mean acceptance "
        "length: 2.80, Accepted: 605 tokens, Drafted: 1000 tokens, Per-position acceptance rate: 0.8, 0.6, 0.4"
    )
    assert middle.per_position == (0.8, 0.6, 0.4) and middle.values["accept_rate"] == 0.605
    old = one(
        "INFO 11-20 10:11:22 metrics.py:475] Speculative metrics: Draft acceptance rate: 0.612, System efficiency: "
        "0.511, Number of speculative tokens: 4, Number of accepted tokens: 1222, Number of draft tokens: 2000, "
        "Number of emitted tokens: 1500."
    )
    assert dict(old.values) == {"accept_rate": 0.612, "system_efficiency": 0.511, "spec_tokens": 4}


def test_transfers_and_caches_beside_the_engine() -> None:
    nixl = one(
        "INFO 06-01 10:00:00 [x.py:1] KV Transfer metrics: Num successful transfers=12, Avg xfer time (ms)=3.21, "
        "P90 xfer time (ms)=5.0, Avg post time (ms)=1.0, Avg MB per transfer=32.0, Throughput (MB/s)=9.9e3, "
        "Avg number of descriptors=72.0"
    )
    assert nixl.kind == "kv_transfer"
    assert nixl.values["xfer_time"] == 0.00321 and nixl.values["bytes_per_transfer"] == 32 * 1024**2
    mooncake = one("I0518 08:57:35.1 100 transfer_engine.cpp:364] [Metrics] Transfer Engine Throughput: 3.60 MB/s")
    assert (mooncake.kind, dict(mooncake.values)) == ("transfer_engine", {"throughput": 3.6e6})
    lmcache = one(
        "(EngineCore_DP0 pid=31) [2026-02-03 06:11:09,120] LMCache INFO: Reqid: c-0, Total tokens 713, LMCache hit "
        "tokens: 512, need to load: -192 (vllm_v1_adapter.py:1602:lmcache.integration.vllm.vllm_v1_adapter)"
    )
    assert dict(lmcache.values) == {"total_tokens": 713, "hit_tokens": 512, "need_to_load": -192}
    assert lmcache.rank == "0"
    score = one("2026-07-02T12:26:52.37Z  INFO dynamo_llm::kv_router::scheduler: worker 7 score: 0.500")
    assert dict(score.values) == {"score": 0.5, "worker": 7.0}
    formula = one(
        "2025-10-09T21:40:58.18Z  INFO dynamo_llm::kv_router::scheduler: Formula for 75 with 6 cached blocks: 121.047 "
        "= 1.0 * prefill_blocks + decode_blocks = 1.0 * 121.047 + 0.000"
    )
    assert dict(formula.values) == {"score": 6.0, "worker": 75.0, "cost": 121.047}
    offload = one(
        "INFO 06-01 10:00:00 [x.py:1] KV Transfer metrics: CPU_to_GPU_total_bytes=4096, CPU_to_GPU_total_time=1"
    )
    assert dict(offload.values) == {"load_bytes": 4096, "load_seconds": 1.0}
    request = one(
        "[2026-10-20 07:44:12] Finish: obj=GenerateReqInput(rid='r-1'), out={'meta_info': {'prompt_tokens': 59946, "
        "'completion_tokens': 7437, 'cached_tokens': 122884, 'e2e_latency': 791.9, 'ttft_latency': 13.8, "
        "'queue_latency': 0.001}}"
    )
    assert dict(request.values) == {
        "prompt_tokens": 59946, "completion_tokens": 7437, "cached_tokens": 122884, "e2e": 791.9, "ttft": 13.8,
        "queue": 0.001,
    }  # fmt: skip


# -- SGLang ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "kind", "values"),
    [
        (
            "[2024-11-01 10:00:00 TP0] Decode batch. #running-req: 12, #token: 40123, token usage: 0.45, gen "
            "throughput (token/s): 512.33, #queue-req: 4",
            "sglang_decode",
            {"running": 12, "tokens": 40123, "kv_usage": 0.45, "generation_tps": 512.33, "waiting": 4},
        ),
        (
            SGLANG,
            "sglang_decode",
            {"running": 6, "tokens": 127100, "kv_usage": 0.4, "full_kv_usage": 0.31, "mamba_usage": 0.4,
             "accept_length": 2.41, "accept_rate": 0.47, "cuda_graph": 1, "generation_tps": 168.2, "waiting": 0},
        ),
        (
            "[2025-11-01 10:00:00 DP1 TP1 EP1] Decode batch [123], #running-req: 12, #full token: 100, full token "
            "usage: 0.45, #swa token: 22, swa token usage: 0.71, pre-allocated usage: 0.02, #prealloc-req: 3, "
            "#transfer-req: 4, #retracted-req: 5, npu graph: False, gen throughput (token/s): 512.33, #queue-req: 4, ",
            "sglang_decode",
            {"running": 12, "tokens": 100, "kv_usage": 0.71, "full_kv_usage": 0.45, "swa_kv_usage": 0.71,
             "preallocated_usage": 0.02, "prealloc_queue": 3, "transfer_queue": 4, "retracted": 5, "cuda_graph": 0,
             "generation_tps": 512.33, "waiting": 4},
        ),
        (
            "[10:00:01 TP0] Prefill batch. #new-seq: 3, #new-token: 2048, #cached-token: 1024, cache hit rate: 33.30%, "
            "token usage: 0.45, #running-req: 9, #queue-req: 4",
            "sglang_prefill",
            {"new_seqs": 3, "new_tokens": 2048, "cached_tokens": 1024, "prefix_hit_ratio": 0.333, "kv_usage": 0.45,
             "running": 9, "waiting": 4},
        ),
        (
            "[2026-05-18 08:57:36 DP8 TP8] Prefill batch. #new-seq: 6, #new-token: 231, #cached-token: 0, token usage: "
            "0.07, #running-req: 0, #unbootstrapped-req: 375, #queue-req: 0, #transferring-req: 166",
            "sglang_prefill",
            {"new_seqs": 6, "new_tokens": 231, "cached_tokens": 0, "kv_usage": 0.07, "running": 0, "waiting": 0,
             "bootstrap_queue": 375, "inflight_queue": 166},
        ),
        (
            "[2025-11-01 10:00:00 DP1 TP1] Prefill batch [12], #new-seq: 3, #new-token: 2048, #cached-token: 1024, "
            "token usage: 0.45, #running-req: 9, #queue-req: 4, #prealloc-req: 7, #inflight-req: 8, "
            "#pending-token: 99, cuda graph: False, input throughput (token/s): 1000.00, ",
            "sglang_prefill",
            {"new_seqs": 3, "new_tokens": 2048, "cached_tokens": 1024, "kv_usage": 0.45, "running": 9, "waiting": 4,
             "bootstrap_queue": 7, "inflight_queue": 8, "pending_tokens": 99, "cuda_graph": 0, "prompt_tps": 1000.0},
        ),
    ],
)  # fmt: skip
def test_sglang_lines_of_every_era(line: str, kind: str, values: dict[str, float]) -> None:
    stat = one(line)
    assert (stat.kind, dict(stat.values)) == (kind, values)
    assert stat.rank == ("8" if "DP8" in line else "1" if "DP1" in line else "")


def test_sglang_log_keeps_one_tensor_parallel_rank() -> None:
    seen = parse_log((DATA / "sglang-0.5.log").read_text(encoding="utf-8"), "server")
    assert [stat.kind for stat in seen.stats] == ["sglang_prefill", "sglang_decode"]
    assert [event.id for event in seen.events].count("retracted") == 1
    known = facts(seen)
    assert known["kv_tokens"] == 443000 and known["chunk_budget"] == 8192 and known["max_num_seqs"] == 4096
    assert known["max_model_len"] == 32768 and known["engine"] == "sglang" and known["prefix_caching"] is True
    assert known["graph_max_batch"] == 32 and known["graph_bytes"] == int(1.2 * 1024**3)
    assert known["weight_bytes"] == int(14.98 * 1024**3) and known["kv_bytes"] == 2 * int(27.04 * 1024**3)
    assert known["spec_method"] == "" and known["disaggregation"] == ""
    assert "attention_backend_explicit" not in known  # the dump is resolved: it does not tell who chose


# -- what is put around lines ------------------------------------------------------------------------------------------

WRAPPINGS = {
    "plain": "{}",
    "ansi": "\x1b[1;36m{}\x1b[0;0m",
    "ansi residue": "[36m{}[0m",
    "carriage": "{}\r",
    "caret": "{}^M",
    "quote": "> {}",
    "double quote": "> > {}",
    "compose": "vllm-1  | {}",
    "kubectl": "[pod/vllm-0/vllm] {}",
    "rfc3339": "2025-03-11T06:16:53.123456789Z {}",
    "cri": "2025-03-11T06:16:53.123456789Z stdout F {}",
    "journald": "Mar 11 06:16:53 gpu01 vllm[1234]: {}",
    "progress": "10%|#   | 1/10\r{}",
    "docker with a bar": "2025-03-11 08:16:53.281 | {}",
    "byte order": "\ufeff{}",
}


@pytest.mark.parametrize("wrapping", WRAPPINGS.values(), ids=WRAPPINGS.keys())
@pytest.mark.parametrize("line", [V1, SPEC, SGLANG], ids=["vllm", "spec", "sglang"])
def test_prefixes_do_not_matter(wrapping: str, line: str) -> None:
    want, got = one(line), one(wrapping.format(line))
    assert (got.kind, got.values, got.rank, got.per_position) == (want.kind, want.values, want.rank, want.per_position)
    assert got.time == want.time


@pytest.mark.parametrize("key", ["log", "msg", "message", "textPayload"])
def test_json_lines(key: str) -> None:
    record = {key: V1 + "\n", "stream": "stderr", "time": "2025-03-11T06:16:53.1Z"}
    assert dict(one(json.dumps(record)).values) == V1_VALUES


def test_line_breaks_lost_on_the_way() -> None:
    second = V1.replace("06:16:53", "06:17:03")
    first, last = parse_log(f"{V1} {second}", "r").stats
    assert dict(first.values) == dict(last.values) == V1_VALUES
    assert first.time is not None and last.time == first.time + 10.0
    assert len(parse_log(f"{SGLANG} {SGLANG}", "r").stats) == 2


def test_json_line_with_its_own_time_only() -> None:
    record = {"timestamp": "2025-03-11T06:17:13Z", "level": "INFO", "message": V1.partition("] ")[2]}
    assert one(json.dumps(record)).time == 1741673833.0


def test_partial_lines_of_the_container_runtime() -> None:
    stamp = "2025-03-11T06:17:23.123Z stdout"
    assert dict(one(f"{stamp} P {V1[:150]}\n{stamp} F {V1[150:]}\n").values) == V1_VALUES


@pytest.mark.parametrize("line", [V1, SPEC, SGLANG], ids=["vllm", "spec", "sglang"])
@pytest.mark.parametrize("prefix", ["", "> ", "vllm-1  | ", "2026-03-11T06:16:53.123Z "])
def test_lines_cut_by_a_terminal(line: str, prefix: str) -> None:
    want = one(line)
    for width in range((len(line) + 3) // 4, len(line)):
        pieces = [line[i : i + width] for i in range(0, len(line), width)]
        got = one("\n".join(prefix + piece for piece in pieces) + "\n" + NOISE)
        assert (got.values, got.per_position, got.rank) == (want.values, want.per_position, want.rank), width


@pytest.mark.parametrize("line", [V1, SPEC, SGLANG], ids=["vllm", "spec", "sglang"])
def test_lines_cut_between_words(line: str) -> None:
    want = one(line)
    for width in range(60, len(line)):
        pieces = textwrap.wrap(line, width)
        if len(pieces) > 4:
            continue
        got = one("\n    ".join(pieces))
        assert (got.values, got.per_position) == (want.values, want.per_position), width


def test_times_roll_over_midnight_and_new_year() -> None:
    text = "\n".join(V1.replace("03-11 06:16:53", stamp) for stamp in ("12-31 23:59:55", "01-01 00:00:05"))
    first, second = (stat.time for stat in parse_log(text, "r").stats)
    assert first is not None and second == first + 10.0
    line = "[{} TP0] Decode batch. #running-req: 1, #token: 1, token usage: 0.45, #queue-req: 4"
    first, second = (s.time for s in parse_log(line.format("23:59:55") + "\n" + line.format("00:00:05"), "r").stats)
    assert first is not None and second == first + 10.0


def test_a_stamp_of_the_container_follows_the_clock_of_the_engine() -> None:
    text = "2025-03-11T05:16:53Z " + V1 + "\n2025-03-11T05:16:55Z Request x aborted. Request c-1 aborted.\n"
    seen = parse_log(text, "r")
    assert seen.stats[0].time is not None and seen.events[0].time == seen.stats[0].time + 2.0


def test_a_log_without_stamps_has_no_times() -> None:
    assert one("Engine 000: Avg prompt throughput: 16.0 tokens/s, Running: 51 reqs, Waiting: 0 reqs").time is None


def test_three_dots_are_a_gap() -> None:
    assert [e.id for e in parse_log(V1 + "\n...\n" + V1, "r").events] == ["gap"]


# -- events and facts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", log_events.patterns(), ids=lambda p: f"{p.id}-{p.hint}")
def test_every_pattern_reads_its_example(pattern: log_events.LogPattern) -> None:
    assert pattern.hint in pattern.example
    assert log_events.compiled(pattern.regex).search(pattern.example)
    assert pattern.id in {found.id for found, _ in log_events.match(pattern.example)}
    assert pattern.meaning and pattern.engine


def test_facts_of_a_recorded_start() -> None:
    seen = parse_log((DATA / "vllm-0.32-storm.log").read_text(encoding="utf-8"), "server")
    known = facts(seen)
    assert known["engine_version"] == "0.32.0" and known["model"] == "tiny" and known["device"] == "cpu"
    assert known["max_num_seqs"] == 64 and known["kv_blocks_override"] == 32 and known["kv_tokens"] == 4096
    assert known["chunked_prefill"] is True and known["prefix_caching"] is True and known["enforce_eager"] is True
    assert known["spec_method"] == "" and known["graph_mode"] == "NONE" and known["tp"] == 1
    assert all(fact.source == "log" and fact.run == "server" for fact in seen.facts)
    assert {"engine_version", "non_default_args", "engine_config", "kv_size", "ulimit_low"} <= {
        e.id for e in seen.events
    }


def test_facts_of_arguments_with_reprs() -> None:
    known = facts(parse_log((DATA / "vllm-0.32-lora-args.log").read_text(encoding="utf-8"), "server"))
    assert known["lora"] is True and known["lora_adapters"] == 2 and known["max_model_len"] == 4096


def test_a_wrapped_argument_dump() -> None:
    line = (
        "INFO 11-30 22:38:58 [api_utils.py:286] non-default args: {'model': 'm', 'max_num_seqs': 64, "
        "'speculative_config': {'method': 'ngram', 'num_speculative_tokens': 4}, 'enable_prefix_caching': False}"
    )
    wrapped = "\n".join(line[i : i + 70] for i in range(0, len(line), 70))
    known = facts(parse_log(wrapped + "\n" + V1, "r"))
    assert known["max_num_seqs"] == 64 and known["spec_tokens"] == 4 and known["prefix_caching"] is False


def test_a_cut_event_line() -> None:
    line = "INFO 08-30 14:21:55 [kv_cache_utils.py:1712] Maximum concurrency for 262,144 tokens per request: 4.11x"
    for cut in range(60, len(line) - 1):
        known = facts(parse_log(f"{line[:cut]}\n{line[cut:]}\n{NOISE}", "r"))
        assert known.get("kv_max_concurrency") == 4.11, cut


def test_old_configuration_line() -> None:
    known = facts(
        parse_log(
            "INFO 09-01 10:00:00 llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config: model='m', "
            "speculative_config=None, tokenizer='m', max_seq_len=8192, tensor_parallel_size=2, enforce_eager=False, "
            "kv_cache_dtype=auto, quantization=awq, device_config=cuda, num_scheduler_steps=8, "
            "chunked_prefill_enabled=False multi_step_stream_outputs=True, enable_prefix_caching=False)",
            "r",
        )
    )
    assert known["engine_version"] == "0.6.3" and known["max_model_len"] == 8192 and known["tp"] == 2
    assert known["chunked_prefill"] is False and known["prefix_caching"] is False and known["quantization"] == "awq"
    assert known["num_scheduler_steps"] == 8 and known["spec_method"] == ""


def test_graph_configuration_of_the_resolved_line() -> None:
    known = facts(
        parse_log(
            "(EngineCore pid=40) INFO 09-10 06:00:01 [core.py:133] Initializing a V1 LLM engine (v0.30.0) with config: "
            "model='model', tensor_parallel_size=4, compilation_config={'cudagraph_mode': "
            "<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'cudagraph_capture_sizes': [96, 8, 1], "
            "'max_cudagraph_capture_size': 96}",
            "r",
        )
    )
    assert known["graph_mode"] == "FULL_AND_PIECEWISE" and known["graph_sizes"] == (1, 8, 96)
    assert known["graph_max_batch"] == 96


def test_traceback_with_and_without_the_engines_prefix() -> None:
    head = "(APIServer pid=1) ERROR 11-30 22:38:58 [async_llm.py:1] "
    text = (
        f'{head}Traceback (most recent call last):\n{head}  File "x.py", line 1, in f\n{head}    raise E\n'
        f"{head}vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"
    )
    found = events(text)
    assert found["traceback_error"].fields["type"].endswith("EngineDeadError") and "engine_dead" in found
    bare = events('ERROR 08-16 18:16:27 x.py:56] Engine background task failed\n  File "m.py", line 4\nValueError: no')
    assert dict(bare["traceback_error"].fields) == {"type": "ValueError", "message": "no"}
    assert "traceback_error" not in events('Traceback (most recent call last):\n  File "m"\nasyncio.CancelledError\n')


def test_prompts_in_request_lines_are_no_events() -> None:
    line = "INFO 07-19 02:30:10 [logger.py:43] Received request c-1: prompt: 'why CUDA out of memory?', params: S()"
    assert not parse_log(line, "r").events


def test_out_of_memory_during_capture_says_so() -> None:
    text = (
        "[2026-07-29 18:14:24 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.43 GB\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    assert events(text)["oom_cuda"].fields["phase"] == "graph capture"


def test_tables_among_logs() -> None:
    csv = (
        "index, name, utilization.gpu [%], power.draw [W], power.limit [W], memory.used [MiB], clocks.sm [MHz]\n"
        "0, NVIDIA A10, 82 %, 195.00 W, 290.00 W, 9821 MiB, 1695 MHz\n1, NVIDIA A10, 51 %, [N/A], 290.00 W, 5 MiB, 1\n"
    )
    first, second = parse_log(csv, "r").stats
    assert dict(first.values) == {
        "index": 0, "utilization": 0.82, "power": 195, "power_limit": 290, "memory_used": 9821 * 1024**2,
        "clock": 1.695e9,
    }  # fmt: skip
    assert "power" not in second.values
    box = (
        "| NVIDIA-SMI 550.54   Driver Version: 550.54   CUDA Version: 12.4 |\n"
        "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |\n"
        "| N/A   45C    P0             412W /  700W |   72012MiB /  81559MiB |     97%      Default |\n"
    )
    gpu = one(box)
    assert gpu.values["utilization"] == 0.97 and gpu.values["memory_total"] == 81559 * 1024**2
    row = one("82 %, 195.00 W, 290.00 W, 9821 MiB, 24576 MiB")
    assert dict(row.values) == {
        "utilization": 0.82, "power": 195, "power_limit": 290, "memory_used": 9821 * 1024**2,
        "memory_total": 24576 * 1024**2,
    }  # fmt: skip
    monitor = one(
        "# gpu  pwr gtemp mtemp   sm  mem\n# Idx    W     C     C    %    %\n    0  195    45     -   82   30\n"
    )
    assert dict(monitor.values) == {"index": 0, "power": 195, "utilization": 0.82, "memory_utilization": 0.3}
    top = (
        "  PID USER      PR  NI    VIRT    RES  %CPU %MEM     TIME+ COMMAND\n"
        "  211 app       20   0   98.1g   5.1g 100.0  1.0  40:11.2 VLLM::Worker_TP0\n"
        "  212 app       20   0    1.1g   0.1g   3.0  1.0  40:11.2 bash\n"
    )
    assert dict(one(top).values) == {"cpu": 1.0, "pid": 211.0}
    dump = (
        'Thread 211 (active): "MainThread"\n    sched_yield (vllm/distributed/utils.py:40)\n'
        "    acquire_read (vllm/distributed/device_communicators/shm_broadcast.py:452)\n"
        'Thread 300 (idle): "Thread-1"\n    forward (vllm/model_executor/models/llama.py:40)\n'
    )
    assert [e.id for e in parse_log(dump, "r").events] == ["busy_poll", "py_spy"]


# -- limits ------------------------------------------------------------------------------------------------------------


def test_many_lines_are_fast_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diagnose.sources.logs.MAX_STATS_PER_KIND", 100)
    text = "\n".join([V1, NOISE, NOISE, "(EngineCore pid=40) INFO 09-10 06:00:01 [core.py:133] Something else"] * 3000)
    begun = time.perf_counter()
    seen = parse_log(text, "r")
    assert time.perf_counter() - begun < 5.0
    assert len(seen.stats) == 100 and any("3,000 vllm lines" in note for note in seen.notes)


LINES = [V1, SPEC, SGLANG, NOISE, "...", "Traceback (most recent call last):", '  File "x.py", line 3', "{", "> "]
LINES += [pattern.example for pattern in log_events.patterns()]


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """Real lines, cut, doubled, joined and with characters changed."""
    out = []
    for line in draw(st.lists(st.sampled_from(LINES), max_size=12)):
        start, end = draw(st.integers(0, len(line))), draw(st.integers(0, len(line)))
        piece = draw(st.sampled_from([line, line[start:], line[:end], line[:end] + "\n" + line[end:], line * 2]))
        position = draw(st.integers(0, max(len(piece) - 1, 0)))
        out.append(piece[:position] + draw(st.text(max_size=3)) + piece[position:])
    return draw(st.sampled_from(["\n", "\r\n", "\n> ", "\nvllm-1 | ", ""])).join(out)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(mangled(), st.text(max_size=400)))
def test_any_text_can_be_read(text: str) -> None:
    seen = parse_log(text, "r")
    for stat in seen.stats:
        assert stat.values and all(isinstance(value, float) and value == value for value in stat.values.values())
    assert all(event.id in log_events.ids() | EXTRA for event in seen.events)


EXTRA = {"gap", "traceback_error", "busy_poll", "py_spy", "non_default_args", "engine_config", "server_args"}
