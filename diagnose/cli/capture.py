"""``diagnose capture``: a bundle of what an engine says, to diagnose elsewhere or to attach to a ticket."""

from __future__ import annotations

from typing import Any

import click

from diagnose.cli import complain, inputs
from diagnose.cli.output import check_output
from diagnose.errors import UsageError

EXAMPLES = """\b
Examples:
  diagnose capture localhost:8000 -o storm.tar.gz
  diagnose capture localhost:8000 -o storm.tar.gz --log engine.log --launch start.sh
  diagnose capture vllm-0:8000 vllm-1:8000 -o fleet.tar.gz --window 1m
  diagnose now storm.tar.gz

\b
API keys, tokens, passwords and the text of prompts are removed before anything is written."""


@click.command("capture", epilog=EXAMPLES)
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--output", "-o", metavar="BUNDLE", required=True, help="A .tar.gz to write, or a folder to create.")
@inputs.window_option
@inputs.evidence_options
@inputs.http_options
def command(
    urls: tuple[str, ...], output: str, window: float, logs: tuple[str, ...], launches: tuple[str, ...],
    infos: tuple[str, ...], **http: Any,
) -> int:  # fmt: skip
    """Watch engines and save what they say: scrapes, configuration answers, and copies of logs and launch files."""
    from diagnose.cli.progress import waiting
    from diagnose.sources.capture import capture

    addresses, paths = inputs.split(urls)
    if paths:
        raise UsageError("is a file, not an engine", where=paths[0], hint="capture takes URLs or host:port")
    check_output(output)
    lacking: list[str] = []
    with waiting(window, len(addresses)) as tick:
        written = capture(
            list(addresses), output, window=window, options=inputs.http(**http), logs=list(logs),
            launches=list(launches), infos=list(infos), progress=tick, warn=lacking.append,
        )  # fmt: skip
    for note in lacking:
        complain(note, 0)
    click.echo(f"{written}  read it with: diagnose now {written}", err=True)
    return 0
