"""``diagnose explain``: a symptom, a move, a signal, an alert or a guide entry, from its declaration."""

from __future__ import annotations

import click

from diagnose.cli.output import encodable
from diagnose.cli.prose import flags, labelled, paragraph, spelling
from diagnose.engines.catalog import METRICS, SIGNALS, Signal
from diagnose.errors import UsageError
from diagnose.guide import Entry, Move, all_entries
from diagnose.report.words import ENGINE_NAMES, counted
from diagnose.symptoms import Symptom, Threshold, all_symptoms, grammar

KINDS = {
    "fault": "a fault of the engine or of a metric: no tuning until it is repaired",
    "cause": "a limit that hurts now",
    "effect": "pain that a cause explains",
    "opportunity": "something free that is not used",
    "monitoring": "the view is incomplete: nothing can be decided from it",
    "benign": "looks alarming and is not",
    "info": "context only",
}
EXAMPLES = """\b
Examples:
  diagnose explain preemption_storm       a symptom
  diagnose explain 2.1                    an entry of the guide
  diagnose explain 2.1/fewer-sequences    one move
  diagnose explain kv_usage_max           a signal
  diagnose explain --list                 every id"""


@click.command("explain", epilog=EXAMPLES)
@click.argument("ident", metavar="ID", required=False)
@click.option("--list", "listing", is_flag=True, help="List every id with its title.")
def command(ident: str | None, listing: bool) -> None:
    """Explain a symptom, a move, a signal, an alert or an entry of the guide."""
    if listing:
        lines = _listing()
    elif ident is None:
        raise UsageError("explain needs an ID", hint="See them all with: diagnose explain --list")
    else:
        lines = explain(ident)
    click.echo(encodable("\n".join(lines)))


def explain(ident: str) -> list[str]:
    """The lines that explain an id. Raises UsageError with near misses."""
    entries, symptoms = all_entries(), all_symptoms()
    alerts = {s.alert: s for s in symptoms.values() if s.alert}
    wanted = ident.strip()
    entry_id, _, move_id = wanted.partition("/")
    if wanted in entries:
        return _entry(entries[wanted])
    if entry_id in entries and move_id in {m.id for m in entries[entry_id].moves}:
        return _move(entries[entry_id], next(m for m in entries[entry_id].moves if m.id == move_id))
    key = wanted.lower().replace("-", "_")
    symptom = symptoms.get(wanted) or alerts.get(wanted) or symptoms.get(key)
    if symptom is not None:
        return _symptom(symptom)
    signal = SIGNALS.get(wanted) or SIGNALS.get(key)
    if signal is not None:
        return _signal(signal)
    raise _unknown(wanted, alerts)


def _unknown(wanted: str, alerts: dict[str, Symptom]) -> UsageError:
    import difflib

    moves = {m.id: f"{e.id}/{m.id}" for e in all_entries().values() for m in e.moves}
    known = [*all_symptoms(), *alerts, *SIGNALS, *all_entries(), *moves.values()]
    last = wanted.rpartition("/")[2]
    near = [moves[last]] if last in moves else difflib.get_close_matches(wanted, known, n=3, cutoff=0.6)
    near = near or [k for k in known if wanted and wanted.lower() in k.lower()][:3]
    hint = f"Did you mean {' or '.join(near)}?" if near else "See them all with: diagnose explain --list"
    return UsageError(f"nothing is called {wanted!r}", hint=hint)


def _symptom(symptom: Symptom) -> list[str]:
    bounds = [f"{t.name} = {counted(t.default, t.unit)} ({_span(t)}): {t.reason}" for t in symptom.thresholds]
    read = sorted(grammar.signals(symptom.node()))
    return [
        *paragraph(f"{symptom.id}: {symptom.title}"),
        "",
        *labelled("meaning", symptom.meaning),
        *labelled("kind", f"{KINDS.get(symptom.kind, symptom.kind)} ({symptom.severity})"),
        *labelled("present", f"when {symptom.when}", f"only where {symptom.applies}" if symptom.applies else ""),
        *labelled("thresholds", *bounds),
        *labelled("reads", *(f"{s}: {SIGNALS[s].title}" for s in read if s in SIGNALS)),
        *labelled("moves", *(_reference(m) for m in symptom.moves)),
        *labelled("explains", ", ".join(symptom.explains)),
        *labelled("needs", symptom.missing),
        *labelled("alert", symptom.alert),
    ]


