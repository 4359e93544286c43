"""A/B bundles: which names are runs, what differs, who wins and by how much, and what cannot be compared."""

from __future__ import annotations

import pytest

from diagnose import compare
from diagnose.compare import Comparison
from diagnose.model import Bench, Fact, FactValue, LogStat, Observations


def launch(run: str, **facts: FactValue) -> Observations:
    return Observations(facts=tuple(Fact(i, v, "launch", f"launch/{run}.txt", run) for i, v in facts.items()))


def bench(run: str, **values: float) -> Observations:
    return Observations(benches=(Bench(run, values, f"bench/{run}.json"),))


def ask(*parts: Observations) -> tuple[tuple[str, ...], Comparison, dict[str, float]]:
    observations = Observations()
    for part in parts:
        observations += part
    names = compare.variants(observations)
    found = compare.compare(observations, names, {})
    return names, found, {k: v.value for k, v in compare.signals(found).items()}


def ab(a: dict[str, FactValue], b: dict[str, FactValue], fast: float = 120.0) -> dict[str, float]:
    return ask(
        launch("a", model="m", **a),
        launch("b", model="m", **b),
        bench("a", output_throughput=100.0),
        bench("b", output_throughput=fast),
    )[2]


@pytest.mark.parametrize(
    "name",
    [
        "server",
        "prefill",
        "decode",
        "decode-1",
        "prefill_2",
        "router",
        "client",
        "engine",
        "compose",
        "hpa",
        "Server",
        "worker3",
    ],
)
def test_roles_are_no_runs(name: str) -> None:
    assert compare.is_role(name)


@pytest.mark.parametrize("name", ["fa3", "flashinfer", "tp4", "off", "baseline", "fp8", "decoded"])
def test_other_names_are_runs(name: str) -> None:
    assert not compare.is_role(name)


def test_roles_of_one_deployment_are_not_compared() -> None:
    assert (
        compare.variants(launch("prefill", tp=4) + launch("decode", tp=8) + launch("client", client_concurrency=8))
        == ()
    )


def test_one_run_is_not_a_comparison() -> None:
    assert compare.variants(launch("fa3", tp=4) + bench("fa3", output_throughput=1.0)) == ()


def test_two_benchmarks_without_launch_files_are_a_comparison() -> None:
    assert compare.variants(bench("fa3", output_throughput=1.0) + bench("flashinfer", output_throughput=2.0)) == (
        "fa3",
        "flashinfer",
    )


def test_files_belong_to_the_longest_name() -> None:
    assert compare.belongs("fp8-kv-c32", ("fp8", "fp8-kv")) == "fp8-kv"
    assert (compare.belongs("fp8", ("fp8",)), compare.belongs("fp80", ("fp8",))) == ("fp8", "")


@pytest.mark.parametrize(
    ("fact", "entry"),
    [
        ("chunk_budget", "1_1"),
        ("prefix_caching", "1_2"),
        ("attention_backend", "1_3"),
        ("max_num_seqs", "2_1"),
        ("enforce_eager", "2_2"),
        ("quantization", "2_3"),
        ("tp", "3_1"),
        ("spec_method", "3_2"),
        ("kv_role", "3_3"),
        ("max_loras", "4_1"),
        ("kv_offload", "4_2"),
        ("engine_version", "version"),
    ],
)
def test_one_difference_belongs_to_its_entry(fact: str, entry: str) -> None:
    found = ab({}, {fact: "fp8"})
    assert found[f"ab_{entry}_gain"] == pytest.approx(0.2)
    assert found["ab_best_gain"] == pytest.approx(0.2)


def test_the_gain_is_better_over_worse_whichever_is_first() -> None:
    assert ab({}, {"tp": 4}, fast=50.0)["ab_3_1_gain"] == pytest.approx(1.0)
    assert ab({}, {"tp": 4}, fast=200.0)["ab_3_1_gain"] == pytest.approx(1.0)


def test_which_side_wins() -> None:
    assert ab({}, {"spec_method": "eagle"})["ab_3_2_off_wins"] == 0.0
    assert ab({}, {"spec_method": "eagle"}, fast=80.0)["ab_3_2_off_wins"] == 1.0


def test_two_differences_are_not_comparable() -> None:
    names, found, signals = ask(
        launch("a", tp=1),
        launch("b", tp=4, enforce_eager=True),
        bench("a", output_throughput=1.0),
        bench("b", output_throughput=2.0),
    )
    assert (names, found.pairs, found.mixed) == (("a", "b"), (), (("a", "b"),))
    assert signals["ab_mixed"] == 1.0 and "ab_best_gain" not in signals


