"""The guide as data: complete, consistent, and right about which version has which flag."""

from __future__ import annotations

import json
import re

import pytest

from diagnose.engines.catalog import SIGNALS
from diagnose.facts import CONFIG_SIGNALS
from diagnose.guide import Entry, Flag, Move, all_entries, find_move
from diagnose.guide.declare import COSTS, RISKS
from diagnose.step import _SIZINGS
from diagnose.symptoms import all_symptoms, grammar
from diagnose.versions import in_range, key

ENTRIES = ("1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3")
DIRECTIONS = {"raise", "lower", "on", "off", "tune", "load-aware", None}
REQUIRED = {
    "1.1": "enable lower-budget raise-budget mixed-chunk limit-long-prefills",
    "1.2": "enable fix-reuse",
    "1.3": "choose-backend remove-override match-kv-dtype",
    "2.1": "fewer-sequences more-sequences more-kv-memory less-kv-memory shorter-context admission cap-client "
    "mamba-slots conservativeness",
    "2.2": "enable cover-batch trim-captures warm-up full-mode",
    "2.3": "weights-fp8 weights-int4 kv-fp8 kv-default change-kernel undo-weights",
    "3.1": "narrower-tp wider-tp pipeline expert-parallel dp-attention fix-interconnect prefill-layout",
    "3.2": "ngram-first eagle-or-mtp fewer-tokens load-aware off fix-draft",
    "3.3": "disaggregate back-to-aggregated fix-transfer rebalance-pools reuse-on-decode",
    "4.1": "more-slots adapter-routing cpu-cache merge-adapter",
    "4.2": "balance-load cache-aware-routing shared-cache fix-shared-cache drop-slow-tier wire-kv-events",
    "4.3": "scale-on-queue fix-load-signal add-replica more-headroom-down",
}  # fmt: skip
_RELEASES = {
    "vllm": (
        "0.4.3 0.5.2 0.5.3.post1 0.5.4 0.6.2 0.6.3.post1 0.6.4.post1 0.6.5 0.6.6.post1 0.7.3 0.8.0 0.8.1 "
        "0.8.2 0.8.3 0.8.4 0.8.5.post1 0.9.0.1 0.9.1 0.9.2 0.10.0 0.10.1.1 0.10.2 0.11.0 0.11.1 0.11.2 "
        "0.12.0 0.13.0 0.14.1 0.15.1 0.16.0 0.17.1 0.18.1 0.19.1 0.20.2 0.21.0 0.22.1 0.23.0 0.24.0 0.25.1 "
        "0.26.0 0.27.1 0.28.0 0.29.0 0.30.0 0.31.0 0.32.0+cpu 0.33.0 0.40.0"
    ),
    "sglang": (
        "0.3.6 0.4.0.post2 0.4.1.post7 0.4.3.post4 0.4.4.post4 0.4.5.post3 0.4.6.post5 0.4.7.post1 "
        "0.4.8.post1 0.4.9.post5 0.4.9.post6 0.4.10.post2 0.5.1.post3 0.5.2 0.5.3.post3 0.5.4.post3 "
        "0.5.5.post3 0.5.6.post2 0.5.7 0.5.8.post1 0.5.9 0.5.10.post1 0.5.11 0.5.12.post1 0.5.13.post1 "
        "0.5.14 0.5.15.post1 0.5.16 0.5.17 0.5.18 0.5.19 0.5.20 0.5.21 0.5.22 0.5.23 0.6.0"
    ),
}
VERSIONS = {engine: text.split() for engine, text in _RELEASES.items()}
MOVES = [(entry, move) for entry in all_entries().values() for move in entry.moves]
IDS = [f"{entry.id}/{move.id}" for entry, move in MOVES]
FLAGS = [(f"{e.id}/{m.id}", flag) for e, m in MOVES for flag in m.flags]


def spelled(ref: str, engine: str, version: str) -> str:
    """The flag text of one move for one engine version."""
    _, move = find_move(ref)
    return next(f.text for f in move.flags if f.engine == engine and in_range(version, f.since, f.until))


def test_entries_stand_in_the_order_of_evaluation() -> None:
    assert tuple(all_entries()) == ENTRIES
    assert [e.phase for e in all_entries().values()] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]


def test_every_expected_move_is_there() -> None:
    assert {e: {m.id for m in all_entries()[e].moves} for e in ENTRIES} == {
        e: set(v.split()) for e, v in REQUIRED.items()
    }
    assert len(MOVES) >= 40
    assert len(set(IDS)) == len(IDS)


