"""``diagnose lint``: names in people's own dashboards and rules that their engine does not export."""

from __future__ import annotations

import dataclasses
import json

import click

from diagnose import versions
from diagnose.cli.output import check_output, emit
from diagnose.errors import EXIT_ACT, EXIT_HEALTHY, UsageError
from diagnose.lint import CODES, Engine, Remark, lint
from diagnose.lint_files import read

EXAMPLES = """\b
Examples:
  diagnose lint dashboard.json
  diagnose lint dashboards/*.json rules/*.yaml --engine vllm --version 0.32.0
  diagnose lint alerts.yaml --engine sglang --version 0.5.23 --format json
  diagnose lint dashboard.json --ignore router-copies

\b
Reads Grafana dashboards, Prometheus rules, PrometheusRule, ConfigMap and ScaledObject.
Without --version: names that no known version exports, or that the newest do not.
Exit status: 0 clean, 1 findings, 2 wrong usage or a file that is none of these."""


@click.command("lint", epilog=EXAMPLES)
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--engine", type=click.Choice(("vllm", "sglang")), help="The engine that the files are for.")
@click.option("--version", "release", metavar="X", help="Its version, for example 0.32.0.")
@click.option("--ignore", multiple=True, type=click.Choice(tuple(CODES)), help="Leave a check out. Repeatable.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to stdout.")
def command(
    files: tuple[str, ...],
    engine: str | None,
    release: str | None,
    ignore: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """Metric names in your own dashboards and rules that your engine does not export, with the new name."""
    if not files:
        raise UsageError("lint needs a FILE", hint="See: diagnose lint --help")
    if release is not None and engine is None:
        raise UsageError("--version needs --engine", hint="--engine vllm or --engine sglang")
    if release is not None and not versions.key(release):
        raise UsageError(f"{release!r} is not a version", where="--version", hint="For example 0.32.0")
    check_output(output)
    queries = [query for file in files for query in read(file)]
    remarks = lint(queries, Engine(engine or "", release or ""), ignore)
    emit(_json(remarks) if form == "json" else _text(remarks, len(files), len(queries)), output)
    return EXIT_ACT if remarks else EXIT_HEALTHY


def _text(remarks: tuple[Remark, ...], files: int, queries: int) -> str:
    lines = [f"{r.file}: {r.where}: {r.message}{_hint(r)} [{r.code}]" for r in remarks]
    found = f"{len(remarks)} finding{'' if len(remarks) == 1 else 's'}" if remarks else "clean"
    seen = f"{queries} quer{'y' if queries == 1 else 'ies'} in {files} file{'' if files == 1 else 's'}"
    return "\n".join([*lines, f"{found}: {seen}"]) + "\n"


def _hint(remark: Remark) -> str:
    if remark.instead:
        return f"; instead: {remark.instead}"
    return "; nothing replaces it" if remark.code == "ended" else ""


def _json(remarks: tuple[Remark, ...]) -> str:
    document = {"schema": "diagnose.lint/1", "findings": [dataclasses.asdict(r) for r in remarks]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
