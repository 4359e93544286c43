"""Recorded engines over HTTP -> Prometheus -> Alertmanager -> webhook, with real processes and the shipped rules.

One target is healthy, then in a preemption storm, then healthy again. Only times are changed, all by about the same
factor, so that five minutes pass in ten seconds: see ``hastened`` (rules) and ``hastened_routes`` (Alertmanager).
Expressions, thresholds, labels, texts, routes and inhibitions stay those of the files in ``rules/``.
"""

from __future__ import annotations

import copy
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from processes import alertmanager, get_json, poll, prometheus, query
from servers import http_server, reply

from diagnose.replay import ReplayServer, serve

ROOT = Path(__file__).parent.parent
RULES = ROOT / "rules"
TICK = "500ms"  # scrape and rule interval, 60 s in the files
WATCHDOG = "LLMWatchdog"
FOLLOWERS = {"LLMQueueGrowth", "LLMKVCachePressure", "LLMTimeToFirstTokenBudgetBurn", "LLMPrefillStallsDecode"}
_RANGE = re.compile(r"\[(\d+)([smhd])(:[^\]]*)?\]")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def rule_groups() -> list[dict[str, Any]]:
    """The shipped rule groups."""
    files = sorted(RULES.glob("*.rules.yaml"))
    return [g for f in files for g in yaml.safe_load(f.read_text(encoding="utf-8"))["groups"]]


