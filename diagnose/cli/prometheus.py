"""``diagnose now --prometheus``: what a Prometheus knows of the engines, and whether its rules are the user's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from diagnose.errors import UsageError
from diagnose.model import Observations

if TYPE_CHECKING:
    from diagnose.settings import Settings
    from diagnose.sources.endpoint import HttpOptions

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Stored:
    """What to ask of a Prometheus: its URL, a selector ("" for all), a time (unix seconds, None: now), a tenant."""

    url: str
    match: str = ""
    at: float | None = None
    tenant: str = ""


def moment(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Unix seconds from a number or an ISO 8601 time (UTC unless it names a zone); an option's callback."""
    from datetime import UTC, datetime

    if value is None:
        return None
    try:
        seconds = float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else None
        if seconds is None:
            named = datetime.fromisoformat(value)
            seconds = (named if named.tzinfo else named.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        words = f"{value!r} is no time (write 2026-11-30T14:05:00Z or unix seconds)"
        raise click.BadParameter(words, ctx, param) from None
    if not 0 < seconds < 1e11:
        raise click.BadParameter(f"{value!r} is no unix time in seconds", ctx, param)
    return seconds


def prometheus_options(command: F) -> F:
    """--prometheus, --match, --at and --tenant."""
    for declared in (
        click.option("--tenant", metavar="ID", help="X-Scope-OrgID of a multi-tenant server."),
        click.option(
            "--at", metavar="TIME", callback=moment, help="End of the window (ISO 8601 or unix seconds), default now."
        ),
        click.option("--match", metavar="SELECTOR", help="Engines to look at, as in PromQL: '{job=\"vllm\"}'"),
        click.option("--prometheus", metavar="URL", help="Ask a Prometheus-compatible API instead of engines."),
    ):
        command = declared(command)
    return command


def stored(
    url: str | None, match: str | None, at: float | None, tenant: str | None, targets: Sequence[str]
) -> Stored | None:
    """What to ask of a Prometheus, None without one. Raises UsageError."""
    if url is None:
        lone = next((n for n, v in (("--match", match), ("--at", at), ("--tenant", tenant)) if v is not None), None)
        if lone:
            raise UsageError(f"{lone} goes with --prometheus", hint="Give --prometheus URL")
        return None
    if targets:
        raise UsageError("--prometheus and a TARGET exclude each other", hint="Name engines with --match")
    address = url if re.match(r"https?://[^/]", url, re.IGNORECASE) else f"http://{url}"
    if "://" in url and address != url or not url.strip():
        raise UsageError(f"{url!r} is no http or https URL", hint="Write --prometheus http://host:9090")
    return Stored(address, match or "", at, tenant or "")


def gather(asked: Stored, window: float | None, options: HttpOptions, settings: Settings) -> Observations:
    """Observations of the engines that match. Raises SourceError or UsageError."""
    from diagnose.errors import SourceError
    from diagnose.generate import queries
    from diagnose.sources.prometheus import observe
    from diagnose.sources.prometheus_api import Api

    seen = observe(asked.url, queries.plan, options, match=asked.match, at=asked.at, window=window, tenant=asked.tenant)
    try:
        rows = Api(asked.url, options, asked.tenant).query(queries.THRESHOLDS, asked.at)
    except SourceError:
        return seen
    return replace(seen, notes=(*seen.notes, *queries.drift(rows, settings)))
