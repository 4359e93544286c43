"""``diagnose generate``: recording rules, alerts, runbook blocks and inhibitions from the declarations."""

from __future__ import annotations

import sys
from pathlib import Path

import click

EXAMPLES = """\b
Examples:
  diagnose generate                          rules/ and runbooks/ in this folder
  diagnose generate --config mine.toml --output deploy/
  diagnose generate --check                  exit 1 when a file is stale"""


@click.command("generate", epilog=EXAMPLES)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name the files that are stale.")
@click.option("--config", metavar="FILE", help="Your thresholds (TOML): they become the numbers in the rules.")
@click.option(
    "--output", metavar="DIR", default=".", show_default=True, help="The folder that holds rules/ and runbooks/."
)
def command(check: bool, config: str | None, output: str) -> None:
    """Render the monitoring rules from the same declarations that diagnose now uses."""
    from diagnose.errors import UsageError
    from diagnose.generate import files
    from diagnose.settings import resolve

    root, settings = Path(output), resolve(config)
    try:
        changed = files.stale(root, settings) if check else files.write(root, settings)
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror})", where=str(error.filename or root)) from None
    for path in changed:
        click.echo(f"{'stale' if check else 'wrote'} {path}", err=check)
    if check and changed:
        sys.exit(1)
