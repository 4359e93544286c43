"""What commands read: targets and further evidence from the command line, as observations."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from diagnose.errors import SourceError, UsageError
from diagnose.model import Observations

if TYPE_CHECKING:
    from diagnose.sources.endpoint import HttpOptions

F = TypeVar("F", bound=Callable[..., Any])
STDIN = "-"
MAX_WINDOW = 3600.0
MAX_BYTES = 256 * 1024**2
_ADDRESS = re.compile(
    r"(?:localhost|[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\]):\d{1,5}(?:/.*)?|localhost(?:/.*)?"
)
_ROLES = ("server", "prefill", "decode", "router", "client", "frontend", "worker")


@dataclass(frozen=True)
class Evidence:
    """Files given with --log, --launch and --server-info."""

    logs: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.logs or self.launches or self.infos)


def duration(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """Seconds from 15s, 250ms, 2m or a bare number, 0 to one hour; an option's callback."""
    from diagnose.units import to_seconds

    try:
        seconds = to_seconds(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no duration (write 15s, 500ms or 2m)", ctx, param) from None
    if not 0 <= seconds <= MAX_WINDOW:
        raise click.BadParameter(f"{value!r} is outside 0s to {MAX_WINDOW:.0f}s", ctx, param)
    return seconds


def evidence_options(command: F) -> F:
    """--log, --launch and --server-info, each repeatable."""
    for flag, name, words in (
        ("--server-info", "infos", "Saved answer of /server_info (JSON). Repeatable."),
        ("--launch", "launches", "Launch command, compose or Kubernetes file. Repeatable."),
        ("--log", "logs", "Engine log. Repeatable."),
    ):
        command = click.option(flag, name, metavar="FILE", multiple=True, help=words)(command)
    return command


def http_options(command: F) -> F:
    """Authentication, TLS and deadline of the HTTP requests."""
    for declared in (
        click.option(
            "--timeout",
            metavar="DURATION",
            callback=duration,
            default="10s",
            show_default=True,
            help="Limit of one request.",
        ),
        click.option("--insecure", is_flag=True, help="Accept any TLS certificate."),
        click.option("--ca-file", metavar="FILE", help="Certificate authority for https."),
        click.option(
            "--basic-auth", metavar="USER:PASSWORD", envvar="DIAGNOSE_BASIC_AUTH", help="Or DIAGNOSE_BASIC_AUTH."
        ),
        click.option("--bearer-token-file", metavar="FILE", help="File that holds a bearer token."),
        click.option(
            "--header",
            "-H",
            "headers",
            metavar="'NAME: VALUE'",
            multiple=True,
            help="Extra request header. Repeatable.",
        ),
    ):
        command = declared(command)
    return command


def window_option(command: F) -> F:
    """--window of a live observation."""
    words = "How long to watch a live engine, or to look back in a Prometheus (5m or 15m there by default)."
    return click.option(
        "--window", metavar="DURATION", callback=duration, default="15s", show_default=True, help=words
    )(command)


def http(
    headers: Sequence[str], bearer_token_file: str | None, basic_auth: str | None, ca_file: str | None, insecure: bool,
    timeout: float,
) -> HttpOptions:  # fmt: skip
    """Checked HTTP options. Raises UsageError."""
    from diagnose.sources.endpoint import HttpOptions

    if basic_auth is not None and ":" not in basic_auth:
        raise UsageError("--basic-auth needs USER:PASSWORD")
    if basic_auth is not None and bearer_token_file is not None:
        raise UsageError("--basic-auth and --bearer-token-file exclude each other")
    if timeout <= 0:
        raise UsageError("--timeout must be above 0s")
    token = read_text(bearer_token_file, "--bearer-token-file").strip() if bearer_token_file else None
    if ca_file is not None and not Path(ca_file).is_file():
        raise UsageError("no such file", where=ca_file, hint="--ca-file needs a PEM file")
    return HttpOptions(
        headers=tuple(_header(h) for h in headers), bearer_token=token, basic_auth=basic_auth, ca_file=ca_file,
        insecure=insecure, total_timeout=timeout,
    )  # fmt: skip


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name.strip()) or re.search(r"[\r\n]", value):
        raise UsageError(f"--header {name.strip()!r} is not of the form 'Name: value'")
    return name.strip(), value.strip()


