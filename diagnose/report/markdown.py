"""The report as Markdown, to paste into a ticket."""

from __future__ import annotations

import re

from diagnose.model import Diagnosis
from diagnose.report import fleet, words
from diagnose.report.document import Page, Section, page

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")
TITLES = {
    "NEXT": "Change", "why": "Why", "moves": "What it should move", "check": "How to measure", "undo": "How to undo",
    "then": "Likely to limit next", "load": "Load", "models": "Models", "also": "Also seen", "guide": "Guide walk",
    "missing": "Missing", "note": "Notes", "fault": "Fault", "do": "What to do",
    "looked": "Looked at", "get": "What would decide",
}  # fmt: skip


def render(diagnosis: Diagnosis) -> str:
    """The report as Markdown with trailing newline."""
    shown = page(diagnosis)
    verdict = words.VERDICT_WORDS.get(shown.verdict, shown.verdict)
    sure = f" ({shown.confidence} confidence)" if shown.confidence else ""
    parts = [
        f"## {verdict}: {escape(shown.headline)}{sure}",
        escape(words.article_list((shown.subject, shown.seen))),
        *_table(shown),
        *(_section(s) for s in shown.sections),
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def escape(text: str) -> str:
    """The text with Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", text)


def _section(section: Section) -> str:
    title = f"**{TITLES.get(section.label, section.label)}**"
    code = (
        ("```\n" + "\n".join(line.replace("```", "'''") for line in section.strong) + "\n```") if section.strong else ""
    )
    lines = [escape(line) for line in section.lines]
    body = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
    return "\n\n".join(
        p for p in (title if len(lines) != 1 else f"{title}: {body}", code, body if len(lines) > 1 else "") if p
    )


def _table(shown: Page) -> list[str]:
    if shown.table is None:
        return []
    head = [f"| {' | '.join(fleet.HEADINGS)} |", f"|{'---|' * len(fleet.HEADINGS)}"]
    rows = [f"| {' | '.join(escape(cell) for cell in row)} |" for row in shown.table.rows]
    return ["\n".join([*head, *rows]), shown.table.rest]
