"""Signals of one target: gauges, rates, ratios, quantiles, and those that combine several; missing stays missing."""

from __future__ import annotations

import inspect

import pytest
from test_series import series

from diagnose.engines.catalog import METRICS, SIGNALS
from diagnose.facts import CONFIG_SIGNALS
from diagnose.guide import all_entries
from diagnose.model import Value
from diagnose.signals import metric_signals
from diagnose.symptoms import all_symptoms, grammar


def values(*bodies: str, times: tuple[float, ...] = ()) -> dict[str, float]:
    return {k: v.value for k, v in metric_signals(series(*bodies, times=times)).items()}


RUN = "vllm:num_requests_running{N} %s; vllm:num_requests_waiting{N} %s"


def test_gauges_have_mean_peak_and_last() -> None:
    found = values(RUN % (2, 0), RUN % (6, 9), RUN % (4, 3))
    assert (found["requests_running"], found["requests_running_max"], found["requests_running_last"]) == (4.0, 6.0, 4.0)
    assert (found["requests_waiting"], found["requests_waiting_max"], found["waiting_over_running"]) == (4.0, 9.0, 1.0)


def test_rates_and_ratios() -> None:
    body = (
        "vllm:generation_tokens_total{N} %d; vllm:prompt_tokens_total{N} %d; "
        "vllm:num_preemptions_total{N} %d; vllm:request_success_total{N} %d"
    )
    found = values(body % (100, 50, 0, 0), body % (1100, 250, 30, 60))
    assert (found["generation_tps"], found["prompt_tps"], found["preemption_rate"]) == (100.0, 20.0, 3.0)
    assert (found["preemptions_per_finished"], found["tokens_moved"]) == (0.5, 1200.0)


def test_a_ratio_over_nothing_is_missing_not_zero() -> None:
    body = "vllm:prefix_cache_queries_total{N} %d; vllm:prefix_cache_hits_total{N} %d; vllm:num_requests_running{N} 1"
    found = values(body % (500, 100), body % (500, 100))
    assert "prefix_hit_ratio" not in found and found["prefix_queries"] == 0.0


def test_one_scrape_gives_values_since_start_and_says_so() -> None:
    body = (
        "vllm:prefix_cache_queries_total{N} 1000; vllm:prefix_cache_hits_total{N} 250; vllm:num_requests_running{N} 3"
    )
    found = metric_signals(series(body))
    assert found["prefix_hit_ratio"] == Value(0.25, "metrics", None, True)
    assert found["requests_running"].since_start is False
    assert "prefix_queries" not in found and "generation_tps" not in found


def test_missing_metrics_give_no_signal() -> None:
    found = values("vllm:num_requests_running{N} 0", "vllm:num_requests_running{N} 0")
    for name in (
        "requests_waiting",
        "kv_usage",
        "preemptions",
        "preemptions_per_finished",
        "ttft_mean",
        "itl_p99",
        "spec_acceptance",
        "prefix_hit_ratio",
        "graph_share",
        "lora_slots",
        "stalled_seconds",
    ):
        assert name not in found
    assert found["requests_running"] == 0.0


def test_a_target_without_engine_series_says_so() -> None:
    found = values("process_start_time_seconds 50", "process_start_time_seconds 50")
    assert (found["engine_series"], found["scrapes"]) == (0.0, 2.0)


def test_speculation_by_counters() -> None:
    s = "vllm:spec_decode_num_%s_total{N}"
    body = f"{s % 'accepted_tokens'} %d; {s % 'draft_tokens'} %d; {s % 'drafts'} %d; vllm:num_requests_running{{N}} 1"
    found = values(body % (0, 0, 0), body % (60, 300, 100))
    assert (found["spec_acceptance"], found["spec_drafted"], found["spec_accept_length"]) == (0.2, 300.0, 1.6)


def test_a_speculation_gauge_at_zero_means_off() -> None:
    body = "sglang:spec_accept_length{N} 0.0; sglang:num_running_reqs{N} 4"
    assert "spec_accept_length" not in values(body, body)
    mixed = values("sglang:spec_accept_length{N} 0.0; sglang:num_running_reqs{N} 4", body.replace("0.0", "2.5"))
    assert mixed["spec_accept_length"] == 2.5


def test_ttft_is_split_by_means() -> None:
    def hist(name: str, total: float) -> str:
        return f'vllm:{name}_count{{N}} 10; vllm:{name}_sum{{N}} {total}; vllm:{name}_bucket{{N,le="+Inf"}} 10'

    found = values(
        "; ".join(
            hist(n, t)
            for n, t in (
                ("time_to_first_token_seconds", 90),
                ("request_queue_time_seconds", 60),
                ("request_prefill_time_seconds", 10),
            )
        )
    )
    assert (found["ttft_mean"], found["queue_time_mean"], found["prefill_time_mean"]) == (9.0, 6.0, 1.0)
    assert (found["ttft_unexplained"], found["queue_share_of_ttft"]) == (pytest.approx(2.0), pytest.approx(6 / 9))


