"""One HTTP GET with a total deadline that also ends a dripping answer; size cap, gzip, TLS, proxy from the environment.

Only the standard library, loaded when the first request is made. Every failure is a FetchError that says the phase.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from diagnose.sources.http_errors import FetchError, explain, timed_out

if TYPE_CHECKING:
    import socket
    from http.client import HTTPResponse
    from urllib.parse import SplitResult

MAX_REDIRECTS = 3
_PIECE = 1 << 16


@dataclass(frozen=True)
class HttpOptions:
    """How to ask: authentication, TLS, limits (seconds, bytes). Secrets do not show in the representation."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    bearer_token: str | None = field(default=None, repr=False)
    basic_auth: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    insecure: bool = False
    connect_timeout: float = 5.0
    total_timeout: float = 10.0
    max_bytes: int = 64 * 1024**2


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: ``time`` is unix seconds at which its head came; ``cut`` says why the body is not whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    time: float
    cut: str = ""


@dataclass
class _Trip:
    """One request under way: what is asked, until when, and how far it got."""

    options: HttpOptions
    deadline: float
    phase: str = "connect"
    received: int = 0

    def left(self, at_most: float | None = None) -> float:
        """Seconds until the deadline. Raises TimeoutError at 0."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left if at_most is None else min(left, at_most)


def fetch(url: str, options: HttpOptions) -> Answer:
    """The answer to a GET of an absolute URL, redirects on the same host followed. Raises FetchError."""
    from urllib.parse import urljoin, urlsplit

    trip = _Trip(options, time.monotonic() + options.total_timeout)
    for _ in range(MAX_REDIRECTS + 1):
        answer = _once(url, trip)
        location = answer.headers.get("location")
        if answer.status not in (301, 302, 303, 307, 308) or not location:
            return answer
        old, new = urlsplit(url), urlsplit(urljoin(url, location))
        if new.hostname != old.hostname or (old.scheme, new.scheme) == ("https", "http"):
            what = f"redirects to {new.scheme}://{new.netloc}, which is not followed"
            raise FetchError(what, "Point to the engine itself, not to a login page or gateway")
        url = new.geturl()
    raise FetchError(f"more than {MAX_REDIRECTS} redirects", "Point to the engine itself")


def _once(url: str, trip: _Trip) -> Answer:
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    sock: socket.socket | None = None
    try:
        sock, absolute = _connect(parts, trip)
        trip.phase = "answer"
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port or _port(parts))
        connection.sock = _Wire(sock, trip)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}" if absolute else path
        connection.request("GET", shown, headers=_headers(parts, trip.options))
        response = connection.getresponse()
        now = time.time()
        trip.phase = "body"
        body, cut = _body(response, trip)
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, body, now, cut)
    except FetchError:
        raise
    except TimeoutError:
        raise timed_out(trip.phase, trip.options, trip.received) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise explain(error, parts, trip.phase) from None
    finally:
        if sock is not None:
            sock.close()


def _port(parts: SplitResult) -> int:
    return 443 if parts.scheme == "https" else 80


def _headers(parts: SplitResult, options: HttpOptions) -> dict[str, str]:
    from base64 import b64encode
    from urllib.parse import unquote

    headers = {
        "Accept": "text/plain;version=0.0.4, application/openmetrics-text;q=0.7, application/json;q=0.6, */*;q=0.1",
        "Accept-Encoding": "gzip",
        "Connection": "close",
        "User-Agent": "llm-diagnose",
    }
    basic = options.basic_auth
    if basic is None and parts.username is not None:
        basic = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    if options.bearer_token:
        headers["Authorization"] = f"Bearer {options.bearer_token}"
    elif basic is not None:
        headers["Authorization"] = "Basic " + b64encode(basic.encode()).decode("ascii")
    return headers | dict(options.headers)


def _connect(parts: SplitResult, trip: _Trip) -> tuple[socket.socket, bool]:
    """A connected socket (TLS done), and whether the request line must be absolute (plain http through a proxy)."""
    host, port = parts.hostname or "", parts.port or _port(parts)
    proxy = _proxy(parts.scheme, host)
    limit = time.monotonic() + trip.left(trip.options.connect_timeout)
    sock = _open(*(proxy or (host, port)), limit)
    try:
        if parts.scheme != "https":
            return sock, proxy is not None
        if proxy:
            _tunnel(sock, host, port, trip)
        trip.phase = "tls"
        sock.settimeout(trip.left())
        tls = trip.options
        context = _tls_context(tls.ca_file, tls.client_cert, tls.client_key, tls.insecure)
        return context.wrap_socket(sock, server_hostname=host), False
    except BaseException:
        sock.close()
        raise


def _open(host: str, port: int, limit: float) -> socket.socket:
    """A socket to the first address that takes the connection before the limit."""
    import socket

    last: OSError = OSError("no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        left = limit - time.monotonic()
        if left <= 0:
            raise TimeoutError
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(left)
            sock.connect(address)
        except OSError as error:
            sock.close()
            last = error
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    raise last


@lru_cache(maxsize=8)
def _tls_context(ca_file: str | None, cert: str | None, key: str | None, insecure: bool) -> Any:
    """The TLS settings; made once, because reading the system's certificates takes longer than a scrape."""
    import ssl

    try:
        context = ssl.create_default_context(cafile=ca_file)
        if cert:
            context.load_cert_chain(cert, key)
    except OSError as error:
        hint = "Check --ca-file and the client certificate"
        raise FetchError(f"TLS files cannot be loaded ({error})", hint) from None
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _proxy(scheme: str, host: str) -> tuple[str, int] | None:
    """Host and port of the proxy that the environment names, None for loopback and for hosts in no_proxy."""
    import os
    from urllib.parse import urlsplit

    url = next((os.environ[n] for n in (f"{scheme}_proxy", f"{scheme}_proxy".upper()) if os.environ.get(n)), "")
    if not url or host in ("localhost", "::1") or host.startswith("127."):
        return None
    skip = [p.strip().lstrip("*.") for p in (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")]
    if any(p and (host == p or host.endswith(f".{p}")) for p in skip) or os.environ.get("no_proxy") == "*":
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    return (parts.hostname, parts.port or 3128) if parts.hostname else None


def _tunnel(sock: socket.socket, host: str, port: int, trip: _Trip) -> None:
    sock.settimeout(trip.left())
    sock.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode("ascii"))
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _PIECE:
        sock.settimeout(trip.left())
        piece = sock.recv(1)
        if not piece:
            break
        head += piece
    if b" 200" not in head.split(b"\r\n", 1)[0]:
        raise FetchError("the proxy refuses the connection", "Set no_proxy for the engine's host")


class _Wire:
    """What http.client needs of a socket, with every read under the deadline. The socket is closed by its owner."""

    def __init__(self, sock: socket.socket, trip: _Trip) -> None:
        self._sock, self._trip = sock, trip

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._trip.left())
        self._sock.sendall(data)

    def makefile(self, mode: str, *_: object) -> Any:
        import io

        sock, trip = self._sock, self._trip

        class Raw(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:
                sock.settimeout(trip.left())
                return sock.recv_into(buffer)

        return io.BufferedReader(Raw(), _PIECE)

    def close(self) -> None:
        """Nothing: the response is still read through ``makefile``."""


def _body(response: HTTPResponse, trip: _Trip) -> tuple[bytes, str]:
    """The decoded body, at most ``max_bytes`` of it, and why it is not whole ("" when it is)."""
    import http.client

    unpack = _unpacker(response.headers.get("Content-Encoding", ""))
    room, parts = trip.options.max_bytes, list[bytes]()
    try:
        while piece := response.read1(_PIECE):
            trip.received += len(piece)
            piece = unpack(piece, room + 1)
            if len(piece) > room:
                return b"".join(parts) + piece[:room], f"larger than {trip.options.max_bytes // 1024**2} MiB"
            room -= len(piece)
            parts.append(piece)
    except http.client.IncompleteRead:
        return b"".join(parts), "the connection closed before the end"
    short = not response.chunked and (response.length or 0) > 0
    return b"".join(parts), "the connection closed before the end" if short else ""


def _unpacker(encoding: str) -> Any:
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return lambda piece, _: piece
    import zlib

    stream = zlib.decompressobj(wbits=47)

    def unpack(piece: bytes, at_most: int) -> bytes:
        try:
            return stream.decompress(piece, at_most)
        except zlib.error:
            raise FetchError("a broken gzip body", "Ask without compression: curl URL/metrics > FILE") from None

    return unpack
