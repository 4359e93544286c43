"""A Prometheus-compatible query API through prometheus-api-client, with what that library lacks.

A deadline per request that also ends a dripping answer, retries on HTTP 503 only, ranges split at 11,000 points without
doubled boundaries, warnings kept as notes, every failure in one line. Libraries are loaded with the first request.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from diagnose.errors import SourceError
from diagnose.sources.fetch import HttpOptions

MAX_POINTS = 11_000  # of one series in one answer: Prometheus refuses more
MAX_NOTES = 5
_LONG = 1_500  # characters: a longer query travels in the body
_PIECE = 1 << 16
_BUSY = 503

Row = dict[str, Any]


class BadQuery(SourceError):
    """The server understood the request and refuses the query (HTTP 400 or 422)."""


class _Late(Exception):
    """The deadline passed while the answer came."""


@dataclass
class Api:
    """One server. ``notes`` collects its warnings; ``tenant`` is sent as X-Scope-OrgID where the server has tenants."""

    url: str
    options: HttpOptions
    tenant: str = ""
    notes: list[str] = field(default_factory=list)

    @cached_property
    def base(self) -> str:
        """The URL without credentials and without the API's own path."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        path = parts.path.rstrip("/").removesuffix("/api/v1")
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"

    def now(self) -> float:
        """The server's clock, unix seconds. Raises SourceError when no Prometheus API answers there."""
        row = next(iter(self.query("vector(time())")), None)
        if row is None:
            raise SourceError("answers, but not as a Prometheus does", where=self.base, hint=_POINT)
        return float(row["value"][0])

    def query(self, expression: str, at: float | None = None) -> list[Row]:
        """The instant vector (or, of a range selector, the matrix) at a time. Raises SourceError, BadQuery."""
        when = {} if at is None else {"time": f"{at:.3f}"}
        return self._ask(expression, lambda client: client.custom_query(expression, params=self._limits(when)))

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[Row]:
        """The matrix from ``start`` to ``end``, asked in as many parts as the server's limit on points needs."""
        from datetime import UTC, datetime

        merged: dict[str, Row] = {}
        at = start
        while at <= end:
            last = min(end, at + (MAX_POINTS - 1) * step)
            span = self._limits({"start": f"{at:.3f}", "end": f"{last:.3f}"})
            moments = [datetime.fromtimestamp(t, UTC) for t in (at, last)]
            rows = self._ask(
                expression,
                lambda client, m=moments, s=span: client.custom_query_range(expression, *m, f"{step:g}", params=s),
            )
            for row in rows:
                _append(merged, row)
            at += MAX_POINTS * step
        return list(merged.values())

    def _limits(self, params: Mapping[str, str]) -> dict[str, str]:
        return {**params, "timeout": f"{self.options.total_timeout:g}s"}

    def _ask(self, expression: str, call: Any) -> list[Row]:
        from prometheus_api_client.exceptions import PrometheusApiClientException
        from urllib3.exceptions import HTTPError

        client, wire = self._client
        client._method = "POST" if len(expression) > _LONG and not wire.get_only else "GET"
        try:
            rows = call(client)
        except PrometheusApiClientException:
            if wire.status in (405, 501) and client._method == "POST":
                wire.get_only = True
                return self._ask(expression, call)
            raise _refused(wire, self.base) from None
        except _Late:
            what = f"no complete answer within {self.options.total_timeout:g} s"
            raise SourceError(what, where=self.base, hint="Raise --timeout, or narrow with --match") from None
        except (OSError, HTTPError) as error:  # OSError: what requests raises
            raise _unreachable(error, self.base, self.options) from None
        except (KeyError, TypeError, ValueError):
            raise SourceError(_no_api(wire), where=self.base, hint=_POINT) from None
        self._keep(wire.remarks)
        if not isinstance(rows, list) or not all(isinstance(r, dict) and "metric" in r for r in rows):
            raise SourceError(_no_api(wire), where=self.base, hint=_POINT)
        return rows

    def _keep(self, remarks: list[str]) -> None:
        for remark in remarks:
            note = f"{self.base}: {remark}"
            if note not in self.notes and len(self.notes) < MAX_NOTES:
                self.notes.append(note)

    @cached_property
    def _client(self) -> tuple[Any, _Wire]:
        from prometheus_api_client.prometheus_connect import PrometheusConnect
        from urllib3.util.retry import Retry

        retry = Retry(
            total=2, connect=0, read=0, redirect=0, other=0, status=2, status_forcelist=[_BUSY], allowed_methods=None,
            backoff_factor=0.2, raise_on_status=False, respect_retry_after_header=False,
        )  # fmt: skip
        wire = _Wire(self.options)
        headers = _headers(self.url, self.options) | ({"X-Scope-OrgID": self.tenant} if self.tenant else {})
        settings: dict[str, Any] = {"headers": headers, "retry": retry, "auth": _as_it_is, "session": wire}
        client = PrometheusConnect(self.base, timeout=math.ceil(self.options.total_timeout), **settings)
        return client, wire


