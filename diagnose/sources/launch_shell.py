"""Command lines as operators paste them: continuations, prompts, smart quotes, environment prefixes, docker run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from diagnose.sources import launch_convert, launch_facts, launch_flags

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "`": "'"})
_DASHES = re.compile(r"(?:(?<=\s)|^)[–—−‒―‐‑-]{1,3}(?=[A-Za-z])")
_DASH_CHARS = re.compile(r"[–—−‒―‐‑]")
_PROMPT = re.compile(r"^\s*(?:\(\w[\w.-]*\)\s*)?(?:[\w.-]+@[\w.-]+:?[^\s#$]*[#$%]|[$%❯➜])\s+(?=[\w./~])")
_REMARK = re.compile(r"\s#\s.*$")
_ENV = re.compile(r"(?:export\s+|env\s+|set\s+)?([A-Za-z_]\w*)=")
_FLAG = re.compile(r"--?[A-Za-z][\w.-]*")
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+""", re.S)
MAX_QUOTED = 20_000
_BEFORE = ("export", "env", "set", "sudo", "nohup", "exec", "time", "command")
_SPLIT = re.compile(r"\s(?:&&|\|\||;|\||&)(?=\s|$)|;\s*$")


@dataclass(frozen=True)
class Command:
    """One command: its environment, its words, and the remark behind it."""

    env: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()


def clean(line: str) -> str:
    """The line with ASCII quotes, dashes and full-width characters, without a shell prompt."""
    line = unicodedata.normalize("NFKC", line.replace("\ufeff", "").replace("\xa0", " ")).translate(_QUOTES)
    line = _DASHES.sub(_dash, line)
    return _PROMPT.sub("", line)


def _dash(found: re.Match[str]) -> str:
    """``--`` for a typographic dash (editors turn ``--`` into one); plain hyphens stay as they are."""
    return "--" if _DASH_CHARS.search(found.group()) else found.group()


def logical_lines(text: str) -> Iterator[str]:
    """Lines with continuations joined: a trailing backslash, an open quote, or a next line that starts with a flag."""
    lines = [_REMARK.sub("", clean(line)) for line in text.splitlines() if not line.strip().startswith("```")]
    held = ""
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not held and (not stripped or stripped.startswith("#")):
            continue
        if held and stripped.startswith("#"):
            continue
        held = f"{held} {stripped}" if held else stripped
        if held.endswith(("\\", "^")):
            held = held[:-1].rstrip()
            if number + 1 < len(lines) and lines[number + 1].strip():
                continue
        if number + 1 < len(lines) and len(held) < MAX_QUOTED and _open_quote(held):
            continue
        following = next((ahead.strip() for ahead in lines[number + 1 : number + 3] if ahead.strip()), "")
        if re.match(r"--?[a-zA-Z]", following):
            continue
        yield held
        held = ""
    if held:
        yield held


def _open_quote(text: str) -> bool:
    """Whether a quote that holds JSON is still open (an apostrophe in prose is not)."""
    rest = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "", text)
    return rest.count("'") % 2 == 1 and "{" in rest.partition("'")[2]


def words(line: str) -> list[str]:
    """Shell words with quotes removed; an unbalanced quote is kept as a plain character."""
    return [_unquote(match.group()) for match in _WORD.finditer(line)]


def _unquote(word: str) -> str:
    out: list[str] = []
    for part in re.finditer(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|(.)", word, re.S):
        single, double, escaped, plain = part.groups()
        if double is not None:
            out.append(re.sub(r"\\([\"\\$`])", r"\1", double))
        else:
            out.append(next(p for p in (single, escaped, plain) if p is not None))
    return "".join(out)


def commands(text: str) -> Iterator[Command]:
    """Every command of a shell text; exported variables carry over to the commands behind them."""
    carried: dict[str, str] = {}
    for line in logical_lines(text):
        for piece in _pieces(line):
            parts = words(piece)
            env: dict[str, str] = {}
            while parts and (parts[0] in _BEFORE or _is_env(parts[0])):
                word = parts.pop(0)
                if _is_env(word):
                    name, _, value = word.partition("=")
                    env[name] = value
            if parts:
                yield Command({**carried, **env}, tuple(parts))
            else:
                carried.update(env)
    if carried:
        yield Command(carried, ())


def _is_env(word: str) -> bool:
    return bool(_ENV.match(word)) and not word.startswith("-")


def _pieces(line: str) -> list[str]:
    """The commands of one line, split at ``&&``, ``;`` and pipes outside quotes."""
    masked = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", lambda m: "x" * len(m.group()), line)
    cuts = [0, *(m.end() for m in _SPLIT.finditer(masked)), len(line)]
    pieces = [line[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    return [re.sub(r"\s*(?:&&|\|\||;|\||&)\s*$", "", p).strip() for p in pieces if p.strip()]


def flags(parts: list[str], kind: str) -> tuple[dict[str, Any], list[str]]:
    """Settings by name (underscores, dotted names nested) and the words that belong to no flag."""
    settings: dict[str, Any] = {}
    rest: list[str] = []
    position = 0
    while position < len(parts):
        word = parts[position]
        position += 1
        if not _FLAG.match(word) or word == "-":
            rest.append(word)
            continue
        name, given, value = word.lstrip("-").partition("=")
        name = _name(name, kind, word.startswith("--"))
        if name[:1] == "O" and name[1:].isdigit():
            _put(settings, "O", name[1:])
        elif given:
            _put(settings, name, value)
        else:
            position = _take(settings, name, parts, position, kind)
    return settings, rest


def _name(name: str, kind: str, long: bool) -> str:
    if not long and kind == "vllm" and "." in name:
        head, _, tail = name.partition(".")
        return f"{launch_flags.SHORT_VLLM.get(head, head)}.{tail}"
    if not long and kind == "vllm":
        return launch_flags.SHORT_VLLM.get(name, name)
    head, dot, tail = name.partition(".")
    return head.replace("-", "_") + dot + tail


def _take(settings: dict[str, Any], name: str, parts: list[str], position: int, kind: str) -> int:
    """Stores the flag with the value or values that follow it; returns the next position."""
    if name.startswith("no_") and not launch_facts.index(kind).get(name):
        _put(settings, name[3:], False)
        return position
    following = parts[position] if position < len(parts) else ""
    is_value = position < len(parts) and (not _FLAG.match(following) or following[1:2].isdigit())
    if launch_facts.stands_alone(kind, name):
        said = following.lower() in ("true", "false") and is_value
        _put(settings, name, following.lower() == "true" if said else True)
        return position + said
    if not is_value:
        _put(settings, name, True)
        return position
    if name not in launch_flags.LISTS:
        _put(settings, name, following)
        return position + 1
    values: list[str] = []
    while position < len(parts) and not _FLAG.match(parts[position]):
        values.append(parts[position])
        position += 1
    _put(settings, name, values)
    return position


def _put(settings: dict[str, Any], name: str, value: Any) -> None:
    """Stores ``a.b = v`` as ``{a: {b: v}}``, beside what a JSON value of ``a`` gave."""
    head, dot, tail = name.partition(".")
    if not dot:
        settings[name] = value
        return
    held = settings.get(head)
    inner = held if isinstance(held, dict) else launch_convert.mapping(held)
    _put(inner, tail.replace("-", "_"), value)
    settings[head] = inner
