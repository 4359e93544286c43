"""Timed scrapes of many endpoints at once: everyone is asked in parallel, at the start, every 5 s and at the end."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from diagnose.errors import UsageError
from diagnose.sources.fetch import Answer, HttpOptions, fetch
from diagnose.sources.http_errors import FetchError, refused_status

WORKERS = 128
SPACING = 5.0  # seconds between scrapes of a window of at least 10 s: gauges need several samples
MOST = 24  # scrapes of one target
LARGE = 8 << 20  # bytes; a larger body is scraped at the start and the end only
_GRACE = 1.0
_TICK = 0.25
VLLM_INFO = ("/version", "/server_info?config_format=json", "/v1/models")
SGLANG_INFO = ("/server_info", "/get_server_info", "/get_model_info", "/v1/models")
ANY_INFO = ("/version", "/server_info?config_format=json", "/get_server_info", "/v1/models")

Item = TypeVar("Item")
Result = TypeVar("Result")
Round = tuple[dict["Target", FetchError], list[str], dict["Target", str]]  # failures, notes, engine marks
OnScrape = Callable[["Target", Answer], "str | None"]
OnInfo = Callable[["Target", str, object], None]


@dataclass(frozen=True)
class Target:
    """An endpoint: ``name`` is host:port (and path, unless that is /metrics), ``url`` its metrics."""

    name: str
    url: str

    @property
    def url_shown(self) -> str:
        """The URL without user and password."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def at(self, path: str) -> str:
        """The URL of another path of the same server."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        base = parts.path.removesuffix("/metrics")
        return parts._replace(path=base, query="", fragment="").geturl() + path


def target_of(url: str) -> Target:
    """The endpoint of what a user writes: http is assumed, /metrics appended unless the path ends in it."""
    from urllib.parse import urlsplit

    text = url.strip() if "://" in url else f"http://{url.strip()}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is no URL ({error})", hint="Write http://host:port") from None
    if parts.scheme not in ("http", "https") or not host or any(c <= " " for c in text):
        raise UsageError(f"{url!r} is no http or https URL", hint="Write http://host:port")
    path = parts.path.rstrip("/")
    path = path if path.endswith("/metrics") else f"{path}/metrics"
    shown = f"[{host}]" if ":" in host else host
    shown += f":{port}" if port else (":443" if parts.scheme == "https" else ":80")
    name = shown + ("" if path == "/metrics" else path.removesuffix("/metrics"))
    return Target(name, parts._replace(path=path, fragment="").geturl())


class Jobs(Generic[Item, Result]):
    """A function over many items in daemon threads: whoever hangs (a name lookup) does not hold up the others."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function = function
        self._todo: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Item, Result | FetchError]] = queue.SimpleQueue()
        self._count = len(items)
        for item in items:
            self._todo.put(item)
        for _ in range(min(WORKERS, len(items))):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                item = self._todo.get_nowait()
            except queue.Empty:
                return
            try:
                self._done.put((item, self._function(item)))
            except FetchError as error:
                self._done.put((item, error))
            except Exception as error:  # noqa: BLE001 - one broken answer must not end the round of all others
                self._done.put((item, FetchError(f"cannot be read ({type(error).__name__})", "Report it")))

    def results(self, limit: float) -> Iterable[tuple[Item, Result | FetchError]]:
        """Results as they come, for at most ``limit`` seconds; items that hang are left out."""
        end = time.monotonic() + limit
        for _ in range(self._count):
            try:
                yield self._done.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return


@dataclass
class Poll:
    """One observation of many targets: who failed at the start, and what went wrong later."""

    targets: tuple[Target, ...]
    options: HttpOptions
    on_scrape: OnScrape
    on_info: OnInfo
    progress: Callable[[float], None] | None = None

    def run(self, window: float) -> tuple[dict[Target, FetchError], list[str]]:
        """Failures of targets that gave nothing, and notes on scrapes that failed or were cut later on."""
        began = time.monotonic()
        failed, notes, engines = self._round(self.targets, [])
        alive = [t for t in self.targets if t not in failed]
        askable = alive + [t for t, error in failed.items() if error.status == 404]
        info = Jobs(lambda t: self._info(t, engines.get(t, "")), askable)
        last = moments(window)[-1] if alive else 0.0
        for moment in moments(window)[1:] if alive else ():
            self._wait(began, moment)
            asked = [t for t in alive if moment == last or not engines.get(t, "").endswith("+")]
            later, more, _ = self._round(asked, notes)
            notes += more + [f"{t.name}: the scrape at {moment:g} s failed: {e.what}" for t, e in later.items()]
        grace = max(_GRACE, self.options.total_timeout if window <= 0 or not alive else _GRACE)
        for target, answers in info.results(grace):
            for path, answer in answers if isinstance(answers, list) else []:
                self.on_info(target, path, answer)
        return failed, notes

    def _round(
        self, targets: Sequence[Target], so_far: list[str]
    ) -> tuple[dict[Target, FetchError], list[str], dict[Target, str]]:
        """Failures, notes and engine marks of one scrape of everyone; bodies are read as they come."""
        late = FetchError(f"no answer within {self.options.total_timeout:g} s", "Check name lookup, host and port")
        failed, notes, engines = dict.fromkeys(targets, late), list[str](), dict[Target, str]()
        jobs = Jobs(lambda t: _scrape(t, self.options), targets)
        waves = -(-len(targets) // WORKERS)
        for target, answer in jobs.results(waves * self.options.total_timeout + _GRACE):
            del failed[target]
            try:
                if isinstance(answer, FetchError):
                    raise answer
                mark = self.on_scrape(target, answer) or ""
                engines[target] = mark + ("+" if len(answer.body) > LARGE else "")
                note = f"{target.name}: the answer is cut: {answer.cut}"
                if answer.cut and note not in so_far:
                    notes.append(note)
            except FetchError as error:
                failed[target] = error
        return failed, notes, engines

    def _info(self, target: Target, engine: str) -> list[tuple[str, object]]:
        import json
        from dataclasses import replace

        paths = {"vllm": VLLM_INFO, "sglang": SGLANG_INFO}.get(engine.rstrip("+"), ANY_INFO)
        options = replace(self.options, max_bytes=4 << 20)
        found: list[tuple[str, object]] = []
        for path in paths:
            if path == "/get_server_info" and any(p.startswith("/server_info") for p, _ in found):
                continue
            try:
                answer = fetch(target.at(path), options)
                if answer.status == 200 and answer.body and not answer.cut:
                    found.append((path, json.loads(answer.body)))
            except (FetchError, ValueError, RecursionError):
                continue
        return found

    def _wait(self, began: float, moment: float) -> None:
        while (left := began + moment - time.monotonic()) > 0:
            if self.progress:
                self.progress(moment - left)
            time.sleep(min(left, _TICK) if self.progress else left)


def moments(window: float) -> tuple[float, ...]:
    """Seconds at which a window is scraped: start, end, and every 5 s (or a 24th) between when it is at least 10 s."""
    if window <= 0:
        return (0.0,)
    spacing = max(SPACING, window / MOST)
    inner = [spacing * n for n in range(1, MOST) if window - spacing * n >= spacing / 2]
    return (0.0, *(inner if window >= 2 * SPACING else ()), window)


def _scrape(target: Target, options: HttpOptions) -> Answer:
    answer = fetch(target.url, options)
    if error := refused_status(answer.status):
        raise error
    return answer
