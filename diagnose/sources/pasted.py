"""Expositions as people paste them: quoted, fenced, with prose, several scrapes or pods in one text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_META = re.compile(r"^[ \t]*#*[ \t]*(HELP|TYPE|UNIT)[ \t]+(?=[a-zA-Z_:][\w:]*[ \t])", re.MULTILINE)
_SAMPLE = re.compile(
    r'^(?P<head>[a-zA-Z_:][a-zA-Z0-9_:]*[ \t]*(?:\{[^"}]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"}]*)*\})?)'
    r"[ \t]+[-+]?(?:\d[\d.eE+-]*|\.\d+|[nN]a[nN]|[iI]nf)(?:[ \t]+-?\d[\d.]*)?(?:[ \t]+#.*)?[ \t]*$",
    re.ASCII,
)
_PREFIXED = re.compile(
    r"^\S.*?[\s|:\]](?=(?:ray_)?(?:vllm|sglang|lmcache|dynamo)[:_]\w+[ \t]*(?:\{.*\})?[ \t]+\S+[ \t]*$)"
)
_BEGUN = re.compile(r"[a-zA-Z_:][\w:]*\{|(?:ray_)?(?:vllm|sglang):\w*$")
_POD_PREFIX = re.compile(r"^\[?(?:pod/)?([\w.-]+(?:/[\w.-]+)?)\]?[ \t]*[|:\]]?[ \t]*$")
_TAIL_MARK = re.compile(r"^==> *(.+?) *<==$")
_POD_MARK = re.compile(
    r"^[#\-=*\s$]*(?:pod|replica|instance|worker|engine|host|target|node)[\s:=#]+([\w./:-]+)[\s:=#*-]*$", re.IGNORECASE
)
_URL_MARK = re.compile(r"\bcurl\b.*?((?:https?://)?[\w.-]*:\d+|https?://[\w.-]+)\S*")
_UNIX = re.compile(r"(?<![\d.])(1[4-9]\d{8}|2\d{9})(\.\d+)?(?![\d.])")
_CLOCK = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d)[T ]|\b)(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?")
_SECONDS = r"(\d+(?:\.\d+)?)\s*(ms|s|sec|secs|seconds?|m|min|minutes?)"
_OFFSET = re.compile(
    rf"\bt\s*[=+]\s*\+?(\d+(?:\.\d+)?)()\b|(?:\bt\s*[=+]\s*\+?\s*|\bafter\s+|^[#\-=*\s]*\+\s*){_SECONDS}\b"
    rf"|\b{_SECONDS}\s+later\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Block:
    """The lines of one scrape: ``time`` is unix seconds, seconds of the day, an offset or None; target "" is ours."""

    text: str
    time: float | None = None
    target: str = ""


@dataclass(frozen=True)
class _Mark:
    """A line between samples that gives a time or names a target."""

    time: float | None
    target: str


def unquote(text: str) -> str:
    """Text without what mail, chat and Markdown add: quote signs, fences, headings, escapes, typographic quotes."""
    text = text.replace("\r\n", "\n").replace("\u201c", '"').replace("\u201d", '"').replace("\u00a0", " ")
    if ">" in text[:2000]:
        text = _QUOTE.sub("", text)
    if "&quot;" in text:
        import html

        text = html.unescape(text)
    if r"\_" in text:
        text = re.sub(r"\\([_*\[\]{}#])", r"\1", text)
    return _META.sub(r"# \1 ", text)


def split_dump(text: str) -> tuple[Block, ...]:
    """The scrapes of a dump in the order of the text. A scrape ends where a series comes again, or at a time or pod."""
    lines = text.split("\n")
    rows = [_row(line) for line in lines]
    blocks: list[Block] = []
    for target, part in _by_target(lines, rows):
        blocks.extend(_by_scrape(part, target))
    return tuple(blocks)


Row = tuple[str, str] | _Mark | None  # (series, cleaned line) | mark | anything else


def _row(line: str) -> Row:
    line = line.strip()
    if not line or line.startswith("```"):
        return None
    sample = _SAMPLE.match(line)
    if sample:
        return sample["head"].replace(" ", ""), line
    prefixed = _PREFIXED.match(line)
    if prefixed and not line.startswith("#"):
        inner = line[prefixed.end() :]
        sample = _SAMPLE.match(inner)
        if sample:
            pod = _POD_PREFIX.match(prefixed.group())
            owner = pod[1] if pod and not pod[1].isdigit() else ""
            return f"{owner}|{sample['head']}".replace(" ", ""), inner
    if line.startswith(("# HELP", "# TYPE", "# UNIT")) or _BEGUN.match(line):
        return "", line
    return _mark(line)


def _mark(line: str) -> _Mark | None:
    if len(line) > 200:
        return None
    target = _TAIL_MARK.match(line) or _POD_MARK.match(line) or _URL_MARK.search(line)
    time = _time_of(line)
    if target is None and time is None:
        return None
    return _Mark(time, target[1] if target else "")


def _time_of(line: str) -> float | None:
    """Unix seconds, seconds of the day or an offset, whichever a date-like line gives; None for prose."""
    if match := _UNIX.search(line):
        return float(match.group())
    if match := _CLOCK.search(line):
        year, month, day, hour, minute, second, part = match.groups()
        fraction = float(f"0.{part or 0}")
        base = _date(year, month, day) if year else 0.0
        return base + int(hour) * 3600 + int(minute) * 60 + int(second) + fraction
    if match := _OFFSET.search(line):
        number, unit = [g for g in match.groups() if g is not None][:2]
        return float(number) * {"ms": 0.001, "m": 60.0, "mi": 60.0}.get(unit.lower()[:2], 1.0)
    return None


def _date(year: str, month: str, day: str) -> float:
    try:
        return datetime(int(year), int(month), int(day), tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _by_target(lines: list[str], rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Rows per named target. A name that stands between samples opens a target; an unnamed start is ours."""
    names = [r.target for r in rows if isinstance(r, _Mark) and r.target]
    owners = {r[0].split("|")[0] for r in rows if isinstance(r, tuple) and "|" in r[0].split("{")[0]} - {""}
    if len(set(names)) < 2 and len(owners) < 2:
        return [("", rows)]
    parts: dict[str, list[Row]] = {}
    current = ""
    for row in rows:
        if isinstance(row, _Mark) and row.target:
            current = row.target
        owner = row[0].split("|")[0] if isinstance(row, tuple) and "|" in row[0].split("{")[0] else current
        parts.setdefault(owner or current, []).append(row)
    return list(parts.items())


