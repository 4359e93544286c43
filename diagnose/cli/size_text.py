"""How ``diagnose size`` shows a sizing: the filled-in formula, every term with its unit and source, or JSON."""

from __future__ import annotations

from typing import Any

from diagnose.cli.output import width
from diagnose.cli.prose import labelled
from diagnose.sizing_terms import Sizing, Term
from diagnose.wording import plain, size

SCHEMA = "diagnose.size/1"
COLUMN = 22
LAYERS = {"attention layers": "", "window attention layers": "window ", "MLA layers": "", "state layers": "state "}


def text(result: Sizing, title: str) -> str:
    """The whole page, at most as wide as the terminal (80 columns without one)."""
    lines = [title, ""]
    for label, formula in formulas(result):
        lines += labelled(label, formula, column=COLUMN)
    lines += ["", *table(result.terms)]
    if result.notes:
        lines += ["", *(line for note in result.notes for line in labelled("note", note, column=6))]
    if result.max_sequences:
        n = result.max_sequences
        lines += ["", *labelled("set", f"vLLM --max-num-seqs {n}, SGLang --max-running-requests {n}", column=6)]
    return "\n".join(lines) + "\n"


def formulas(result: Sizing) -> list[tuple[str, str]]:
    """The guide's lines with numbers filled in, as label and formula; only those whose terms are there."""
    terms = {t.name: t for t in result.terms}
    lines = []
    if "weight shard" in terms:
        parts = [size(terms[n].value) for n in ("weight shard", "activation reserve", "graph pool") if terms[n].value]
        memory = f"{size(terms['GPU memory'].value)} x {plain(terms['utilization'].value)} - {' - '.join(parts)}"
        lines.append(("available KV memory", f"{memory} = {_signed(terms['available KV memory'].value)}"))
    if "KV bytes per token" in terms and "bytes per KV element" in terms:
        lines.append(("KV bytes per token", f"{_per_token(result.terms)} = {plain(terms['KV bytes per token'].value)}"))
    if result.kv_tokens and "available KV memory" in terms:
        lines.append(("KV tokens", _tokens(terms, result)))
    if result.max_sequences is not None and result.formula:
        lines.append(("max sequences", result.formula))
    return lines


def _signed(value: float) -> str:
    return size(value) if value >= 0 else f"-{size(-value)}"


def _tokens(terms: dict[str, Term], result: Sizing) -> str:
    """KV tokens: by the token where every token costs the same, else by the sequence."""
    memory, tokens = size(terms["available KV memory"].value), plain(result.kv_tokens or 0)
    each, context = terms.get("KV bytes per sequence"), terms.get("average context")
    by_sequence = {"window attention layers", "state layers"} & terms.keys()
    if by_sequence and each is not None and context is not None:
        return f"{memory} / {size(each.value)} per sequence x {plain(context.value)} tokens = {tokens}"
    return f"{memory} / {plain(result.per_token_bytes or 0)} bytes = {tokens}"


def _per_token(terms: tuple[Term, ...]) -> str:
    """The products of the layers whose cost grows with every token."""
    element = next(t.value for t in terms if t.name == "bytes per KV element")
    products: list[str] = []
    kind, factors = "", [""]
    for term in (*terms, Term("attention layers", 0, "", "")):
        if term.name in LAYERS:
            if kind in ("attention layers", "MLA layers"):
                products.append(" x ".join((*factors, f"{plain(element)} bytes")))
            kind, factors = term.name, [f"{plain(term.value)} layers"]
        elif term.name == "KV heads per rank":
            factors.append(f"{plain(term.value)} KV heads")
        elif term.name == "head size K + V":
            factors.append(f"{plain(term.value)} K + V")
        elif term.name == "latent width":
            factors.append(f"{plain(term.value)} latent")
    return " + ".join(products) or "no layer grows with the tokens"


def table(terms: tuple[Term, ...]) -> list[str]:
    """One line per term: name, value, unit, where it comes from; long sources are wrapped under themselves."""
    rows = [("term", "value", "unit", "from"), *((t.name, *_shown(t), t.source) for t in terms)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = []
    for name, value, unit, source in rows:
        head = f"{name:<{widths[0]}}  {value:>{widths[1]}}  {unit:<{widths[2]}}  "
        lines += _hang(head, source)
    return lines


def _hang(head: str, rest: str) -> list[str]:
    import textwrap

    wrapped = textwrap.wrap(rest, max(12, width() - len(head))) or [""]
    return [(head + wrapped[0]).rstrip(), *(" " * len(head) + line for line in wrapped[1:])]


def _shown(term: Term) -> tuple[str, str]:
    """Value and unit for people: large byte counts in GiB or MiB, everything else as it is."""
    unit, _, per = term.unit.partition(" per ")
    if unit == "bytes" and abs(term.value) >= 1024**2:
        number, _, factor = _signed(term.value).rpartition(" ")
        return number, f"{factor} per {per}" if per else factor
    return plain(term.value), term.unit


def document(result: Sizing, title: str) -> dict[str, Any]:
    """The JSON form, in base units; what is not known is null."""
    return {
        "title": title,
        "kv_tokens": result.kv_tokens,
        "max_sequences": result.max_sequences,
        "per_token_bytes": result.per_token_bytes,
        "formula": result.formula,
        "terms": [{"name": t.name, "value": t.value, "unit": t.unit, "source": t.source} for t in result.terms],
        "notes": list(result.notes),
    }
