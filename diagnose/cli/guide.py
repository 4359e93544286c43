"""``diagnose guide``: the twelve entries in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from diagnose.guide import Move

ENGINES = ("vllm", "sglang")
PHASES = {
    1: "Phase 1: free or nearly free", 2: "Phase 2: memory and throughput",
    3: "Phase 3: architecture", 4: "Phase 4: several tenants, scale-out",
}  # fmt: skip
EXAMPLES = """\b
Examples:
  diagnose guide                      the list, one line per entry
  diagnose guide --moves              with every move and its flags
  diagnose guide --moves --engine sglang
  diagnose explain 2.1                one entry whole"""


@click.command("guide", epilog=EXAMPLES)
@click.option("--moves", is_flag=True, help="Show every move with its flags.")
@click.option("--engine", type=click.Choice(ENGINES), help="Flags of one engine only.")
def command(moves: bool, engine: str | None) -> None:
    """The twelve optimizations, in the order in which to evaluate them.

    Apply one, measure it, keep or undo it, then look again.
    """
    from diagnose.cli.output import encodable
    from diagnose.cli.prose import paragraph
    from diagnose.guide import all_entries

    lines: list[str] = []
    phase = 0
    for entry in all_entries().values():
        if entry.phase != phase:
            phase = entry.phase
            lines += ["", PHASES.get(phase, f"Phase {phase}")]
        lines += ["", *paragraph(f"{entry.id}  {entry.title}", "")] if moves else [f"  {entry.id}  {entry.title}"]
        if moves:
            lines += paragraph(entry.impact, "     ")
            lines += [line for move in entry.moves for line in _move(entry.id, move, engine)]
    text = "\n".join(lines).lstrip("\n")
    more = "One entry whole: diagnose explain 2.1" if moves else "With moves and flags: diagnose guide --moves"
    click.echo(encodable(f"{text}\n\n{more}"))


def _move(entry_id: str, move: Move, engine: str | None) -> list[str]:
    from diagnose.cli.prose import flags, paragraph

    return [*paragraph(f"- {entry_id}/{move.id}: {move.title}", "     "), *flags(move, "       ", engine)]
