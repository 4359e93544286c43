"""Defaults by engine and version: what is on by itself, and what an unseen flag may have changed."""

from __future__ import annotations

import pytest

from diagnose.engines.defaults import DEFAULTS, default_facts
from diagnose.model import FactValue
from diagnose.versions import in_range, key


def defaults(engine: str, version: str, launch_seen: bool = True) -> dict[str, FactValue]:
    return {f.id: f.value for f in default_facts(engine, version, launch_seen)}


@pytest.mark.parametrize(
    ("version", "chunked", "prefix"),
    [
        ("0.4.3", False, False),
        ("0.5.4", None, False),  # by context length
        ("0.7.3", None, False),
        ("0.8.0", True, True),
        ("0.8.5.post1", True, True),
        ("0.8.5.post2+cpu", None, None),  # CPU builds still ran V0
        ("0.9.2+cpu", True, True),
        ("0.32.0", True, True),
        ("0.40.0", True, True),
    ],
)
def test_vllm_features_by_version(version: str, chunked: bool | None, prefix: bool | None) -> None:
    found = defaults("vllm", version, launch_seen=False)
    assert found.get("chunked_prefill") == chunked
    assert found.get("prefix_caching") == prefix


@pytest.mark.parametrize("version", ["0.3.6", "0.4.9.post6", "0.5.10.post1", "0.5.23", "0.6.0"])
def test_sglang_features(version: str) -> None:
    assert defaults("sglang", version, launch_seen=False) == {"chunked_prefill": True, "prefix_caching": True}


@pytest.mark.parametrize(
    ("engine", "version", "fact", "value"),
    [
        ("vllm", "0.19.1", "gpu_memory_utilization", 0.9),
        ("vllm", "0.20.0", "gpu_memory_utilization", 0.92),
        ("vllm", "0.6.3", "max_num_seqs", 256),
        ("vllm", "0.8.5", "max_num_seqs", None),  # by device
        ("vllm", "0.32.0", "max_num_seqs", None),
        ("vllm", "0.32.0", "max_num_batched_tokens", None),
        ("vllm", "0.9.2", "graph_max_batch", 512),
        ("vllm", "0.10.2", "graph_max_batch", None),  # follows max_num_seqs
        ("vllm", "0.32.0", "max_loras", 1),
        ("vllm", "0.32.0", "disable_log_stats", False),
        ("vllm", "0.26.0", "max_num_partial_prefills", 1),
        ("vllm", "0.27.1", "max_num_partial_prefills", None),
        ("sglang", "0.5.23", "max_loras", 8),
        ("sglang", "0.5.23", "schedule_conservativeness", 1.0),
        ("sglang", "0.5.23", "chunk_budget", None),  # by device
        ("sglang", "0.5.23", "graph_max_batch", None),
        ("sglang", "0.5.23", "enable_metrics", False),
        ("sglang", "0.3.6", "schedule_policy", "lpm"),
        ("sglang", "0.4.4", "schedule_policy", "fcfs"),
        ("sglang", "0.5.10.post1", "hicache_prefetch_policy", "best_effort"),
        ("sglang", "0.5.12", "hicache_prefetch_policy", "timeout"),
        ("sglang", "0.5.23", "flag.stream_interval", 1),
    ],
)
def test_flag_defaults_by_version(engine: str, version: str, fact: str, value: FactValue | None) -> None:
    assert defaults(engine, version).get(fact) == value


def test_flags_that_nobody_showed_are_not_assumed() -> None:
    for engine, version in (("vllm", "0.32.0"), ("sglang", "0.5.23")):
        assert set(defaults(engine, version, launch_seen=False)) == {"chunked_prefill", "prefix_caching"}


def test_facts_carry_their_source() -> None:
    facts = default_facts("vllm", "0.32.0", launch_seen=True)
    assert {f.source for f in facts} == {"default"}
    assert {f.where for f in facts} == {"vllm 0.32.0 default"}


def test_unknown_engine_or_version() -> None:
    assert default_facts("dynamo", "1.6.1", launch_seen=True) == ()
    assert defaults("vllm", "", launch_seen=False) == {}
    assert defaults("sglang", "", launch_seen=False) == {"chunked_prefill": True, "prefix_caching": True}
    assert defaults("vllm", "not a version")["max_loras"] == 1


def test_ranges_are_in_order_and_do_not_overlap() -> None:
    for row in DEFAULTS:
        assert not (row.since and row.until) or key(row.since) <= key(row.until)
    for engine in ("vllm", "sglang"):
        for bound in {v for d in DEFAULTS for v in (d.since, d.until) if v}:
            held = [d.id for d in DEFAULTS if d.engine == engine and in_range(bound, d.since, d.until)]
            assert len(held) == len(set(held)), (engine, bound)
