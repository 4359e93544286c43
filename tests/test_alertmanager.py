"""The example configuration of Alertmanager: it loads, routes by severity, silences followers, shows the next step."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from processes import alertmanager, binary, get_json, poll
from test_e2e_alerting import hastened_routes

from diagnose.generate import alertmanager as generated
from diagnose.symptoms import all_symptoms

FOLDER = Path(__file__).resolve().parents[1] / "rules" / "alertmanager"
CONFIG = FOLDER / "alertmanager.yml"
ROUTES = yaml.safe_load((FOLDER / "routes.test.yaml").read_text(encoding="utf-8"))
SEVERITIES = ("info", "ticket", "page")


def amtool(*arguments: str) -> str:
    done = subprocess.run([binary("amtool"), *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def config() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    return found


def test_amtool_accepts_it() -> None:
    assert "SUCCESS" in amtool("check-config", str(CONFIG))


@pytest.mark.parametrize("case", ROUTES, ids=lambda c: f"{c['labels']['alertname']}-{c['labels'].get('severity')}")
def test_routes(case: dict[str, Any]) -> None:
    labels = [f"{k}={v}" for k, v in case["labels"].items()]
    expected = f"--verify.receivers={case['receiver']}"
    assert amtool("config", "routes", "test", f"--config.file={CONFIG}", expected, *labels).strip() == case["receiver"]


def test_every_receiver_is_reached_and_every_severity_routed() -> None:
    assert {r["name"] for r in config()["receivers"]} == {c["receiver"] for c in ROUTES}
    assert set(SEVERITIES) <= {c["labels"].get("severity") for c in ROUTES}
    assert "model_name" in config()["route"]["group_by"]


def test_the_inhibition_is_not_stale() -> None:
    text = CONFIG.read_text(encoding="utf-8")
    assert generated.render(text) == text, "run: diagnose generate"
    with pytest.raises(ValueError, match="no block"):
        generated.render("route: {}")


def test_inhibition_follows_the_cause_graph_and_has_no_cycle() -> None:
    by_alert = {s.alert: s for s in all_symptoms().values() if s.alert}
    for alert, symptom in by_alert.items():
        for other in generated.explained(symptom):
            if other in by_alert:
                assert alert not in generated.explained(by_alert[other]), f"{alert} and {other} silence each other"
    storm = generated.explained(by_alert["LLMPreemptionStorm"])
    assert {*generated.EFFECT_ALERTS.values(), "LLMQueueGrowth", "LLMKVCachePressure"} <= set(storm)


def test_nothing_more_urgent_is_silenced() -> None:
    severities = {s.alert: s.severity for s in all_symptoms().values() if s.alert}
    for rule in generated.inhibitions():
        name = rule.source[0].partition("=")[2].strip('"')
        if name in severities and severities[name] != "page":
            assert any(m.startswith("severity") for m in rule.target), rule


def test_every_alert_named_is_one_of_ours() -> None:
    files = sorted(FOLDER.parent.glob("*.rules.yaml"))
    groups = [g for f in files for g in yaml.safe_load(f.read_text(encoding="utf-8"))["groups"]]
    known = {r["alert"] for g in groups for r in g["rules"] if "alert" in r}
    named = {n for c in ROUTES for n in [c["labels"]["alertname"]] if n != "SomethingElse"}
    for rule in generated.inhibitions():
        texts = (*rule.source, *(m for m in rule.target if "!~" not in m))
        named |= {n for text in texts for n in re.findall(r"LLM[A-Za-z]+", text) if n != "LLM"}
    assert not files or named <= known, sorted(named - known)


ALERT = {
    "labels": {
        "alertname": "LLMPreemptionStorm",
        "severity": "page",
        "instance": "r0:8000",
        "rank": "1",
        "model_name": "m",
    },
    "annotations": {
        "summary": "Preemption storm (m r0:8000)",
        "description": "More sequences are admitted than fit. Now: preemptions 267.",
        "next_step": "2.1 Right-size: fewer sequences. vllm: --max-num-seqs 3.",
        "runbook_url": "https://example.com/LLMPreemptionStorm.md",
        "dashboard_url": "https://example.com/d/llm",
    },
}
BARE = {"labels": {"alertname": "Bare"}, "annotations": {}}


def shown(template: str, folder: Path, *alerts: dict[str, Any], status: str = "firing") -> str:
    data = {"receiver": "r", "status": status, "alerts": [{"status": status, **a} for a in alerts]}
    (folder / "data.json").write_text(json.dumps(data), encoding="utf-8")
    glob, text = f"--template.glob={FOLDER}/templates/*.tmpl", f'--template.text={{{{ template "{template}" . }}}}'
    return amtool("template", "render", glob, text, f"--template.data={folder / 'data.json'}")


def test_the_page_shows_evidence_and_the_next_step(tmp_path: Path) -> None:
    chat = shown("llm.chat", tmp_path, ALERT, BARE)
    for part in (
        "preemptions 267",
        "*Next:* 2.1 Right-size",
        "--max-num-seqs 3",
        "r0:8000 rank 1",
        "|runbook>",
        "*Bare*",
    ):
        assert part in chat
    assert "preemptions 267" in shown("llm.evidence", tmp_path, ALERT)
    assert "--max-num-seqs 3" in shown("llm.next", tmp_path, ALERT)
    assert "LLMPreemptionStorm.md" in shown("llm.links", tmp_path, ALERT)


def test_titles(tmp_path: Path) -> None:
    assert shown("llm.title", tmp_path, ALERT).strip() == "Preemption storm (m r0:8000)"
    assert shown("llm.title", tmp_path, ALERT, BARE, status="resolved").strip() == (
        "Resolved: Preemption storm (m r0:8000) (+1 more)"
    )
    assert shown("llm.title", tmp_path, BARE).strip() == "Bare"


def test_templates_that_the_receivers_name_exist() -> None:
    defined = set(re.findall(r'define "([\w.]+)"', (FOLDER / "templates" / "llm.tmpl").read_text(encoding="utf-8")))
    used = set(re.findall(r'template "([\w.]+)"', CONFIG.read_text(encoding="utf-8")))
    assert used <= defined and defined == used


def firing(alert: str, severity: str, model: str = "", instance: str = "") -> dict[str, str]:
    labels = {"alertname": alert, "severity": severity, "cluster": "c", "namespace": "n"}
    return labels | ({"model_name": model} if model else {}) | ({"instance": instance} if instance else {})


FIRING = {
    "storm": firing("LLMPreemptionStorm", "page", "m", "r0"),
    "queue": firing("LLMQueueGrowth", "ticket", "m", "r0"),
    "queue elsewhere": firing("LLMQueueGrowth", "ticket", "m", "r1"),
    "ttft": firing("LLMTimeToFirstTokenBudgetBurn", "page", "m", "r0"),
    "ttft of another model": firing("LLMTimeToFirstTokenBudgetBurn", "page", "o", "r7"),
    "slow ttft of another model": firing("LLMTimeToFirstTokenBudgetBurn", "ticket", "o", "r7"),
    "ttft of another replica": firing("LLMTimeToFirstTokenBudgetBurn", "page", "m", "r1"),
    "down": firing("LLMEngineDown", "page", "", "r9"),
    "queue of the down": firing("LLMQueueGrowth", "ticket", "m", "r9"),
    "imbalance": firing("LLMReplicaImbalance", "ticket", "b"),
    "storm of the uneven": firing("LLMPreemptionStorm", "page", "b", "r5"),
    "pressure of the uneven": firing("LLMKVCachePressure", "ticket", "b", "r6"),
    "watchdog": firing("LLMWatchdog", "info"),
}
SILENT = {"queue", "ttft", "slow ttft of another model", "queue of the down", "pressure of the uneven"}


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("manager")
    with alertmanager(folder, hastened_routes(config(), "http://127.0.0.1:9")) as url:
        yield url


def test_a_real_alertmanager_silences_the_followers_and_nothing_else(manager: str) -> None:
    for given in FIRING.values():
        amtool("--alertmanager.url", manager, "alert", "add", *(f"{k}={v}" for k, v in given.items()))

    def settled() -> dict[str, bool] | None:
        found = get_json(f"{manager}/api/v2/alerts")
        names = {name: next((a for a in found if a["labels"] == given), None) for name, given in FIRING.items()}
        if any(a is None or a["status"]["state"] == "unprocessed" for a in names.values()):
            return None
        return {name: bool(a["status"]["inhibitedBy"]) for name, a in names.items() if a}

    states = poll("alerts processed", settled, 20)
    assert {name for name, silent in states.items() if silent} == SILENT
