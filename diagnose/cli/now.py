"""``diagnose now``: what to change next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from diagnose.cli import complain, debugging, inputs, internal
from diagnose.cli import prometheus as stored
from diagnose.cli.output import EXIT_OF, check_output, document, emit, nothing_seen
from diagnose.errors import EXIT_CANNOT_TELL, ConfigError, SourceError, UsageError
from diagnose.model import Diagnosis
from diagnose.report import FORMATS

EXAMPLES = """\b
Examples:
  diagnose now localhost:8000                          watch an engine for 15 s
  diagnose now vllm-0:8000 vllm-1:8000 --window 30s    replicas, all at once
  diagnose now localhost:8000 --log engine.log --launch start.sh
  diagnose now bundle.tar.gz --format json -o report.json
  curl -s localhost:8000/metrics | diagnose now -
  diagnose now --log engine.log                        from a log alone
  diagnose now --prometheus http://prometheus:9090 --match '{job="vllm"}'

\b
Exit status: 0 healthy, 1 something to do, 2 wrong usage, 3 could not tell."""


@click.command("now", epilog=EXAMPLES)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@inputs.window_option
@inputs.evidence_options
@stored.prometheus_options
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--output", "-o", metavar="FILE", help="Write the report there instead of to stdout.")
@click.option("--config", metavar="FILE", help="Thresholds (TOML), see: diagnose thresholds --format toml")
@inputs.http_options
def command(
    targets: tuple[str, ...], window: float, logs: tuple[str, ...], launches: tuple[str, ...], infos: tuple[str, ...],
    form: str, output: str | None, config: str | None, prometheus: str | None, match: str | None, at: float | None,
    tenant: str | None, **http: Any,
) -> int:  # fmt: skip
    """What to change next on a vLLM or SGLang server: one step, or why there is none.

    TARGET is an engine (host:port or URL), a bundle (folder or archive), a saved /metrics page, a log, or - for stdin.
    """
    check_output(output)
    evidence = inputs.Evidence(logs, launches, infos)
    asked = stored.stored(prometheus, match, at, tenant, targets)
    if asked is not None:
        source = click.get_current_context().get_parameter_source("window")
        given = None if source is ParameterSource.DEFAULT else window
        return answer(lambda: look_back(asked, evidence, given, config, http), form, output)
    return report(targets, evidence, window, form, output, config, http)


def report(
    targets: tuple[str, ...], evidence: inputs.Evidence, window: float, form: str, output: str | None,
    config: str | None, http: dict[str, Any],
) -> int:  # fmt: skip
    """The exit status of a look at live targets or files, see ``answer``."""
    return answer(lambda: look(targets, evidence, window, config, http), form, output)


def answer(seeing: Callable[[], Diagnosis], form: str, output: str | None) -> int:
    """The exit status after the report is written. What cannot be observed is a line, and a document if asked for."""
    try:
        diagnosis = seeing()
        text = document(diagnosis, form)
    except (UsageError, ConfigError):
        raise
    except SourceError as error:
        what = f"{error.where}: {error.what}" if error.where else error.what
        return _blind(str(error), nothing_seen(what, "nothing could be observed", error.hint), form, output)
    except Exception as error:  # noqa: BLE001 - whoever reads the JSON gets a document, whatever happened
        if debugging():
            raise
        line = internal(error)
        return _blind(line, nothing_seen(line, "the diagnosis failed", "report it with the input"), form, output)
    emit(text, output)
    return EXIT_OF[diagnosis.verdict]


def _blind(line: str, diagnosis: Diagnosis, form: str, output: str | None) -> int:
    complain(line, EXIT_CANNOT_TELL)
    if form != "text" or output is not None:
        emit(document(diagnosis, form), output)
    return EXIT_CANNOT_TELL


def look(
    targets: tuple[str, ...], evidence: inputs.Evidence, window: float, config: str | None, http: dict[str, Any]
) -> Diagnosis:
    """The diagnosis of the targets. Raises UsageError, ConfigError or SourceError."""
    from diagnose import settings, walk
    from diagnose.engines.catalog import known_families

    resolved = settings.resolve(config)
    seen = inputs.gather(targets, evidence, window, lambda: inputs.http(**http), known_families())
    return walk.diagnose(seen, resolved)


def look_back(
    asked: stored.Stored, evidence: inputs.Evidence, window: float | None, config: str | None, http: dict[str, Any]
) -> Diagnosis:
    """The diagnosis of engines by what a Prometheus stored. Raises UsageError, ConfigError or SourceError."""
    from diagnose import settings, walk

    resolved = settings.resolve(config)
    further = inputs.read_evidence(evidence, True)
    return walk.diagnose(stored.gather(asked, window, inputs.http(**http), resolved) + further, resolved)
