"""The grammar of one sample line: name, label set, value, timestamp; and why a line is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

Labels = dict[str, str]

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_QUOTED = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_SET = rf'[^"}}\n]*(?:{_QUOTED}[^"}}\n]*)*'
_CAREFUL = re.compile(
    rf"({_NAME})(?:\s*\{{({_SET})\}}\s*|\s+)([^\s#{{]+)(?:\s+([^\s#{{]+))?(?:\s+#.*)?", re.ASCII | re.DOTALL
)
_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="([^"\\]*)"')
_PLAIN_SET = re.compile(r'(?:[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*"(?:,(?!$)|$))*')
_TERM = re.compile(rf"\s*({_NAME}|{_QUOTED})\s*(?:=\s*({_QUOTED})\s*)?(?:,|$)")
_ESCAPE = re.compile(r'\\[\\n"]')
_UNESCAPED = {r"\\": "\\", r"\n": "\n", r"\"": '"'}
_QUOTED_NAME = re.compile(rf"\{{({_SET})\}}[ \t]*(\S.*)")


class MalformedLine(ValueError):
    """Why one line is not a sample."""


def number_of(text: str) -> float:
    """The number of a value or timestamp (NaN, +Inf and -Inf included). Raises MalformedLine."""
    try:
        if "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise MalformedLine(f"not a number: {text[:40]!r}")


def parse_labels(raw: str) -> Labels:
    """Labels of the text between ``{`` and ``}``; a bare quoted term is ``__name__``. Raises MalformedLine."""
    pairs = _PAIR.findall(raw) if _PLAIN_SET.fullmatch(raw) else list(_terms(raw))
    labels = dict(pairs)
    if len(labels) != len(pairs):
        raise MalformedLine("a label occurs twice")
    return labels


def _terms(raw: str) -> Iterator[tuple[str, str]]:
    rest = raw.strip()
    rest = rest[1:] if rest.startswith(",") else rest
    position = 0
    while position < len(rest):
        term = _TERM.match(rest, position)
        if term is None:
            why = "unclosed label value" if rest.count('"') % 2 else "malformed labels"
            raise MalformedLine(f"{why} at {rest[position : position + 30]!r}")
        position = term.end()
        name, value = term.groups()
        if value is None:
            if not name.startswith('"'):
                raise MalformedLine(f"label without a value: {name[:40]!r}")
            yield "__name__", _unquoted(name)
        else:
            yield _unquoted(name), _unquoted(value)


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _unquoted(text: str) -> str:
    text = text[1:-1] if text.startswith('"') else text
    return _ESCAPE.sub(lambda m: _UNESCAPED[m.group()], text) if "\\" in text else text


def split_line(line: str) -> tuple[str, str, str, str]:
    """Name ("" when it is quoted among the labels), raw labels, value and timestamp. Raises MalformedLine."""
    if match := _CAREFUL.fullmatch(line):
        return match[1], match[2] or "", match[3], match[4] or ""
    if match := _QUOTED_NAME.fullmatch(line):
        numbers = match[2].split(" # ", 1)[0].split()
        if 0 < len(numbers) < 3:
            return "", match[1], numbers[0], numbers[1] if len(numbers) > 1 else ""
    raise MalformedLine(_why_not(line))


def _why_not(line: str) -> str:
    name = re.match(_NAME, line)
    if name is None:
        return f"not a sample: {line[:40]!r}"
    rest = line[name.end() :].lstrip()
    if not rest:
        return "no value"
    if rest.startswith("{"):
        closed = re.match(rf"\{{{_SET}\}}", rest)
        if closed is None:
            return "unclosed label value" if _odd_quotes(rest) else "unclosed labels"
        rest = rest[closed.end() :].strip()
        if not rest:
            return "no value"
        if rest.startswith("{"):
            return "a native histogram is not read"
    return f"not a value: {rest[:40]!r}"


def _odd_quotes(text: str) -> bool:
    return text.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 1
