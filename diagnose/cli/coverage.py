"""``diagnose coverage``: what is measured and what is missing, by resource."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from diagnose.cli import inputs
from diagnose.cli.output import encodable
from diagnose.errors import EXIT_HEALTHY, SourceError

if TYPE_CHECKING:
    from diagnose.model import Observations, TargetSummary

ENGINE_PREFIX = re.compile(r"(?:ray_)?(vllm|sglang|lmcache|dynamo)[:_]")
_PARTS = re.compile(r"_(bucket|sum|count)$")
EXAMPLES = """\b
Examples:
  diagnose coverage                              what would be read, per engine
  diagnose coverage localhost:8000               what this engine tells, what not
  diagnose coverage bundle/ --format json
  diagnose coverage localhost:8000 --unknown     engine series that are not known"""


@click.command("coverage", epilog=EXAMPLES)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--unknown", is_flag=True, help="List engine series that the catalog does not know.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@inputs.window_option
@inputs.evidence_options
@inputs.http_options
def command(
    targets: tuple[str, ...], unknown: bool, form: str, window: float, logs: tuple[str, ...],
    launches: tuple[str, ...], infos: tuple[str, ...], **http: Any,
) -> int:  # fmt: skip
    """What is measured and what is missing: resources by utilization, saturation and errors.

    Without TARGET: the metrics that are read for each resource.
    """
    evidence = inputs.Evidence(logs, launches, infos)
    if not targets and not evidence:
        if unknown:
            raise click.UsageError("--unknown needs a TARGET")
        click.echo(encodable(_declared(form)))
        return EXIT_HEALTHY
    seen = inputs.gather(targets, evidence, window, lambda: inputs.http(**http), None if unknown else _families())
    text = _unknown(seen, form) if unknown else _measured(seen, form)
    click.echo(encodable(text))
    return EXIT_HEALTHY


def _families() -> frozenset[str]:
    from diagnose.engines.catalog import known_families

    return known_families()


def _measured(seen: Observations, form: str) -> str:
    from diagnose import settings, walk

    targets = walk.diagnose(seen, settings.resolve(None)).targets
    if not targets:
        raise SourceError("no engine in the input", hint="See what is read: diagnose coverage")
    if form == "json":
        return _json([_document(t) for t in targets])
    return "\n\n".join(_page(t) for t in targets)


def _page(target: TargetSummary) -> str:
    from diagnose.cli.prose import labelled
    from diagnose.report import resources, words

    cells = resources.measured(target.signals)
    known = sum(c.value is not None for c in cells)
    head = words.article_list(
        (words.engine_name(target.engine, target.version), words.clean(target.model), target.name)
    )
    lines = [f"{head}: {known} of {len(cells)} measured"]
    for resource in resources.RESOURCES:
        own = [c for c in cells if c.resource == resource.name]
        lines += ["", resource.name]
        if all(c.value is None for c in own):
            lines += labelled("  missing", resource.how, column=15)
            continue
        for cell in own:
            lines += labelled(f"  {cell.aspect}", resources.said(cell, target.scrapes), column=15)
    return "\n".join(lines)


def _document(target: TargetSummary) -> dict[str, Any]:
    from diagnose.report import resources, words

    return {
        "target": target.name,
        "engine": target.engine,
        "version": target.version,
        "coverage": [
            {
                "resource": c.resource, "aspect": c.aspect, "signal": c.signal,
                "value": c.value.value if c.value else None, "unit": words.unit_of(c.signal), "how": c.how,
            }
            for c in resources.measured(target.signals)
        ],
    }  # fmt: skip


def _declared(form: str) -> str:
    from diagnose.cli.prose import labelled
    from diagnose.report import resources

    if form == "json":
        return _json(
            [
                {"resource": r.name, "aspect": a, "signal": s, "spellings": resources.spellings(s), "how": r.how}
                for r in resources.RESOURCES for a in resources.ASPECTS for s in r.signals(a)
            ]
        )  # fmt: skip
    lines: list[str] = []
    for resource in resources.RESOURCES:
        lines += ["", resource.name]
        for aspect in resources.ASPECTS:
            lines += labelled(f"  {aspect}", *(_source(s) for s in resource.signals(aspect)), column=15)
        lines += labelled("  to get", resource.how, column=15)
    return "\n".join(lines[1:])


def _source(signal: str) -> str:
    from diagnose.report import resources, words

    names = resources.spellings(signal)
    where = "; ".join(" / ".join(found) for found in names.values()) or "log or configuration"
    return f"{words.signal_title(signal)} ({where})"


def _unknown(seen: Observations, form: str) -> str:
    known = _families()
    held: dict[str, int] = {}
    for scrape in seen.scrapes:
        for name, series in scrape.samples.items():
            base = _PARTS.sub("", name)
            names = (name, base, base.removesuffix("_total"), base.removesuffix("_info"))
            spellings = {*names, *map(_other, names)}
            if ENGINE_PREFIX.match(name) and not spellings & known and not name.endswith("_created"):
                held[base] = max(held.get(base, 0), len(series))
    if form == "json":
        return _json([{"name": n, "series": c} for n, c in sorted(held.items())])
    lines = [f"{name}  {count} series" for name, count in sorted(held.items())]
    return "\n".join(lines) if lines else "Every engine series is known."


def _other(name: str) -> str:
    """The same name with the other separator behind the engine's prefix."""
    return ENGINE_PREFIX.sub(lambda m: m.group(1) + ("_" if m.group().endswith(":") else ":"), name, count=1)


def _json(value: Any) -> str:
    import json

    return json.dumps(value, indent=2)