def _by_scrape(rows: list[Row], target: str) -> list[Block]:
    starts = _scrape_starts(rows)
    blocks = []
    for begin, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        part = rows[begin:end]
        times = [r.time for r in part if isinstance(r, _Mark) and r.time is not None]
        lines = [r[1] if isinstance(r, tuple) else "" for r in part]  # blank, so that line numbers stay true
        if any(isinstance(r, tuple) and r[0] for r in part):
            blocks.append(Block("\n".join(lines) + "\n", times[0] if times else None, target))
    return _offsets_from_first(blocks)


def _offsets_from_first(blocks: list[Block]) -> list[Block]:
    """When only later blocks carry a small time ("after 15 s"), the first one is at 0."""
    if len(blocks) > 1 and blocks[0].time is None and all(b.time is not None and b.time < 3600 for b in blocks[1:]):
        return [Block(blocks[0].text, 0.0, blocks[0].target), *blocks[1:]]
    return blocks


def _scrape_starts(rows: list[Row]) -> list[int]:
    """Indexes at which scrapes begin; [0] when the repeated series are duplicates within one scrape."""
    seen: dict[str, int] = {}
    starts, sizes, late = [0], [0], 0
    for index, row in enumerate(rows):
        if not isinstance(row, tuple) or not row[0]:
            continue
        count = seen[row[0]] = seen.get(row[0], -1) + 1
        if count > len(starts) - 1:
            starts.append(_begin(rows, index))
            sizes.append(0)
        late += count < len(starts) - 1
        sizes[-1] += 1
    marked = all(any(isinstance(r, _Mark) for r in rows[s : s + 4]) for s in starts[1:])
    full = all(2 * size >= sizes[0] for size in sizes[1:])
    # Scrapes that follow one another leave few series behind their turn; interleaved duplicates leave many.
    return starts if (marked or full) and late * 5 <= sum(sizes) else [0]


def _begin(rows: list[Row], index: int) -> int:
    """The marks, metadata and gaps right before a repeated series belong to the new scrape."""
    while index > 0:
        row = rows[index - 1]
        if isinstance(row, tuple) and row[0]:
            return index
        index -= 1
    return index
