"""Small HTTP servers for tests: each answers on 127.0.0.1, on a free port, and ends with its ``with`` block."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Route = Callable[[BaseHTTPRequestHandler], None]


def reply(body: bytes | str, status: int = 200, **headers: str) -> Route:
    """A route that always answers the same."""
    data = body.encode() if isinstance(body, str) else body

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return send


@contextlib.contextmanager
def http_server(routes: dict[str, Route], log: list[tuple[str, dict[str, str]]] | None = None) -> Iterator[str]:
    """The base URL of a server with these routes; other paths answer 404. ``log`` collects paths and headers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if log is not None:
                log.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            with contextlib.suppress(ConnectionError):
                routes.get(self.path.partition("?")[0], reply("not found", 404))(self)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 512
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@contextlib.contextmanager
def raw_server(start: bytes, drip: bytes = b"", every: float = 0.05, lasting: float = 20.0) -> Iterator[str]:
    """The base URL of a server that sends ``start``, then ``drip`` again and again, without ever ending."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    ended, threads = threading.Event(), list[threading.Thread]()

    def talk(peer: socket.socket) -> None:
        end = time.monotonic() + lasting
        with peer, contextlib.suppress(OSError):
            peer.settimeout(1)
            peer.recv(65536)
            peer.sendall(start)
            while drip and not ended.wait(every) and time.monotonic() < end:
                peer.sendall(drip)
            while not drip and not ended.wait(every) and time.monotonic() < end:
                pass

    def accept() -> None:
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                threads.append(threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        for thread in (accepting, *threads):
            thread.join(5)
        listener.close()


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