@pytest.mark.parametrize(
    ("labels", "tokens"),
    [
        ('kv_cache_size_tokens="4096",num_gpu_blocks="9",block_size="16"', 4096.0),
        ('num_gpu_blocks="100",block_size="16"', 1600.0),
        ('num_gpu_blocks="None",block_size="16"', None),
        ('block_size="16"', None),
    ],
)
def test_kv_capacity_from_labels(labels: str, tokens: float | None) -> None:
    found = values(f"vllm:cache_config_info{{N,{labels}}} 1.0; vllm:num_requests_running{{N}} 1")
    assert found.get("kv_capacity_tokens") == tokens


def test_lora_slots_from_the_newest_series() -> None:
    body = (
        'vllm:lora_requests_info{max_lora="4",running_lora_adapters="a"} 100; '
        'vllm:lora_requests_info{max_lora="8",running_lora_adapters="b"} 200'
    )
    assert values(f"{body}; vllm:num_requests_running{{N}} 1")["lora_slots"] == 8.0
    none = 'vllm:lora_requests_info{max_lora="0",running_lora_adapters=""} 1; vllm:num_requests_running{N} 1'
    assert "lora_slots" not in values(none)


def test_the_pinned_batch_needs_two_scrapes_with_a_queue() -> None:
    assert values(RUN % (2, 9), RUN % (2, 9), RUN % (2, 9))["running_pinned"] == 1.0
    assert "running_pinned" not in values(RUN % (2, 9), RUN % (2, 0))


def test_a_throughput_gauge_is_compared_over_twenty_seconds_only() -> None:
    body = "sglang:gen_throughput{N} 50; sglang:num_running_reqs{N} 4; sglang:generation_tokens_total{N} %d"
    assert values(body % 0, body % 3000, times=(0.0, 30.0))["throughput_gauge_ratio"] == 2.0
    assert "throughput_gauge_ratio" not in values(body % 0, body % 1000, times=(0.0, 10.0))


# ---- the catalog of signals ------------------------------------------------------------------------------------------


def test_every_calculation_reads_metrics_that_exist() -> None:
    for signal in SIGNALS.values():
        if signal.calc is not None:
            assert set(signal.calc.metrics) <= METRICS.keys(), signal.id
            kind = METRICS[signal.calc.metrics[0]].kind
            wanted = {
                "hist_mean": "histogram",
                "quantile": "histogram",
                "share_above": "histogram",
                "rate": "counter",
                "increase": "counter",
                "ratio": "counter",
            }.get(signal.calc.op, "gauge")
            assert kind == wanted, f"{signal.id}: {signal.calc.op} of a {kind}"


def test_there_are_enough_signals_and_each_is_described() -> None:
    assert len(SIGNALS) >= 45
    assert all(s.title and s.unit for s in SIGNALS.values())


def _is_declared(name: str) -> bool:
    """Declared, or generated from configuration, log events, comparisons or the client."""
    from diagnose import clients, compare, logsignals
    from diagnose.compare import ENTRY_OF
    from diagnose.engines import log_events

    prefix, _, rest = name.partition("_")
    entries = {e.replace(".", "_") for e in ENTRY_OF.values()}
    generated = {f"{e}_{end}" for e in entries for end in ("gain", "off_wins", "newer_wins", "crossover")} | {
        "runs",
        "unmeasured",
        "best_gain",
        "mixed",
    }
    return (
        name in SIGNALS
        or name in CONFIG_SIGNALS
        or (prefix == "ab" and rest in generated)
        or (prefix == "log" and rest in log_events.ids())
        or any(f'"{name}"' in inspect.getsource(module) for module in (logsignals, compare, clients))
    )


@pytest.mark.parametrize("symptom", all_symptoms().values(), ids=list(all_symptoms()))
def test_symptoms_read_signals_that_exist(symptom: object) -> None:
    from diagnose.symptoms import Symptom

    assert isinstance(symptom, Symptom)
    nodes = [grammar.parse(condition) for condition in (symptom.when, symptom.applies) if condition]
    unknown = {s for node in nodes for s in grammar.signals(node) if not _is_declared(s)}
    assert not unknown


def test_moves_read_signals_that_exist() -> None:
    conditions = [c for e in all_entries().values() for m in e.moves for c in (m.requires, m.ruled_out, m.applied) if c]
    unknown = {s for c in conditions for s in grammar.signals(grammar.parse(c)) if not _is_declared(s)}
    assert not unknown