class _Wire:
    """What the library needs of a session: requests under one deadline, no redirects, the answer's remarks kept."""

    def __init__(self, options: HttpOptions) -> None:
        import requests

        self.options, self.get_only = options, False
        self.status, self.body, self.location, self.remarks = 0, b"", "", list[str]()
        self.verify: str | bool = False if options.insecure else (options.ca_file or True)
        self.cert = (options.client_cert, options.client_key) if options.client_cert else None
        self._session: Any = requests.Session()

    def mount(self, prefix: str, adapter: Any) -> None:
        self._session.mount(prefix, adapter)

    def request(self, method: str, url: str, params: Mapping[str, str], **keys: Any) -> Any:
        end = time.monotonic() + self.options.total_timeout
        keys |= {"timeout": (self.options.connect_timeout, self.options.total_timeout), "stream": True}
        how = {"data": params} if method == "POST" else {"params": params}
        response = self._session.request(method, url, allow_redirects=False, **how, **keys)
        self.status, self.location = response.status_code, response.headers.get("location", "")
        self.body = response._content = _read(response, end, self.options.max_bytes * 4)
        response._content_consumed = True
        self.remarks = []
        if response.status_code == 200:
            parsed = json.loads(self.body)
            if not isinstance(parsed, dict):
                raise ValueError("no object")
            self.remarks = [str(r) for kind in ("warnings", "infos") for r in parsed.get(kind) or ()]
            self.remarks += ["the answer is partial"] if parsed.get("isPartial") else []
            response.json = lambda: parsed
        return response


def _read(response: Any, end: float, at_most: int) -> bytes:
    """The decoded body. Raises _Late after the deadline, ValueError when it is larger than allowed."""
    parts, size = [], 0
    for piece in iter(lambda: response.raw.read1(_PIECE, decode_content=True), b""):
        parts.append(piece)
        size += len(piece)
        if time.monotonic() > end:
            response.close()
            raise _Late
        if size > at_most:
            response.close()
            raise ValueError("too large")
    return b"".join(parts)


def _as_it_is(request: Any) -> Any:
    """Authentication that changes nothing: without it requests would let a .netrc replace our header."""
    return request


def _headers(url: str, options: HttpOptions) -> dict[str, str]:
    from urllib.parse import urlsplit

    from diagnose.sources.fetch import _headers as of_request

    return {**of_request(urlsplit(url), options), "Accept": "application/json", "Connection": "keep-alive"}


def _append(merged: dict[str, Row], row: Row) -> None:
    """Joins a part of a series to what came before; a boundary that both parts have counts once."""
    key = json.dumps(row["metric"], sort_keys=True)
    held = merged.setdefault(key, {"metric": row["metric"], "values": []})
    last = held["values"][-1][0] if held["values"] else float("-inf")
    held["values"] += [point for point in row["values"] if point[0] > last]


_POINT = "Point to the root of a Prometheus-compatible API (Mimir and Grafana Cloud: URL/prometheus)"


def _no_api(wire: _Wire) -> str:
    head = wire.body[:200].lstrip().lower()
    what = "an HTML page" if head.startswith((b"<!doctype", b"<html")) else "no Prometheus JSON"
    return f"answers with {what}"


def _refused(wire: _Wire, where: str) -> SourceError:
    """The error of an HTTP status other than 200."""
    status, said = wire.status, _said(wire.body)
    if status in (400, 422) and said:
        return BadQuery(said, where=where)
    if status in (401, 403):
        hint = "Give --bearer-token-file, --basic-auth, --header or --tenant"
        return SourceError(f"HTTP {status}: not allowed{_tail(said)}", where=where, hint=hint)
    if 300 <= status < 400:
        return SourceError(
            f"redirects to {wire.location or '?'}", where=where, hint="Give the address that it leads to"
        )
    if status == 404:
        return SourceError("HTTP 404: no Prometheus API here", where=where, hint=_POINT)
    if status == _BUSY or status == 504:
        hint = "Raise --timeout, shorten --window or narrow with --match"
        return SourceError(f"HTTP {status}: overloaded or out of time{_tail(said)}", where=where, hint=hint)
    hint = "See the log of the server or of the proxy before it" if status >= 500 else _POINT
    return SourceError(f"HTTP {status}{_tail(said)}", where=where, hint=hint)


def _said(body: bytes) -> str:
    """The error message in an answer, on one line; "" when it is not the API's."""
    try:
        parsed = json.loads(body)
        text = str(parsed["error"])
    except (ValueError, KeyError, TypeError):
        return ""
    return " ".join(text.split())[:300].rstrip(". ")


def _tail(said: str) -> str:
    return f" ({said})" if said else ""


def _unreachable(error: Exception, where: str, options: HttpOptions) -> SourceError:
    """The error of a request that got no answer."""
    from requests import exceptions

    text = str(error)
    if isinstance(error, (exceptions.InvalidURL, exceptions.InvalidSchema, exceptions.MissingSchema)):
        return SourceError("is no http or https URL", where=where, hint="Write http://host:9090")
    if isinstance(error, exceptions.SSLError):
        hint = "Give --ca-file, or --insecure for a self-signed certificate; http:// if it is no https port"
        return SourceError("TLS failed", where=where, hint=hint)
    if isinstance(error, exceptions.ConnectTimeout):
        hint = "Check host, port and firewall"
        return SourceError(f"no connection within {options.connect_timeout:g} s", where=where, hint=hint)
    if isinstance(error, exceptions.Timeout) or "timed out" in text:
        hint = "Raise --timeout, shorten --window or narrow with --match"
        return SourceError(f"no answer within {options.total_timeout:g} s", where=where, hint=hint)
    if "refused" in text:
        return SourceError(
            "connection refused", where=where, hint="Check that Prometheus is up and listens on this port"
        )
    if any(word in text for word in ("resolve", "not known", "No address", "getaddrinfo")):
        return SourceError("host not found", where=where, hint="Check the name, or use the address")
    return SourceError("the connection broke", where=where, hint="Check host, port and network")