def split(targets: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Targets as URLs and paths. Raises UsageError for a path that does not exist."""
    urls, paths = [], []
    for target in dict.fromkeys(targets):
        if not target.strip():
            raise UsageError("empty target", hint="Give an engine (host:port), a bundle, a file or - for stdin")
        if target == STDIN or os.path.exists(target):
            paths.append(target)
        elif re.match(r"https?://[^/]", target, re.IGNORECASE) or _ADDRESS.fullmatch(target):
            urls.append(target)
        elif "://" in target:
            raise UsageError(f"{target!r} is no http or https URL", hint="Write http://host:port")
        else:
            raise UsageError(
                "no such file or folder", where=target, hint="An engine is written host:port or http://host:port"
            )
    return tuple(urls), tuple(paths)


def gather(
    targets: Sequence[str],
    evidence: Evidence,
    window: float,
    options: Callable[[], HttpOptions],
    keep: frozenset[str] | None,
) -> Observations:
    """Everything that the targets and files tell. Raises UsageError or SourceError."""
    urls, paths = split(targets)
    if not urls and not paths and not evidence:
        raise UsageError("nothing to look at", hint="Give an engine (host:port), a bundle, a file or - for stdin")
    further = read_evidence(evidence, bool(urls or paths))
    seen = _live(urls, window, options(), keep) if urls else Observations()
    return seen + _saved(paths, keep) + further


def _live(urls: tuple[str, ...], window: float, options: HttpOptions, keep: frozenset[str] | None) -> Observations:
    from diagnose.cli.progress import waiting
    from diagnose.sources.endpoint import observe

    with waiting(window, len(urls)) as tick:
        return observe(list(urls), window=window, options=options, keep=keep, progress=tick)


def _saved(paths: tuple[str, ...], keep: frozenset[str] | None) -> Observations:
    from diagnose.sources.bundle import read_bundle

    folders = [p for p in paths if p != STDIN and (Path(p).is_dir() or re.search(r"\.(tar|tgz|zip)(\.|$)", p))]
    if len(folders) > 1:
        raise UsageError(
            "more than one bundle",
            where=folders[1],
            hint="Compare two runs in one bundle: launch/a.txt, launch/b.txt, ...",
        )
    read = [read_bundle(path, keep) for path in paths]
    return sum(_one_engine(read), Observations())


def _one_engine(read: list[Observations]) -> list[Observations]:
    """Single scrapes from several files are one engine at different times, unless their process start times differ."""
    alone = [o for o in read if len(o.scrapes) == 1]
    starts = {s[0][1] for o in alone if (s := o.scrapes[0].samples.get("process_start_time_seconds"))}
    if len(alone) < 2 or len(alone) != len(read) or len(starts) > 1:
        return read
    ordered = sorted(alone, key=lambda o: o.scrapes[0].time)
    times = [o.scrapes[0].time for o in ordered]
    note = f"{len(ordered)} files taken as scrapes of one engine"
    if len(set(times)) < len(times):
        ordered, times = alone, [times[0] + 15.0 * i for i in range(len(alone))]
        note += ", 15 s apart (their times do not tell)"
    name = ordered[0].scrapes[0].target
    same = [
        replace(o, scrapes=(replace(o.scrapes[0], target=name, time=t),)) for o, t in zip(ordered, times, strict=True)
    ]
    return [*same, Observations(notes=(note,))]


def read_evidence(evidence: Evidence, with_targets: bool) -> Observations:
    """Observations of the evidence files; a file that names a role keeps its name, the others describe the server."""
    several = not with_targets and max(len(evidence.logs), len(evidence.launches)) > 1
    seen = Observations()
    for path in evidence.logs:
        from diagnose.sources.logs import parse_log

        seen += parse_log(read_text(path, "--log"), _run(path, several))
    for path in evidence.launches:
        from diagnose.sources.launch import parse_launch

        seen += parse_launch(read_text(path, "--launch"), _run(path, several))
    for path in evidence.infos:
        from diagnose.sources.server_info import parse_server_info

        seen += Observations(facts=parse_server_info(_json(path), path, _run(path, several)))
    return seen


def _run(path: str, several: bool) -> str:
    stem = "stdin" if path == STDIN else Path(path).name.split(".")[0]
    return stem if several or stem.lower().rstrip("0123456789").rstrip("-_") in _ROLES else "server"


def _json(path: str) -> Any:
    import json

    try:
        return json.loads(read_text(path, "--server-info"))
    except (ValueError, RecursionError):
        raise UsageError("not JSON", where=path, hint="Save it with: curl URL/server_info -o FILE") from None


def read_text(path: str, option: str) -> str:
    """The text of a file (.gz too) or of stdin, at most MAX_BYTES of it. Raises UsageError or SourceError."""
    try:
        if path == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES).decode("utf-8", "replace")
        with _open(path) as file:
            return file.read(MAX_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        raise UsageError("no such file", where=path, hint=f"{option} needs a file") from None
    except IsADirectoryError:
        raise UsageError("is a folder", where=path, hint=f"{option} needs a file") from None
    except (OSError, EOFError) as error:
        raise SourceError(f"cannot be read ({getattr(error, 'strerror', None) or error})", where=path) from None


def _open(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        import gzip

        return gzip.open(path, "rb")  # type: ignore[return-value]
    return open(path, "rb")