def hastened(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Groups whose time runs faster.

    Every group is evaluated each half second. Ranges of up to two minutes become 3 s, of up to half an hour 10 s, and
    longer ones 15 s; offsets become 5 s. A hold of five minutes becomes 2 s, and others in proportion, 1 to 5 s.
    """
    out = copy.deepcopy(groups)
    for group in out:
        group["interval"] = TICK
        for rule in group["rules"]:
            rule["expr"] = re.sub(r"offset \d+[smhd]", "offset 5s", _RANGE.sub(_short, str(rule["expr"])))
            if rule.get("for"):
                rule["for"] = f"{min(5000, max(1000, round(_seconds(rule['for']) / 150 * 1000)))}ms"
            if rule.get("keep_firing_for"):
                rule["keep_firing_for"] = "1s"
    return out


def _short(match: re.Match[str]) -> str:
    seconds = int(match[1]) * _SECONDS[match[2]]
    span = "3s" if seconds <= 120 else "10s" if seconds <= 1800 else "15s"
    return f"[{span}{':1s' if match[3] else ''}]"


def _seconds(duration: str) -> float:
    return sum(int(n) * _SECONDS[unit] for n, unit in re.findall(r"(\d+)([smhd])", duration))


def routes() -> dict[str, Any]:
    """The example configuration of Alertmanager."""
    found: dict[str, Any] = yaml.safe_load((RULES / "alertmanager" / "alertmanager.yml").read_text(encoding="utf-8"))
    return found


def hastened_routes(config: dict[str, Any], webhook: str) -> dict[str, Any]:
    """The configuration with waits of 4 s and intervals of 1 s, and every receiver at the webhook.

    A receiver's chat messages keep their templates; what else it does becomes a webhook. The path is its name.
    """
    out = copy.deepcopy(config)
    out["templates"] = [str(RULES / "alertmanager" / pattern) for pattern in out["templates"]]
    out["global"] = {"resolve_timeout": "5s"}
    for receiver in out["receivers"]:
        chats = [{**c, "api_url": f"{webhook}/{receiver['name']}"} for c in receiver.pop("slack_configs", [])]
        for chat in chats:
            chat.pop("api_url_file", None)
        name = receiver["name"]
        receiver.clear()
        receiver |= {"name": name, "webhook_configs": [{"url": f"{webhook}/{name}", "send_resolved": True}]}
        receiver |= {"slack_configs": chats} if chats else {}
    pending = [out["route"]]
    while pending:
        route = pending.pop()
        route |= {"group_wait": "4s", "group_interval": "1s", "repeat_interval": "1h"}
        pending += route.get("routes", [])
    return out


class Engine:
    """A target that replays one recording at a time; Prometheus is sent on to it."""

    def __init__(self, scenario: str) -> None:
        self._replay: ReplayServer = serve(scenario)

    def play(self, scenario: str) -> None:
        """Another recording from now on: to Prometheus, the engine has restarted with other load."""
        old, self._replay = self._replay, serve(scenario)
        old.close()

    def close(self) -> None:
        self._replay.close()

    def redirect(self, handler: BaseHTTPRequestHandler) -> None:
        """The route that sends on to the recording."""
        reply(b"", 302, Location=f"{self._replay.url}/metrics")(handler)


class Inbox:
    """A webhook on 127.0.0.1 and what it received, in order: (receiver, alert), and chat messages by receiver."""

    def __init__(self) -> None:
        self.alerts: list[tuple[str, dict[str, Any]]] = []
        self.chats: list[tuple[str, dict[str, Any]]] = []
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                inbox.alerts += [(self.path[1:], alert) for alert in body.get("alerts", [])]
                inbox.chats += [(self.path[1:], message) for message in body.get("attachments", [])]
                reply(b"ok")(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def names(self, status: str = "firing") -> set[str]:
        """Names of alerts that came with a status."""
        return {a["labels"]["alertname"] for _, a in self.alerts if a["status"] == status}

    def first(self, name: str, status: str = "firing") -> tuple[str, dict[str, Any]] | None:
        """Receiver and alert of the first notification of an alert, None when there is none yet."""
        found = ((r, a) for r, a in self.alerts if a["labels"]["alertname"] == name and a["status"] == status)
        return next(found, None)


class Stack:
    """The running processes."""

    def __init__(self, engine: Engine, prometheus_url: str, alertmanager_url: str, inbox: Inbox) -> None:
        self.engine, self.prometheus, self.alertmanager, self.inbox = engine, prometheus_url, alertmanager_url, inbox

    def firing(self) -> set[str]:
        """Names of alerts that fire in Prometheus."""
        found = query(self.prometheus, 'count by (alertname) (ALERTS{alertstate="firing"})')
        return {item["metric"]["alertname"] for item in found}

    def inhibited(self) -> set[str]:
        """Names of alerts that Alertmanager holds back because another one explains them."""
        found = get_json(f"{self.alertmanager}/api/v2/alerts")
        return {a["labels"]["alertname"] for a in found if a["status"]["inhibitedBy"]}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("alerting")
    inbox, engine = Inbox(), Engine("healthy")
    (folder / "all.rules.yaml").write_text(yaml.safe_dump({"groups": hastened(rule_groups())}), encoding="utf-8")
    with (
        http_server({"/metrics": engine.redirect}) as url,
        alertmanager(folder, hastened_routes(routes(), inbox.url)) as manager,
        prometheus(folder, _scraping(url, manager), None, "--rules.alert.resend-delay=1s") as server,
    ):
        try:
            yield Stack(engine, server, manager, inbox)
        finally:
            engine.close()
            inbox.close()


def _scraping(target: str, manager: str) -> dict[str, Any]:
    job = {"job_name": "vllm", "static_configs": [{"targets": [target.removeprefix("http://")]}]}
    addresses = [{"targets": [manager.removeprefix("http://")]}]
    return {
        "global": {"scrape_interval": TICK, "scrape_timeout": TICK, "evaluation_interval": TICK},
        "rule_files": ["all.rules.yaml"],
        "scrape_configs": [job],
        "alerting": {"alertmanagers": [{"static_configs": addresses}]},
    }


@pytest.fixture(scope="module")
def story(stack: Stack) -> dict[str, Any]:
    """Healthy, storm, healthy; what was seen at each turn."""
    out: dict[str, Any] = {}
    time.sleep(14)  # the windows are full, and all that would fire on a healthy engine had its time
    out["healthy"] = (stack.inbox.names(), stack.firing())
    stack.engine.play("storm")
    storm = poll("page of the storm", lambda: stack.inbox.first("LLMPreemptionStorm"), 25)
    out["storm"] = storm
    time.sleep(5)  # a follower that was not held back would have come by now
    out["chats"] = list(stack.inbox.chats)
    out["firing"], out["inhibited"], out["sent"] = stack.firing(), stack.inhibited(), stack.inbox.names()
    stack.engine.play("healthy")
    out["resolved"] = poll("end of the storm", lambda: stack.inbox.first("LLMPreemptionStorm", "resolved"), 25)
    return out


def test_healthy_engine_sends_nothing_but_the_watchdog(story: dict[str, Any]) -> None:
    sent, firing = story["healthy"]
    assert sent == {WATCHDOG}
    assert firing == {WATCHDOG}


def test_storm_pages_with_what_to_do(story: dict[str, Any]) -> None:
    receiver, alert = story["storm"]
    labels, notes = alert["labels"], alert["annotations"]
    assert receiver == "pager"
    assert labels["severity"] == "page"
    assert (labels["symptom"], labels["model_name"], labels["serving_engine"]) == ("preemption_storm", "tiny", "vllm")
    assert "tiny" in notes["summary"]
    assert re.search(r"preemptions \d", notes["description"])
    assert "--max-num-seqs" in notes["next_step"]
    assert notes["guide_entry"] == "2.1"
    assert notes["runbook_url"].endswith("/LLMPreemptionStorm.md")
    assert "tiny" in notes["dashboard_url"]


def test_chat_message_shows_evidence_and_next_step(story: dict[str, Any]) -> None:
    receiver, message = story["chats"][0]
    notes = story["storm"][1]["annotations"]
    assert receiver == "pager"
    assert "torm" in message["title"]
    assert notes["next_step"] in message["text"]
    assert re.search(r"preemptions \d", message["text"])
    assert notes["runbook_url"] in message["text"]


def test_followers_are_held_back(story: dict[str, Any]) -> None:
    followers = story["firing"] & FOLLOWERS
    assert "LLMQueueGrowth" in followers
    assert followers <= story["inhibited"]
    assert not followers & story["sent"]


def test_storm_resolves(story: dict[str, Any]) -> None:
    receiver, alert = story["resolved"]
    assert (receiver, alert["labels"]["severity"]) == ("pager", "page")
