"""Every alert has a page; every page has its sections, a fresh header, queries that parse and commands that exist."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from processes import promtool

from diagnose.cli import COMMANDS
from diagnose.engines.catalog import SIGNALS
from diagnose.generate import records, runbooks
from diagnose.generate.alertmanager import EFFECT_ALERTS
from diagnose.guide import all_entries
from diagnose.lint import resolve as exported
from diagnose.lint_promql import Selector, parse, walk
from diagnose.settings import declared, resolve
from diagnose.symptoms import all_symptoms

ROOT = Path(__file__).resolve().parents[1]
PAGES = {p.stem: p.read_text(encoding="utf-8") for p in sorted((ROOT / "runbooks").glob("*.md"))}
# what Prometheus and the exporters beside the engines give
PLATFORM = re.compile(r"up|ALERTS|scrape_\w+|prometheus_\w+|DCGM_\w+|kube_\w+|node_\w+")
LONGEST = 130  # lines: a page is read at night


def rule_files() -> list[dict[str, Any]]:
    files = sorted((ROOT / "rules").glob("*.rules.yaml"))
    groups = [g for f in files for g in yaml.safe_load(f.read_text(encoding="utf-8"))["groups"]]
    return [r for g in groups or records.groups(resolve()) for r in g["rules"]]


def shipped_alerts() -> set[str]:
    return {r["alert"] for r in rule_files() if "alert" in r} or set(runbooks.names())


def blocks(text: str, language: str) -> Iterator[str]:
    yield from re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def queries(text: str) -> list[str]:
    lines = [line.strip() for block in blocks(text, "promql") for line in block.splitlines()]
    inline = re.findall(r"`((?:[a-z]+ by \([^`]*|)(?:engine|model):[^`]+)`", prose(text))
    return [*(line for line in lines if line and not line.startswith("#")), *inline]


def prose(text: str) -> str:
    """A page without its generated blocks and code blocks."""
    text = re.sub(r"<!-- generated.*?<!-- end generated[^>]*-->", "", text, flags=re.DOTALL)
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[list[str]]:
    shell = [line for block in blocks(text, "sh") for line in block.splitlines()]
    found = [line for line in shell if line.startswith("diagnose ")]
    found += re.findall(r"`(diagnose [^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    return [shlex.split(line) for line in found]


def test_every_alert_has_a_page_and_no_page_is_left_over() -> None:
    assert set(PAGES) == shipped_alerts()
    assert set(runbooks.names()) <= set(PAGES)
    assert {*EFFECT_ALERTS.values()} <= set(PAGES)


def test_headers_and_moves_are_not_stale() -> None:
    assert runbooks.render_all(PAGES) == {name: PAGES[name] for name in runbooks.names()}, "run: diagnose generate"


def test_rendering_keeps_the_prose_and_makes_a_skeleton_for_a_new_alert() -> None:
    name = "LLMPreemptionStorm"
    changed = PAGES[name].replace("## Impact\n", "## Impact\n\nMy own words.\n").replace("| page,", "| never,")
    again = runbooks.render_all({name: changed})[name]
    assert "My own words." in again and "| never," not in again
    assert runbooks.render_all({}) == {}
    skeleton = runbooks.render_all({"LLMWatchdog": PAGES["LLMWatchdog"]})[name]
    assert all(f"## {title}\n" in skeleton for title in runbooks.SECTIONS) and f"| Alert | {name} |" in skeleton
    with pytest.raises(KeyError):
        runbooks.header("LLMNothing")


@pytest.mark.parametrize("name", PAGES)
def test_sections(name: str) -> None:
    text = PAGES[name]
    assert text.startswith(f"# {name}\n\n{runbooks.BEGIN}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == list(runbooks.SECTIONS)
    parts = re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]
    assert all(len(part.split()) >= 8 for part in parts), "an empty section"
    assert "TODO" not in text and "\u2014" not in text
    assert len(text.splitlines()) <= LONGEST
    assert "- Undo: " in parts[-1], "say how to undo, or that there is nothing to undo"


@pytest.mark.parametrize("name", PAGES)
def test_the_moves_of_the_guide_are_there_in_order_with_flags_of_both_engines(name: str) -> None:
    symptom = next((s for s in all_symptoms().values() if s.alert == name), None)
    mitigation = PAGES[name].partition("## Mitigation")[2].partition("\n## ")[0]
    for ref in symptom.moves if symptom else ():
        assert ref in mitigation
    if symptom and symptom.moves:
        assert [m for m in re.findall(r"\*\*(\S+): ", mitigation) if "/" in m] == list(symptom.moves)
        assert "vLLM" in mitigation and "SGLang" in mitigation


def test_every_query_parses(tmp_path: Path) -> None:
    rules = [
        {"record": f"check:q{n}", "expr": q}
        for n, q in enumerate(sorted({q for t in PAGES.values() for q in queries(t)}))
    ]
    assert len(rules) > 50
    (tmp_path / "q.yaml").write_text(yaml.safe_dump({"groups": [{"name": "q", "rules": rules}]}), encoding="utf-8")
    status, output = promtool("check", "rules", str(tmp_path / "q.yaml"))
    assert status == 0, output


@pytest.mark.parametrize("name", PAGES)
def test_queries_use_names_that_exist(name: str) -> None:
    recorded = {r["record"] for r in rule_files() if "record" in r}
    for query in queries(PAGES[name]):
        for selector, _ in walk(parse(query)):
            assert isinstance(selector, Selector)
            known = selector.name in recorded or PLATFORM.fullmatch(selector.name) or exported(selector.name)
            assert known, f"{selector.name} in {query}"


@pytest.mark.parametrize("name", PAGES)
def test_commands_exist(name: str) -> None:
    found = commands(PAGES[name])
    assert found or name == "LLMWatchdog", "a page shows at least one command"
    for _, command, *arguments in found:
        assert command in COMMANDS or command in ("lint", "generate"), command
        options = importlib.import_module(f"diagnose.cli.{command}").command.params
        known = {o for parameter in options for o in parameter.opts}
        assert {a.partition("=")[0] for a in arguments if a.startswith("-")} <= known, arguments
        if command == "explain":
            refs = {f"{e.id}/{m.id}" for e in all_entries().values() for m in e.moves} | set(all_entries())
            assert arguments[0] in refs | set(all_symptoms()) | set(SIGNALS), arguments


@pytest.mark.parametrize("name", PAGES)
def test_other_alerts_and_thresholds_that_a_page_names_exist(name: str) -> None:
    named = set(re.findall(r"\bLLM[A-Z]\w+", PAGES[name]))
    assert named <= set(PAGES), named - set(PAGES)
    keys = set(re.findall(r"Threshold `([\w.]+)`", PAGES[name]))
    assert keys <= set(declared())


def test_conditions_read_as_words() -> None:
    bounds = {"a": 0.5}
    from diagnose.symptoms.grammar import parse as condition

    assert runbooks.words(condition("kv_usage_max >= a and requests_waiting > 0"), bounds) == (
        "KV cache usage, peak >= 50 % AND waiting requests, mean > 0 requests"
    )
    assert runbooks.words(condition("log_aborted > 0"), bounds) is None
    assert runbooks.words(condition("log_aborted > 0 or kv_usage_max < a"), bounds) == "KV cache usage, peak < 50 %"
    assert runbooks.words(condition("kv_usage_max < a unless log_aborted > 0"), bounds) == "KV cache usage, peak < 50 %"