@pytest.mark.parametrize("entry", all_entries().values(), ids=list(all_entries()))
def test_entry_says_everything(entry: Entry) -> None:
    assert all((entry.title, entry.default_state, entry.what, entry.impact, entry.risk, entry.evaluation, entry.moves))


@pytest.mark.parametrize(("entry", "move"), MOVES, ids=IDS)
def test_move_is_complete(entry: Entry, move: Move) -> None:
    assert move.direction in DIRECTIONS
    assert move.cost in COSTS
    assert move.risk in RISKS
    assert move.title and move.expect and move.undo and move.then and move.note
    assert len(move.measure) > 40
    assert {f.engine for f in move.flags} == set(VERSIONS)


@pytest.mark.parametrize(("entry", "move"), MOVES, ids=IDS)
def test_conditions_name_known_signals(entry: Entry, move: Move) -> None:
    known = set(SIGNALS) | set(CONFIG_SIGNALS)
    for condition in filter(None, (move.requires, move.ruled_out, move.applied)):
        node = grammar.parse(condition)
        assert {s for s in grammar.signals(node) if not s.startswith("log_")} <= known
        assert all(isinstance(c.bound, float) for c in grammar.compares(node)), "moves have no thresholds"


@pytest.mark.parametrize(("entry", "move"), MOVES, ids=IDS)
def test_every_version_of_an_engine_gets_one_line(entry: Entry, move: Move) -> None:
    for engine, versions in VERSIONS.items():
        for version in versions:
            fitting = [f for f in move.flags if f.engine == engine and in_range(version, f.since, f.until)]
            assert len(fitting) == 1, (engine, version, fitting)


@pytest.mark.parametrize(("entry", "move"), MOVES, ids=IDS)
def test_newest_spelling_stands_first(entry: Entry, move: Move) -> None:
    for engine in VERSIONS:
        assert next(f for f in move.flags if f.engine == engine).until == ""


@pytest.mark.parametrize(("ref", "flag"), FLAGS, ids=[f"{r}-{f.engine}-{f.since}" for r, f in FLAGS])
def test_flag_ranges_and_values(ref: str, flag: Flag) -> None:
    assert not (flag.since and flag.until) or key(flag.since) <= key(flag.until)
    _, move = find_move(ref)
    if "{value}" in flag.text:
        assert move.fallback, "what stands for the number when it cannot be computed"
    for text in re.findall(r"'(\{.*?\})'", flag.text):
        filled = text.replace("{value}", "8").replace("<draft>", "draft")
        assert isinstance(json.loads(filled), dict)


@pytest.mark.parametrize(("entry", "move"), MOVES, ids=IDS)
def test_sizing_functions_exist_and_are_used(entry: Entry, move: Move) -> None:
    assert not move.sizing or move.sizing in _SIZINGS
    if move.sizing and move.sizing != "kv_fp8_gain":  # its number is a consequence, not an argument
        assert any("{value}" in f.text for f in move.flags)


def test_moves_of_symptoms_exist() -> None:
    for symptom in all_symptoms().values():
        for ref in symptom.moves:
            assert find_move(ref)[1].id == ref.partition("/")[2]


@pytest.mark.parametrize(
    ("ref", "engine", "version", "expected"),
    [
        ("1.1/enable", "vllm", "0.6.3", "--enable-chunked-prefill"),
        ("1.1/enable", "vllm", "0.32.0", "--no-enable-chunked-prefill"),
        ("1.1/enable", "sglang", "0.5.10.post1", "--chunked-prefill-size"),
        ("1.1/mixed-chunk", "sglang", "0.4.9.post6", "--enable-mixed-chunk"),
        ("1.1/limit-long-prefills", "sglang", "0.5.23", "--prefill-decode-interval"),
        ("1.3/choose-backend", "vllm", "0.11.2", "VLLM_ATTENTION_BACKEND"),
        ("1.3/choose-backend", "vllm", "0.20.2", "--attention-backend"),
        ("2.1/fewer-sequences", "sglang", "0.5.23", "--max-running-requests"),
        ("2.2/cover-batch", "vllm", "0.10.2", "--cuda-graph-sizes"),
        ("2.2/cover-batch", "vllm", "0.32.0", "--max-cudagraph-capture-size"),
        ("2.2/cover-batch", "sglang", "0.5.10.post1", "--cuda-graph-max-bs "),
        ("2.2/cover-batch", "sglang", "0.5.23", "--cuda-graph-max-bs-decode"),
        ("3.1/dp-attention", "sglang", "0.5.10.post1", "--enable-dp-attention"),
        ("3.1/dp-attention", "sglang", "0.5.23", "--attn-dp-size"),
        ("3.2/ngram-first", "vllm", "0.6.3", "--speculative-model"),
        ("3.2/ngram-first", "vllm", "0.9.2", "--speculative-config"),
        ("3.2/load-aware", "vllm", "0.32.0", "num_speculative_tokens_per_batch_size"),
        ("3.3/reuse-on-decode", "sglang", "0.5.23", "--disaggregation-decode-enable-radix-cache"),
        ("4.2/shared-cache", "vllm", "0.9.2", "LMCacheConnectorV1"),
        ("4.2/shared-cache", "vllm", "0.32.0", "--kv-offloading-backend"),
        ("4.2/balance-load", "sglang", "0.5.10.post1", "total_tokens"),
    ],
)
def test_spelling_by_version(ref: str, engine: str, version: str, expected: str) -> None:
    assert expected in spelled(ref, engine, version)