def _span(threshold: Threshold) -> str:
    return f"{counted(threshold.low, threshold.unit)} to {counted(threshold.high, threshold.unit)}"


def _reference(move: str) -> str:
    entry_id, _, move_id = move.partition("/")
    entry = all_entries().get(entry_id)
    title = next((m.title for m in entry.moves if m.id == move_id), "") if entry else ""
    return f"{move}: {title}" if title else move


def _entry(entry: Entry) -> list[str]:
    symptoms = [s for s in all_symptoms().values() if any(m.startswith(f"{entry.id}/") for m in s.moves)]
    lines = [
        *paragraph(f"{entry.id} {entry.title}"),
        "",
        *labelled("what", entry.what),
        *labelled("by default", entry.default_state),
        *labelled("impact", entry.impact),
        *labelled("risk", entry.risk),
        *labelled("evaluate", entry.evaluation),
        *labelled("symptoms", ", ".join(s.id for s in symptoms)),
        "",
    ]
    for move in entry.moves:
        lines += paragraph(f"{entry.id}/{move.id}: {move.title}")
        lines += flags(move, "    ")
    return [*lines, "", f"One move whole: diagnose explain {entry.id}/{entry.moves[0].id}"] if entry.moves else lines


def _move(entry: Entry, move: Move) -> list[str]:
    symptoms = [s.id for s in all_symptoms().values() if f"{entry.id}/{move.id}" in s.moves]
    return [
        *paragraph(f"{entry.id}/{move.id}: {move.title}"),
        *paragraph(f"of {entry.id} {entry.title}"),
        "",
        *labelled("change", *(spelling(f) for f in move.flags)),
        *labelled("moves", *move.expect),
        *labelled("check", move.measure),
        *labelled("undo", move.undo),
        *labelled("cost", f"{move.cost}; risk: {move.risk}"),
        *labelled("needs", move.requires),
        *labelled("not when", move.ruled_out),
        *labelled("is on when", move.applied),
        *labelled("then", *move.then),
        *labelled("note", move.note),
        *labelled("symptoms", ", ".join(symptoms)),
    ]


def _signal(signal: Signal) -> list[str]:
    symptoms = [s.id for s in all_symptoms().values() if signal.id in grammar.signals(s.node())]
    names = signal.calc.metrics if signal.calc else ()
    spelled = [
        f"{ENGINE_NAMES.get(engine, engine)}: {', '.join(s.name for s in spellings)}"
        for name in names if name in METRICS
        for engine, spellings in METRICS[name].spellings.items()
    ]  # fmt: skip
    return [
        *paragraph(f"{signal.id}: {signal.title}"),
        "",
        *labelled("meaning", signal.meaning),
        *labelled("unit", signal.unit),
        *labelled(
            "computed",
            f"{signal.calc.op} of {' and '.join(names)}"
            if signal.calc
            else "from the log, the configuration or the shape of other signals",
        ),
        *labelled("read from", *dict.fromkeys(spelled)),
        *labelled("symptoms", ", ".join(symptoms)),
    ]


def _listing() -> list[str]:
    lines = ["Guide entries and moves"]
    for entry in all_entries().values():
        lines += [f"  {entry.id}  {entry.title}", *(f"    {entry.id}/{m.id}" for m in entry.moves)]
    lines += ["", "Symptoms", *(f"  {s.id.ljust(32)} {s.title}" for s in all_symptoms().values())]
    lines += ["", "Signals", *(f"  {s.id.ljust(32)} {s.title}" for s in SIGNALS.values())]
    return lines
