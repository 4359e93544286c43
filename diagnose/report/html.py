"""The report as one self-contained HTML page: no script, nothing loaded from elsewhere, everything escaped."""

from __future__ import annotations

from diagnose.model import Diagnosis
from diagnose.report import fleet, words
from diagnose.report.document import Page, Section, page
from diagnose.report.markdown import TITLES

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:54rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem;margin:.2rem 0}.seen{color:#57606a}dt{font-weight:600;margin-top:.8rem}dd{margin:0}
.verdict{display:inline-block;padding:.1rem .6rem;border-radius:.3rem;color:#fff;background:#57606a}
.act{background:#9a6700}.healthy{background:#1a7f37}.engine-fault{background:#cf222e}.cannot-tell{background:#0969da}
pre{background:#f6f8fa;padding:.6rem;overflow-x:auto;margin:.3rem 0}ul{margin:0;padding-left:1.2rem}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.15rem .6rem;border-bottom:1px solid #d0d7de;text-align:left}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}}
"""


def render(diagnosis: Diagnosis) -> str:
    """The page with trailing newline."""
    shown = page(diagnosis)
    verdict = words.VERDICT_WORDS.get(shown.verdict, shown.verdict)
    sure = f" <small>({_escape(shown.confidence)} confidence)</small>" if shown.confidence else ""
    body = "\n".join(
        (
            f'<p><span class="verdict {_escape(shown.verdict)}">{_escape(verdict)}</span></p>',
            f"<h1>{_escape(shown.headline)}{sure}</h1>",
            f'<p class="seen">{_escape(words.article_list((shown.subject, shown.seen)))}</p>',
            _table(shown),
            f"<dl>{''.join(_section(s) for s in shown.sections)}</dl>",
        )
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_escape(verdict)}: {_escape(shown.subject)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _escape(text: str) -> str:
    from html import escape

    return escape(text, quote=True)


def _section(section: Section) -> str:
    code = f"<pre>{_escape(chr(10).join(section.strong))}</pre>" if section.strong else ""
    items = "".join(f"<li>{_escape(line)}</li>" for line in section.lines)
    body = _escape(section.lines[0]) if len(section.lines) == 1 else f"<ul>{items}</ul>" if items else ""
    return f"<dt>{_escape(TITLES.get(section.label, section.label))}</dt><dd>{body}{code}</dd>"


def _table(shown: Page) -> str:
    if shown.table is None:
        return ""
    head = "".join(f"<th>{_escape(h)}</th>" for h in fleet.HEADINGS)
    rows = "".join(f"<tr>{''.join(f'<td>{_escape(c)}</td>' for c in row)}</tr>" for row in shown.table.rows)
    return f"<table><tr>{head}</tr>{rows}</table><p>{_escape(shown.table.rest)}</p>"