def test_names_that_engines_dropped_stay_in_their_time() -> None:
    for old, last in (
        ("--speculative-model ", "0.8.3"),
        ("vllm:gpu_cache_usage_perc", "0.11.2"),
        ("--cuda-graph-max-bs ", "0.5.13.post1"),
    ):
        for _, flag in FLAGS:
            if old in flag.text:
                assert flag.until and key(flag.until) <= key(last), flag.text


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("2.1/fewer-sequences", ("not publishable", "before the target concurrency")),
        ("1.1/enable", ("Prefix caching together with chunked prefill",)),
        ("3.2/ngram-first", ("before any draft model",)),
        ("3.2/eagle-or-mtp", ("0.7 or more", "low concurrency")),
        ("3.2/load-aware", ("publish the crossover", "saturation")),
        ("4.2/shared-cache", ("LMCache", "--kv-offloading-backend")),
        ("4.2/cache-aware-routing", ("Round-robin destroys",)),
        ("3.1/narrower-tp", ("TP is for latency",)),
        ("3.1/pipeline", ("past one node",)),
        ("3.1/expert-parallel", ("throughput of MoE",)),
        ("2.3/kv-fp8", ("128K",)),
    ],
)  # fmt: skip
def test_field_practice_is_part_of_the_moves(ref: str, words: tuple[str, ...]) -> None:
    _, move = find_move(ref)
    text = " ".join((move.measure, move.note, *move.expect, *(f.text for f in move.flags)))
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("ref", "signals", "allowed"),
    [
        ("2.1/more-sequences", {"kv_usage_max": 0.99}, False),
        ("2.1/more-sequences", {"kv_usage_max": 0.2, "preemptions_per_finished": 0.0}, True),
        ("2.1/fewer-sequences", {"config_max_num_seqs": 1.0}, False),
        ("2.1/fewer-sequences", {"config_max_num_seqs": 64.0, "requests_running_max": 14.0}, True),
        ("4.3/add-replica", {"client_closed_loop": 1.0}, False),
        ("3.2/ngram-first", {"preemptions_per_finished": 3.0}, False),
        ("3.1/wider-tp", {"config_mla": 1.0}, False),
        ("3.3/disaggregate", {"prompt_len_mean": 60.0}, False),
        ("2.2/enable", {"config_cpu": 1.0}, False),
    ],
)
def test_ruled_out(ref: str, signals: dict[str, float], allowed: bool) -> None:
    _, move = find_move(ref)
    assert (grammar.evaluate(grammar.parse(move.ruled_out), signals, {}) is not True) == allowed


def test_what_is_on_counts_as_applied() -> None:
    for ref, signals in (
        ("1.1/enable", {"config_chunked_prefill": 1.0}),
        ("1.2/enable", {"config_prefix_caching": 1.0}),
        ("2.2/enable", {"config_enforce_eager": 0.0}),
        ("2.3/kv-fp8", {"config_kv_fp8": 1.0}),
        ("3.3/disaggregate", {"config_disaggregated": 1.0}),
    ):
        assert grammar.evaluate(grammar.parse(find_move(ref)[1].applied), signals, {}) is True
    eager_by_nature = {"config_enforce_eager": 0.0, "config_cpu": 1.0}
    assert grammar.evaluate(grammar.parse(find_move("2.2/enable")[1].applied), eager_by_nature, {}) is False
