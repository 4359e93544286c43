"""The command line. Commands live in one file each and are loaded when they are called; errors become one line."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from diagnose import __version__
from diagnose.errors import EXIT_CANNOT_TELL, EXIT_USAGE, DiagnoseError

EXIT_INTERRUPTED, EXIT_PIPE = 130, 141
_REPORT_TO = "please report it with the command line; DIAGNOSE_DEBUG=1 shows where"

# name: what it does; the order is the order of the help page
COMMANDS = {
    "now": "What to change next: one step with evidence, or why none.",
    "demo": "Replay a recorded engine and diagnose it; no GPU, no server.",
    "explain": "A symptom, a move, a signal, an alert or a guide entry in words.",
    "guide": "The twelve optimizations in the order to evaluate them.",
    "size": "The KV formula with every term, from hardware or an engine.",
    "thresholds": "Every threshold with unit, bounds and reason.",
    "coverage": "What is measured and what is missing, by resource.",
    "capture": "Save scrapes, configuration and logs as a bundle.",
    "generate": "Recording rules, alerts and runbook blocks from the declarations.",
    "lint": "Metric names in dashboards and rules that an engine lacks.",
    "completion": "Shell completion for bash, zsh and fish.",
}

EXAMPLES = """\b
Examples:
  diagnose demo                       see it work on a recorded engine
  diagnose now localhost:8000         ask a running vLLM or SGLang
  diagnose now bundle.tar.gz          ask what was saved from one
  diagnose explain 2.1                what a step means

\b
Exit status: 0 healthy, 1 something to do, 2 wrong usage, 3 could not tell."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads a command's file when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command ``command`` of ``diagnose/cli/<name>.py``; None when there is no such name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but an unknown name is answered with the near ones."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f"no command {args[0]!r}. {suggestion(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table above; no command is loaded for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def suggestion(name: str, known: Sequence[str] | dict[str, str], see: str = "diagnose --help") -> str:
    """``Did you mean ...?`` with the near names, else where all names are listed."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(near)}?" if near else f"See: {see}"


@click.group(
    cls=LazyGroup,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="diagnose", message="%(prog)s %(version)s")
def cli() -> None:
    """Tells what to change next when a vLLM or SGLang server is slow.

    Reads what the engine says (metrics, logs, launch flags, configuration), recognises symptoms and walks a guide of
    twelve optimizations, cheap and safe ones first. Names one step, its evidence, how to measure it and how to undo it.
    """


def main() -> None:
    """The console script: runs the command and exits with its status. No traceback reaches the user."""
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """The exit status of a command line; errors are printed as one line each."""
    try:
        status = _invoke(args)
        flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return EXIT_USAGE
    except click.ClickException as error:
        return complain(_usage(error), EXIT_USAGE)
    except DiagnoseError as error:
        return complain(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return complain("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        silence()
        return EXIT_PIPE
    except Exception as error:  # noqa: BLE001 - the last guard: whatever is left becomes one line
        if debugging():
            raise
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            silence()
            return complain(f"cannot write: {error.strerror}", EXIT_USAGE)
        return complain(internal(error), EXIT_CANNOT_TELL)


def _invoke(args: Sequence[str]) -> object:
    """What the command returns. click's own main() is for completion only: it makes a closed pipe status 1, "act"."""
    if "_DIAGNOSE_COMPLETE" in os.environ:
        return cli.main(args=list(args), prog_name="diagnose", standalone_mode=False)
    with cli.make_context("diagnose", list(args)) as context:
        return cli.invoke(context)


def _usage(error: click.ClickException) -> str:
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "diagnose"
    text = error.format_message().rstrip(".")
    return text if "--help" in text or text.endswith("?") else f"{text}. See: {path} --help"


def debugging() -> bool:
    """Whether unexpected exceptions are to be shown whole."""
    return os.environ.get("DIAGNOSE_DEBUG", "") not in ("", "0")


def internal(error: Exception) -> str:
    """The line for an exception that nobody foresaw."""
    said = " ".join(str(error).split())[:200]
    return f"internal error: {type(error).__name__}{f': {said}' if said else ''}; {_REPORT_TO}"


def complain(line: str, status: int) -> int:
    """Prints one line to stderr and gives the status back; a closed stderr is no reason to fail."""
    from contextlib import suppress

    with suppress(OSError, ValueError):
        print(f"diagnose: {' '.join(line.split())}", file=sys.stderr, flush=True)
    return status


def flush() -> None:
    """Writes out stdout, so that a closed pipe is noticed here and not at exit."""
    if sys.stdout is not None:
        sys.stdout.flush()


def silence() -> None:
    """Sends the rest of stdout nowhere: the reader went away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
