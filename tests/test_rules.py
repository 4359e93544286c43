"""The shipped rules: fresh, accepted by promtool, complete in names and annotations, and right on simple series."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from processes import promtool

from diagnose.generate import cases, files
from diagnose.settings import resolve

ROOT = Path(__file__).resolve().parents[1]
RULES = sorted((ROOT / "rules").glob("*.rules.yaml"))
NAMES = {
    "LLMPreemptionStorm", "LLMKVCachePressure", "LLMGraphPoolGrowth", "LLMCudaGraphCoverageGap",
    "LLMLowPrefixCacheHitRate",
    "LLMPrefillStallsDecode", "LLMSpeculationUnprofitable", "LLMAdapterChurn", "LLMReplicaImbalance", "LLMQueueGrowth",
    "LLMEngineHung", "LLMEngineDown", "LLMErrorRate", "LLMTimeToFirstTokenBudgetBurn", "LLMInterTokenLatencyBudgetBurn",
    "LLMSignalMissing", "LLMWatchdog",
}  # fmt: skip
ANNOTATIONS = {"summary", "description", "next_step", "guide_entry", "runbook_url", "dashboard_url"}
SCRAPE = 15


def rules() -> list[dict[str, Any]]:
    return [r for f in RULES for g in yaml.safe_load(f.read_text(encoding="utf-8"))["groups"] for r in g["rules"]]


ALERTS = [r for r in rules() if "alert" in r]


def test_files_are_fresh() -> None:
    assert not files.stale(ROOT, resolve(None)), "run: diagnose generate"


def test_promtool_accepts_them_with_fatal_lint() -> None:
    code, said = promtool("check", "rules", "--lint=all", "--lint-fatal", *map(str, RULES))
    assert code == 0, said


def test_names_that_others_rely_on() -> None:
    assert {r["alert"] for r in ALERTS} >= NAMES


@pytest.mark.parametrize("rule", ALERTS, ids=lambda r: f"{r['alert']}-{r['labels'].get('window', '')}")
def test_every_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["annotations"].keys() >= ANNOTATIONS and all(rule["annotations"].values())
    assert rule["labels"]["severity"] in ("page", "ticket", "info")
    assert rule["annotations"]["runbook_url"].endswith(f"/{rule['alert']}.md")
    assert (ROOT / "runbooks" / f"{rule['alert']}.md").is_file()


@pytest.mark.parametrize("rule", rules(), ids=lambda r: r.get("record") or r["alert"])
def test_windows_hold_at_least_four_scrapes(rule: dict[str, Any]) -> None:
    """Ranges are left-open since Prometheus 3: a window of n intervals holds n samples, not n + 1."""
    for number, unit in re.findall(r"\[(\d+)([smhd])\]", rule["expr"]):
        assert int(number) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit] >= 4 * SCRAPE


def series(engine: str, new: bool, storm: bool, ranks: int = 1) -> list[dict[str, str]]:
    """Half an hour of a vLLM or SGLang engine: healthy, or with a preemption storm and the KV cache full."""
    usage = {"vllm": "vllm:kv_cache_usage_perc" if new else "vllm:gpu_cache_usage_perc", "sglang": "sglang:token_usage"}
    names = {
        "vllm": ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:num_preemptions_total",
                 "vllm:request_success_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total"),
        "sglang": ("sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:num_retracted_requests_total",
                   "sglang:num_requests_total", "sglang:prompt_tokens_total", "sglang:generation_tokens_total"),
    }[engine]  # fmt: skip
    rank_label = {"vllm": "engine", "sglang": "dp_rank"}[engine]
    shapes = (
        "30x160",
        "40x160" if storm else "0x160",
        "0+30x160" if storm else "0x160",
        "0+15x160",
        "0+9000x160",
        "0+4500x160",
    )
    out = []
    for rank in range(ranks):
        labels = f'model_name="m",instance="i",job="llm",{rank_label}="{rank}"'
        for name, shape in (*zip(names, shapes, strict=True), (usage[engine], "0.99x160" if storm else "0.4x160")):
            shown = name if new or engine == "vllm" else name.replace(":", "_", 1)
            out.append({"series": f"{shown}{{{labels}}}", "values": shape})
    return out


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("new", [True, False], ids=["new names", "old names"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_storm_fires_and_a_healthy_engine_does_not(tmp_path: Path, engine: str, new: bool, ranks: int) -> None:
    cases = []
    for storm in (True, False):
        expected = [
            {"exp_labels": {"severity": "page", "symptom": "preemption_storm", "model_name": "m", "instance": "i",
                            "job": "llm", "serving_engine": engine, "rank": str(rank)}}
            for rank in range(ranks if storm else 0)
        ]  # fmt: skip
        cases.append({
            "interval": f"{SCRAPE}s", "input_series": series(engine, new, storm, ranks),
            "alert_rule_test": [{"eval_time": "30m", "alertname": "LLMPreemptionStorm", "exp_alerts": expected}],
        })  # fmt: skip
    plain = [{**r, "annotations": {}} if "alert" in r else r for r in rules()]
    (tmp_path / "all.rules.yaml").write_text(
        json.dumps({"groups": [{"name": "all", "rules": plain}]}), encoding="utf-8"
    )
    (tmp_path / "test.yaml").write_text(
        json.dumps({"rule_files": ["all.rules.yaml"], "evaluation_interval": "1m", "tests": cases}), encoding="utf-8"
    )
    code, said = promtool("test", "rules", str(tmp_path / "test.yaml"))
    assert code == 0, said[-3000:]


def test_every_alert_has_every_case_or_a_reason() -> None:
    names = {r["alert"] for r in ALERTS}
    assert names == cases.SICK.keys() | cases.NOT_APPLICABLE.keys()
    assert all(cases.NOT_APPLICABLE.values())
    for alert, sick in cases.SICK.items():
        for case in cases.CASES:
            assert list(cases.series(alert, case)) or sick.not_applicable.get(case), f"{alert}: {case}"


def test_cases_of_every_alert() -> None:
    """Fires, silent, absent metric, idle, counter reset, no traffic, old and new spelling, DP ranks."""
    code, said = promtool("test", "rules", str(ROOT / "rules" / "tests" / "llm-alerts.test.yaml"))
    assert code == 0, said[-5000:]


def test_mutated_rules_are_caught() -> None:
    """One mutation of every kind; scripts/mutate_rules.py does all of them."""
    command = [sys.executable, str(ROOT / "scripts" / "mutate_rules.py"), "--few"]
    where = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=where)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
