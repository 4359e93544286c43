"""``diagnose thresholds``: every threshold with its value, unit, bounds, reason and where the value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from diagnose.settings import Settings
    from diagnose.symptoms import Threshold

SCHEMA = "diagnose.thresholds/1"
EXAMPLES = """\b
Examples:
  diagnose thresholds                          every threshold in force
  diagnose thresholds preemption_storm         of one symptom
  diagnose thresholds --format toml > my.toml  a commented file to change
  diagnose thresholds --config my.toml         what my file changes
  diagnose now localhost:8000 --config my.toml

\b
In the file, by dotted name or by table; ratios are 0 to 1 (0.9, not 90):
  [thresholds]
  "preemption_storm.storm" = 0.2

\b
  [thresholds.preemption_storm]
  storm = 0.2

\b
  [slo]
  ttft_p95 = "1s\""""


@click.command("thresholds", epilog=EXAMPLES)
@click.argument("symptoms", nargs=-1, metavar="[SYMPTOM]...")
@click.option("--config", metavar="FILE", help="Thresholds (TOML) that override the defaults.")
@click.option("--format", "form", type=click.Choice(("text", "json", "toml")), default="text", show_default=True)
@click.option("--changed", is_flag=True, help="Only those that the file changes.")
def command(symptoms: tuple[str, ...], config: str | None, form: str, changed: bool) -> None:
    """Every threshold: value, unit, bounds, reason, and where it comes from."""
    from diagnose import settings
    from diagnose.cli.output import emit

    resolved = settings.resolve(config)
    shown = _shown(symptoms, resolved, changed)
    forms = {"text": _text, "json": _json, "toml": _toml}
    emit(forms[form](shown, resolved))


def _shown(symptoms: tuple[str, ...], resolved: Settings, changed: bool) -> dict[str, Threshold]:
    """The thresholds asked for, by id. Raises UsageError for a symptom that does not exist."""
    from diagnose import settings
    from diagnose.cli import suggestion
    from diagnose.errors import UsageError
    from diagnose.symptoms import all_symptoms

    for name in symptoms:
        if name.partition(".")[0] not in all_symptoms():
            raise UsageError(
                f"no symptom {name!r}", hint=suggestion(name, dict.fromkeys(all_symptoms(), ""), "diagnose thresholds")
            )
    known = settings.declared()
    overridden = set(resolved.overridden())
    return {
        key: threshold
        for key, threshold in known.items()
        if (not symptoms or key in symptoms or key.partition(".")[0] in symptoms) and (not changed or key in overridden)
    }


def _text(shown: dict[str, Threshold], resolved: Settings) -> str:
    from diagnose.cli.prose import paragraph

    if not shown:
        return "No threshold is changed or matches.\n"
    lines: list[str] = []
    symptom = ""
    for key, threshold in shown.items():
        if (owner := key.partition(".")[0]) != symptom:
            symptom = owner
            lines += ["", symptom] if lines else [symptom]
        value, source = resolved.values[key], resolved.provenance(key)
        origin = source if source == "default" else f"{source}, default {threshold.default:g}"
        lines += paragraph(
            f"{threshold.name} = {value:g} {threshold.unit} ({threshold.low:g} to {threshold.high:g}; {origin})", "  "
        )
        lines += paragraph(threshold.reason, "      ", "")
    if resolved.slo:
        lines += ["", "slo", *(f"  {name} = {value:g} s" for name, value in resolved.slo.items())]
    return "\n".join(lines) + "\n"


def _json(shown: dict[str, Threshold], resolved: Settings) -> str:
    import json

    rows: list[dict[str, Any]] = [
        {
            "id": key, "symptom": key.partition(".")[0], "name": t.name, "value": resolved.values[key], "unit": t.unit,
            "default": t.default, "low": t.low, "high": t.high, "reason": t.reason, "source": resolved.provenance(key),
        }
        for key, t in shown.items()
    ]  # fmt: skip
    return json.dumps({"schema": SCHEMA, "thresholds": rows, "slo": dict(resolved.slo)}, indent=2) + "\n"


def _toml(shown: dict[str, Threshold], resolved: Settings) -> str:
    """A complete file: values in force that differ from the defaults are set, all others are comments."""
    import textwrap

    from diagnose.settings import SLO_TARGETS

    lines = [
        "# Thresholds of diagnose. Take the # off a line to change it; what is not set keeps its default.",
        "# Base units: ratios are 0 to 1 (0.9, not 90), times are seconds.",
    ]
    symptom = ""
    for key, threshold in shown.items():
        if (owner := key.partition(".")[0]) != symptom:
            symptom = owner
            lines += ["", f"[thresholds.{symptom}]"]
        lines += textwrap.wrap(threshold.reason, 100, initial_indent="# ", subsequent_indent="# ")
        value, mark = resolved.values[key], "# " if resolved.provenance(key) == "default" else ""
        bounds = f"{threshold.unit}, {threshold.low:g} to {threshold.high:g}".lstrip(", ")
        lines.append(f"{mark}{threshold.name} = {_number(value)}  # {bounds}")
    lines += ["", "[slo]  # targets of your service"]
    for target in SLO_TARGETS:
        set_to = resolved.slo.get(target.name)
        line = f"{target.name} = {_number(set_to)}" if set_to is not None else f'# {target.name} = "1s"'
        lines.append(f"{line}  # {target.meaning}")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
