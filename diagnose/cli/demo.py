"""``diagnose demo``: a recorded engine, replayed over real HTTP, diagnosed as a live one."""

from __future__ import annotations

import click

from diagnose.cli import inputs
from diagnose.errors import UsageError
from diagnose.report import FORMATS

RECORDED_WINDOW = 15.0  # seconds of the recording that the demo watches
EXAMPLES = """\b
Examples:
  diagnose demo                     a preemption storm on vLLM
  diagnose demo --list              all scenarios
  diagnose demo sglang-retracting   another one
  diagnose demo storm --speed 1     at the pace at which it was recorded"""


@click.command("demo", epilog=EXAMPLES)
@click.argument("scenario", default="storm")
@click.option("--list", "listing", is_flag=True, help="List the scenarios.")
@click.option("--speed", type=click.FloatRange(0.1, 100.0), default=5.0, show_default=True, help="Pace of the replay.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
def command(scenario: str, listing: bool, speed: float, form: str) -> int:
    """Replay a recorded engine on this machine and diagnose it; needs no GPU and no server.

    The replay listens on the loopback interface for as long as the demo runs. Exit status as for: diagnose now.
    """
    from diagnose.replay import scenarios

    known = scenarios()
    if listing:
        wide = max(map(len, known))
        click.echo("\n".join(f"{name.ljust(wide)}  {title}" for name, title in known.items()))
        return 0
    if scenario not in known:
        from diagnose.cli import suggestion

        raise UsageError(f"no scenario {scenario!r}", hint=suggestion(scenario, known, "diagnose demo --list"))
    return _run(scenario, known[scenario], speed, form)


def _run(scenario: str, title: str, speed: float, form: str) -> int:
    from diagnose.cli.now import report
    from diagnose.replay import serve

    with serve(scenario, speed=speed) as server:
        click.echo(f"Replaying {scenario}: {title}. {speed:g} times as fast as it was recorded.", err=True)
        click.echo(f"$ diagnose now {server.url} --window {RECORDED_WINDOW / speed:g}s\n", err=True)
        http = {
            "headers": (),
            "bearer_token_file": None,
            "basic_auth": None,
            "ca_file": None,
            "insecure": False,
            "timeout": 10.0,
        }
        return report((server.url,), inputs.Evidence(), RECORDED_WINDOW / speed, form, None, None, http)
