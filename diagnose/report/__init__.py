"""Reports: a diagnosis as text, JSON, Markdown or HTML. Formats are loaded when they are asked for."""

from __future__ import annotations

from diagnose.model import Diagnosis

FORMATS = ("text", "json", "markdown", "html")


def render(diagnosis: Diagnosis, form: str, *, width: int = 80, color: bool = False) -> str:
    """The diagnosis in one of FORMATS, ending in a newline. ``width`` and ``color`` concern text only."""
    if form == "json":
        from diagnose.report import json_

        return json_.render(diagnosis)
    if form == "markdown":
        from diagnose.report import markdown

        return markdown.render(diagnosis)
    if form == "html":
        from diagnose.report import html

        return html.render(diagnosis)
    from diagnose.report import text

    return text.render(diagnosis, width=width, color=color)
