"""Replays a recorded engine over real HTTP on 127.0.0.1: for the demo, and for trying things without a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diagnose.errors import UsageError
from diagnose.sources.recording import Recording, Recordings, load

MODEL_LABEL = 'model_name="'


def scenarios() -> dict[str, str]:
    """Name and title of each recorded scenario that comes with the package."""
    found = {p.parent.name: p for p in _demo_folder().glob("*/README.md")}
    titles = {n: p.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for n, p in found.items()}
    return dict(sorted(titles.items(), key=lambda item: (item[0] != "storm", item[0])))


def scenario_path(name: str) -> Path:
    """The bundle folder of a scenario. Raises UsageError for an unknown name."""
    known = scenarios()
    if name not in known:
        raise UsageError(f"no scenario {name!r}", hint=f"Known: {', '.join(known)}")
    return _demo_folder() / name


def _demo_folder() -> Path:
    from importlib import resources

    return Path(str(resources.files("diagnose"))) / "data" / "demo"


class ReplayServer:
    """A running replay: ``url`` of the first target, ``urls`` by target; ``close`` it, or use it in a ``with``.

    Time starts with the first scrape. At a speed other than 1 samples carry recorded timestamps, so that rates stay
    those of the recording.
    """

    def __init__(self, recordings: Recordings, port: int, speed: float, clock: Callable[[], float]) -> None:
        import threading

        self._recordings, self._speed, self._clock = recordings, speed, clock
        self._began: float | None = None
        self._http = _http_server(port, self._answer)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.urls = {r.target: f"{self.url}/{r.target}" for r in recordings.targets}
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and free the port."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def __enter__(self) -> ReplayServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, path: str) -> tuple[bytes, str] | None:
        """Body and content type for a path, None for 404. Paths of further targets start with /<target>."""
        recording, path = self._target_of(path)
        if path in ("/metrics", "/metrics/"):
            return self._metrics(recording).encode(), "text/plain; version=0.0.4; charset=utf-8"
        if path == "/health":
            return b"", "text/plain"
        infos = self._recordings.infos
        body = infos.get((recording.target, path)) or infos.get(("", path))
        if body is None and path == "/v1/models":
            body = _models(recording)
        return (body, "application/json") if body is not None else None

    def _target_of(self, path: str) -> tuple[Recording, str]:
        for recording in self._recordings.targets:
            if path.startswith(f"/{recording.target}/"):
                return recording, path.removeprefix(f"/{recording.target}")
        return self._recordings.targets[0], path

    def _metrics(self, recording: Recording) -> str:
        now = self._clock()
        self._began = now if self._began is None else self._began
        elapsed = (now - self._began) * self._speed
        if self._speed != 1.0:
            return recording.at(elapsed, stamp=True)
        return recording.at(elapsed, clock_shift=time.time() - (recording.begin + elapsed))


def serve(
    bundle: str | Path, port: int = 0, speed: float = 1.0, clock: Callable[[], float] = time.monotonic
) -> ReplayServer:
    """A server on 127.0.0.1 that replays a scenario or bundle from amid its load on; ``port`` 0: any free one.

    ``speed`` is recorded seconds per real second. Raises UsageError and SourceError.
    """
    if not 0 < speed <= 1000:
        raise UsageError(f"speed {speed:g} is outside 0 to 1000")
    recordings = load(scenario_path(str(bundle)) if str(bundle) in scenarios() else bundle)
    try:
        return ReplayServer(recordings, port, speed, clock)
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {port} cannot be used ({getattr(error, 'strerror', None) or error})") from None


def _models(recording: Recording) -> bytes:
    """What /v1/models answers when it was not recorded: the models that the series name."""
    import json

    heads = [line.head for line in recording.frames[-1].lines if not isinstance(line, str)]
    names = {h.partition(MODEL_LABEL)[2].partition('"')[0] for h in heads if MODEL_LABEL in h}
    return json.dumps({"object": "list", "data": [{"id": n, "object": "model"} for n in sorted(names)]}).encode()


def _http_server(port: int, answer: Callable[[str], tuple[bytes, str] | None]) -> Any:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_GET(self) -> None:
            found = answer(self.path.partition("?")[0])
            body, kind = found or (b'{"detail":"Not Found"}', "application/json")
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet: the demo prints a report, not an access log."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    return Server(("127.0.0.1", port), Handler)
