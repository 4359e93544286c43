"""Why an HTTP request gave nothing, in one line, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from diagnose.sources.fetch import HttpOptions


class FetchError(Exception):
    """A request that gave nothing usable: ``what`` went wrong, ``hint`` says what to do, ``status`` is HTTP's or 0."""

    def __init__(self, what: str, hint: str, status: int = 0) -> None:
        super().__init__(what)
        self.what, self.hint, self.status = what, hint, status


def timed_out(phase: str, options: HttpOptions, received: int) -> FetchError:
    """The error of a deadline that passed, by the phase in which it passed."""
    connect, total = f"{options.connect_timeout:g} s", f"{options.total_timeout:g} s"
    if phase == "connect":
        return FetchError(f"no connection within {connect}", "Check host, port and firewall")
    if phase == "tls":
        return FetchError(f"no TLS handshake within {total}", "Check that the port speaks https")
    if phase == "body":
        what = f"the answer was not complete after {total} ({received:,} bytes came)"
        return FetchError(what, "Raise --timeout, or save it with curl and read the file")
    return FetchError(f"connected, but no answer within {total}", "The server hangs or is overloaded: see its log")


def explain(error: Exception, parts: SplitResult, phase: str) -> FetchError:
    """The error that the network, TLS or HTTP layer raised."""
    import http.client
    import socket
    import ssl

    if isinstance(error, socket.gaierror):
        return FetchError(f"host {parts.hostname!r} not found", "Check the name, or use the address")
    if isinstance(error, ConnectionRefusedError):
        return FetchError("connection refused", "Check that the engine is up and listens on this port")
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "Give --ca-file, or --insecure for a self-signed one"
        return FetchError(f"TLS certificate not accepted ({error.verify_message})", hint)
    if isinstance(error, ssl.SSLError):
        hint = "Write http:// if it is no https port" if phase == "tls" else "Check the TLS settings"
        return FetchError(f"TLS failed ({error.reason or error})", hint)
    if isinstance(error, (http.client.RemoteDisconnected, ConnectionError)):
        hint = "See the engine's log" if parts.scheme == "https" else "Write https:// if the port wants TLS"
        return FetchError("the server closed the connection without an answer", hint)
    if isinstance(error, http.client.HTTPException):
        return FetchError("the answer is not HTTP", "Check the port: this is no HTTP server")
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return FetchError(f"cannot be reached ({reason})", "Check host, port and network")


def refused_status(status: int) -> FetchError | None:
    """The error of an HTTP status other than 2xx, None for success."""
    if 200 <= status < 300:
        return None
    what = f"HTTP {status}"
    if status in (401, 403):
        return FetchError(f"{what}: not allowed", "Give --bearer-token-file, --basic-auth or --header", status)
    if status == 404:
        hint = "Check port and path; SGLang serves /metrics only with --enable-metrics"
        return FetchError(f"{what}: no /metrics here", hint, status)
    if status >= 500:
        return FetchError(f"{what}: the server fails", "See the log of the engine or of the proxy before it", status)
    return FetchError(f"{what} instead of metrics", "Point to the engine's own /metrics", status)