def test_no_difference_in_anything_known_is_not_comparable() -> None:
    assert "ab_best_gain" not in ab({}, {"trust_remote_code": True})


def test_an_unset_flag_equals_its_absence() -> None:
    found = ab({"spec_method": "None", "enforce_eager": False, "kv_cache_dtype": "auto"}, {"tp": 2})
    assert "ab_3_1_gain" in found


def test_zero_is_a_value() -> None:
    assert "ab_4_2_gain" in ab({"cpu_offload_bytes": 0}, {"cpu_offload_bytes": 8e9})


def test_lower_latency_wins() -> None:
    found = ask(launch("a", tp=1), launch("b", tp=4), bench("a", ttft_mean=2.0), bench("b", ttft_mean=1.0))
    assert (found[1].pairs[0].better, found[2]["ab_3_1_gain"]) == ("b", pytest.approx(1.0))


def test_throughput_is_preferred_to_latency() -> None:
    found = ask(
        launch("a", tp=1),
        launch("b", tp=4),
        bench("a", ttft_mean=1.0, output_throughput=100.0),
        bench("b", ttft_mean=9.0, output_throughput=110.0),
    )
    assert (found[1].pairs[0].better, found[1].pairs[0].metric) == ("b", "output_throughput")


def test_conditions_are_compared_one_by_one() -> None:
    """The gap at long context decides, not a mean over conditions."""
    parts = [launch("fa3", attention_backend="FLASH_ATTN"), launch("tri", attention_backend="TRITON_ATTN")]
    parts += [
        bench(f"{r}-{c}", output_throughput=v)
        for r, c, v in (("fa3", "1k", 100.0), ("tri", "1k", 103.0), ("fa3", "32k", 90.0), ("tri", "32k", 45.0))
    ]
    pair = ask(*parts)[1].pairs[0]
    assert (pair.condition, pair.better, pair.gain) == ("32k", "fa3", pytest.approx(1.0))


def test_a_run_without_figures_is_named() -> None:
    found = ask(launch("a", tp=1), launch("b", tp=4), bench("a", output_throughput=1.0))
    assert found[1].unmeasured == ("b",) and found[2]["ab_unmeasured"] == 1.0 and "ab_best_gain" not in found[2]


def test_logs_measure_where_benchmarks_are_missing() -> None:
    def log(run: str, speed: float) -> Observations:
        return Observations(
            stats=tuple(
                LogStat(
                    run, "vllm", 10.0 * n, {"running": 4.0, "waiting": 0.0, "generation_tps": speed, "prompt_tps": 0.0}
                )
                for n in range(3)
            )
        )

    found = ask(launch("a", enforce_eager=True), launch("b", cudagraphs="x"), log("a", 100.0), log("b", 150.0))
    assert (found[1].pairs[0].better, found[2]["ab_2_2_gain"]) == ("b", pytest.approx(0.5))


def test_the_kv_dtype_that_decides_the_kernel_is_a_question_of_the_kernel() -> None:
    def run(name: str, dtype: str, backend: str) -> Observations:
        resolved = Fact("attention_backend", backend, "log", f"logs/{name}.log", name)
        return launch(name, kv_cache_dtype=dtype) + Observations(facts=(resolved,))

    found = ask(
        run("int8", "int8", "TRITON_ATTN"),
        run("fp8", "fp8", "FLASHINFER"),
        bench("int8", output_throughput=50.0),
        bench("fp8", output_throughput=115.0),
    )[2]
    assert found["ab_1_3_gain"] == pytest.approx(1.3) and "ab_2_3_gain" not in found


def test_a_silent_log_does_not_differ() -> None:
    resolved = Observations(facts=(Fact("attention_backend", "FLASH_ATTN", "log", "logs/a.log", "a"),))
    found = ask(
        launch("a", max_num_seqs=64),
        launch("b", max_num_seqs=256),
        resolved,
        bench("a", output_throughput=1.0),
        bench("b", output_throughput=2.0),
    )[2]
    assert "ab_2_1_gain" in found


def test_three_runs_give_each_clean_pair() -> None:
    parts = [
        launch("base", model="m"),
        launch("eager", model="m", enforce_eager=True),
        launch("both", model="m", enforce_eager=True, tp=2),
    ]
    parts += [bench(n, output_throughput=v) for n, v in (("base", 100.0), ("eager", 80.0), ("both", 130.0))]
    _, found, signals = ask(*parts)
    assert {(p.entry, p.better) for p in found.pairs} == {("2.2", "base"), ("3.1", "both")}
    assert found.mixed == (("base", "both"),)
    assert (signals["ab_2_2_gain"], signals["ab_3_1_gain"]) == (pytest.approx(0.25), pytest.approx(0.625))
