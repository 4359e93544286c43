"""``diagnose lint``: names that an engine does not export, and queries that read its series wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from diagnose.cli.lint import command
from diagnose.engines.catalog import rows
from diagnose.errors import UsageError
from diagnose.generate import alerts, records
from diagnose.lint import CODES, Engine, Remark, lint
from diagnose.lint_files import Query, read
from diagnose.settings import resolve

ROOT = Path(__file__).resolve().parents[1]
# recorded on purpose although no new engine has them: names of vLLM V0, for fleets that still run it
V0_ONLY = {"engine:requests_swapped", "engine:cpu_kv_usage_max", "engine:tokens_rate_1m"}
# last release that exported a name of older guides and dashboards
ENDED = {
    "vllm:gpu_cache_usage_perc": "0.11.2",
    "vllm:cpu_cache_usage_perc": "0.9.0",
    "vllm:num_requests_swapped": "0.9.0",
    "vllm:gpu_prefix_cache_hit_rate": "0.9.0",
    "vllm:cpu_prefix_cache_hit_rate": "0.9.0",
    "vllm:gpu_prefix_cache_queries_total": "0.11.2",
    "vllm:gpu_prefix_cache_hits_total": "0.11.2",
    "vllm:time_per_output_token_seconds_bucket": "0.14.1",
    "vllm:avg_prompt_throughput_toks_per_s": "0.6.6",
    "vllm:avg_generation_throughput_toks_per_s": "0.6.6",
    "vllm:time_in_queue_requests_sum": "0.9.0",
    "vllm:model_forward_time_milliseconds_sum": "0.9.0",
    "vllm:model_execute_time_milliseconds_sum": "0.9.0",
    "vllm:spec_decode_draft_acceptance_rate": "0.9.2",
    "vllm:spec_decode_efficiency": "0.9.2",
    "vllm:spec_decode_num_emitted_tokens_total": "0.9.2",
    "vllm:tokens_total": "0.7.3",
    "vllm:request_params_best_of_bucket": "0.6.2",
    "vllm:prompt_tokens_recomputed_total": "0.19.1",
    "sglang:time_per_output_token_seconds_bucket": "0.4.4",
    "sglang:avg_request_queue_latency": "0.5.2",
    "sglang:total_retracted_reqs": "0.5.2",
    "sglang:num_prefill_infight_queue_reqs": "0.5.1",
    "sglang:num_prefill_prealloc_queue_reqs": "0.5.11",
    "sglang:engine_startup_time": "0.5.16",
    "sglang:engine_load_weights_time": "0.5.16",
    "sglang:gpu_execution_seconds_total": "0.5.10.post1",
    "sglang:cache_config_info": "0.5.10.post1",
}


def check(text: str, engine: str = "", version: str = "", ignored: tuple[str, ...] = ()) -> tuple[Remark, ...]:
    return lint([Query("f", "w", text)], Engine(engine, version), ignored)


def codes(text: str, engine: str = "", version: str = "") -> list[str]:
    return [r.code for r in check(text, engine, version)]


@pytest.mark.parametrize(("name", "until"), ENDED.items())
def test_names_of_older_guides_are_told_with_their_last_release(name: str, until: str) -> None:
    (remark,) = check(f'max({name}{{model_name="m"}})')
    assert remark.code == "ended" and f"up to {until} only" in remark.message


def test_the_new_name_is_named() -> None:
    assert check("vllm:gpu_cache_usage_perc")[0].instead == "vllm:kv_cache_usage_perc"
    assert check("vllm_gpu_cache_usage_perc")[0].instead == "vllm:kv_cache_usage_perc"
    assert check("vllm:num_preemptions")[0].instead == "vllm:num_preemptions_total"
    assert check("vllm:cpu_cache_usage_perc")[0].instead == ""


def test_a_version_decides() -> None:
    assert codes("vllm:gpu_cache_usage_perc", "vllm", "0.8.5") == []
    assert codes("vllm:gpu_cache_usage_perc", "vllm", "0.32.0") == ["ended"]
    (early,) = check("vllm:kv_cache_usage_perc", "vllm", "0.8.5")
    assert (early.code, early.instead) == ("too-new", "vllm:gpu_cache_usage_perc")
    assert codes("vllm:time_per_output_token_seconds_sum", "vllm", "0.12.0") == ["hidden"]
    assert codes("vllm:kv_cache_usage_perc", "vllm", "9.9.9") == [], "newer than the catalog"
    assert codes("sglang:total_retracted_reqs", "sglang", "0.5.1") == []


@pytest.mark.parametrize("row", [r for r in rows() if r.table in ("vllm", "sglang")], ids=lambda r: r.name)
def test_every_catalog_name_is_known_at_its_first_release(row: Any) -> None:
    found = codes(f'{row.name}{{model_name="m"}}', row.table, row.since)
    assert not {"unknown-name", "too-new", "ended"} & set(found)


def test_suffixes_separators_variables_and_comments() -> None:
    assert codes('sum by (le) (rate(vllm:e2e_request_latency_seconds_bucket{model_name="$m"}[$__rate_interval]))') == []
    assert codes("label_values(vllm:cache_config_info, model_name)") == []
    assert codes("up{job=~'$job'} # vllm:not_a_metric") == []
    assert codes('count({__name__=~"vllm[:_]num_requests_running"})') == ["router-copies"]
    assert codes('sum({__name__="sglang:no_such_thing"})') == ["unknown-name"]
    assert codes("my:own + vllm_router_requests_total + ${metric}") == []
    assert codes('label_replace(sglang:num_queue_reqs, "vllm:x", "$1", "pod", "(.*)")') == []


def test_adding_two_spellings_is_told_and_or_is_not() -> None:
    both = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
    assert "two-spellings" in codes(" + ".join(both))
    assert "two-spellings" in codes(f"max(({both[0]})) + on (instance) max({both[1]})")
    assert "two-spellings" in codes(f'sum({{__name__=~"{both[0]}|{both[1]}"}})')
    assert "two-spellings" in codes("sum(sglang:num_queue_reqs) + sum(sglang_num_queue_reqs)")
    assert codes(" or ".join(both)) == []
    assert codes("vllm:prompt_tokens_total + vllm:generation_tokens_total") == []


@pytest.mark.parametrize("text", ["(" * 5000 + "vllm:x", "sum(" * 3000, ")" * 100, "{" * 100, '"', "by", "sum by", ""])
def test_nonsense_does_no_harm(text: str) -> None:
    assert check(text) is not None


def test_a_quantile_needs_its_buckets() -> None:
    series = "rate(sglang:e2e_request_latency_seconds_bucket[5m])"
    assert codes(f"histogram_quantile(0.9, sum({series}))") == ["no-le"]
    assert codes(f"histogram_quantile(0.9, sum by (model_name) ({series}))") == ["no-le"]
    assert codes(f"histogram_quantile(0.9, sum({series}) without (le))") == ["no-le"]
    assert codes(f"histogram_quantile(0.9, sum({series}) by (le, $by))") == []
    assert codes(f"histogram_quantile(0.9, sum without (pod) ({series}))") == []
    assert codes(f"histogram_quantile(0.9, {series})") == []
    assert codes("histogram_quantile(0.9, sum(rate(sglang:e2e_request_latency_seconds[5m])))") == [], "native histogram"


def test_a_rate_needs_a_counter() -> None:
    assert codes('rate(vllm:num_requests_running{job="a"}[5m])') == ["rate-of-gauge"]
    assert codes("rate(vllm:num_preemptions_total[5m])") == []
    assert codes("rate(sglang:total_retracted_reqs[5m])", "sglang", "0.5.1") == [], "a gauge that counts up"
    assert codes("avg_over_time(sglang:num_queue_reqs[5m])") == []


def test_router_copies_need_a_filter() -> None:
    assert codes("sum(vllm:num_requests_waiting)") == ["router-copies"]
    assert codes('sum(vllm:num_requests_waiting{model_name!=""})') == []
    assert codes('sum(vllm:num_requests_waiting{job="engines"})') == []
    assert check("sum(vllm:num_requests_waiting)", ignored=("router-copies",)) == ()


def test_each_check_has_a_code_and_each_code_a_check() -> None:
    bad = 'sum(vllm:num_requests_waiting) + vllm:x_y + vllm:tokens_total + rate(vllm:num_requests_running{job="a"}[5m])'
    texts = (
        (bad, ""),
        ("vllm:kv_cache_usage_perc + vllm:gpu_cache_usage_perc", ""),
        ("histogram_quantile(0.9, sum(vllm:e2e_request_latency_seconds_bucket{job='a'}))", ""),
        ("vllm:admission_rejections_total + vllm:time_per_output_token_seconds_sum", "0.12.0"),
    )
    assert {c for text, version in texts for c in codes(text, "vllm", version)} == set(CODES)


def test_our_own_rules_are_clean() -> None:
    settings = resolve()
    made = [r for g in (*records.groups(settings), *alerts.groups(settings)) for r in g["rules"]]  # type: ignore[attr-defined]
    queries = [Query("rules", r.get("record") or r["alert"], r["expr"], r.get("record", "")) for r in made]
    queries += [q for path in sorted((ROOT / "rules").glob("*.rules.yaml")) for q in read(str(path))]
    assert [r for r in lint(queries, Engine()) if r.where.removeprefix("record ") not in V0_ONLY] == []
    dashboards = [q for path in sorted((ROOT / "dashboards").glob("*.json")) for q in read(str(path))]
    assert [r for r in lint([*queries, *dashboards], Engine()) if r.file != "rules" and r.file.endswith(".json")] == []


DASHBOARD = {
    "title": "LLM",
    "templating": {
        "list": [{"name": "model", "type": "query", "query": {"query": "label_values(vllm:tokens_total, m)"}}]
    },
    "panels": [
        {
            "type": "row",
            "title": "KV",
            "panels": [{"type": "stat", "title": "Use", "targets": [{"expr": "vllm:gpu_cache_usage_perc"}]}],
        },
        {"type": "logs", "title": "L", "datasource": {"type": "loki"}, "targets": [{"expr": '{app="vllm:x"}'}]},
    ],
}
RULES = {"groups": [{"name": "g", "rules": [{"record": "sglang:own_total", "expr": "sum(sglang:num_running_reqs)"},
                                             {"alert": "A", "expr": "sglang:own_total > 1"}]}]}  # fmt: skip


def written(folder: Path, name: str, content: object) -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return str(path)


def test_dashboards_are_read_with_panels_rows_and_variables(tmp_path: Path) -> None:
    for name, content in (("a.json", DASHBOARD), ("b.json", {"dashboard": DASHBOARD})):
        found = lint(read(written(tmp_path, name, json.dumps(content))), Engine())
        assert {(r.where, r.name) for r in found} == {
            ("variable model", "vllm:tokens_total"),
            ("panel Use", "vllm:gpu_cache_usage_perc"),
        }


def test_rules_in_every_wrapping(tmp_path: Path) -> None:
    custom = {"kind": "PrometheusRule", "spec": RULES}
    config_map = {"kind": "ConfigMap", "data": {"x.yaml": yaml.safe_dump(RULES), "d.json": json.dumps(DASHBOARD)}}
    scaled = {"kind": "ScaledObject", "spec": {"triggers": [{"type": "p", "metadata": {"query": "vllm:tokens_total"}}]}}
    assert lint(read(written(tmp_path, "a.yaml", RULES)), Engine()) == (), "what the file records is its own name"
    assert len(read(written(tmp_path, "b.yaml", custom))) == 2
    assert len(read(written(tmp_path, "c.yaml", config_map))) == 4
    both = yaml.safe_dump_all([scaled, {"kind": "List", "items": [custom]}])
    assert len(read(written(tmp_path, "d.yaml", both))) == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "{"), ("b.json", "{}"), ("c.yaml", "a: [b"), ("d.yaml", "just text"), ("e.json", "[" * 100000),
        ("f.yaml", "groups: 3"), ("g.yaml", ""), ("h.yaml", "\x00"), ("i.yaml", "groups: [{rules: [3, null]}, 7]"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(written(tmp_path, name, content))
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_the_command(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", json.dumps(DASHBOARD))
    clean = written(tmp_path, "a.yaml", RULES)

    def go(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(command, arguments, standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.return_value, done.output

    status, text = go(path, clean)
    assert (
        status == 1
        and "instead: vllm:kv_cache_usage_perc" in text
        and text.endswith("2 findings: 4 queries in 2 files\n")
    )
    status, text = go(path, "--format", "json", "--engine", "vllm", "--version", "0.6.6")
    document = json.loads(text)
    assert status == 0 or {f["code"] for f in document["findings"]} <= set(CODES)
    assert go(clean) == (0, "clean: 2 queries in 1 file\n")
    for arguments in ((), (clean, "--version", "1"), (clean, "--engine", "vllm", "--version", "x"), ("none.yaml",)):
        with pytest.raises(UsageError):
            go(*arguments)
