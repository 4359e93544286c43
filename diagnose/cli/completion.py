"""``diagnose completion``: shell completion scripts."""

from __future__ import annotations

import click

EXAMPLES = """\b
Examples:
  eval "$(diagnose completion bash)"                               in ~/.bashrc
  eval "$(diagnose completion zsh)"                                in ~/.zshrc
  diagnose completion fish > ~/.config/fish/completions/diagnose.fish"""


@click.command("completion", epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

    from diagnose.cli import cli

    classes: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
    complete = classes[shell](cli, {}, "diagnose", "_DIAGNOSE_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())
