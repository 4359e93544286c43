"""Physical log lines without what containers, terminals and people put around them, and the log's own clock."""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE = 200_000
_ANSI = re.compile(r"(?:\x1b|\u241b|\\u001b|\\x1b|\\033|\^\[|#x1B)\[[0-9;?]*[A-Za-z]|\[(?:\d{1,3};?){1,4}m")
_QUOTE = re.compile(r"^\s*(?:>\s?)+")
_STAMP = r"(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|[+-]\d\d:?\d\d)?"
_OUTER_STAMP = re.compile(r"^\s*\[?" + _STAMP + r"\]?\s+(?:(?:stdout|stderr) (?P<part>[FP]) )?")
_PIPED_STAMP = re.compile(r"^\s*(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?\s*\|\s")
_SEVERAL = re.compile(
    r"(?<=\S)\s+(?=(?:\(?\w+ pid=\d+\) )?(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d )"
    r"|(?<=\S)\s+(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: (?:DP|TP|PP|EP)\d+)*\] )"
)
_NAMES = re.compile(r"^(?:[\w./-]{1,80}\s*\|\s|\[(?:(?:pod|container)/)?[\w.-]+/[\w./-]{1,120}\]\s)")
_SYSLOG = re.compile(r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w.@/-]+(?:\[\d+\])?: ")
_JSON_KEYS = ("log", "msg", "message", "textPayload", "body", "MESSAGE", "text")
_TIME_KEYS = ("time", "ts", "timestamp", "@timestamp", "date")

_FULL = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_SHORT = re.compile(r"\b(?:INFO|WARNING|ERROR|DEBUG|CRITICAL|WARN) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
_GLOG = re.compile(r"^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?")
_CLOCK = re.compile(r"^\W{0,3}(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\b")

_HEAD = re.compile(
    r"\s*(?:\(\w[\w.-]* pid=|(?:INFO|WARNING|WARN|ERROR|DEBUG|CRITICAL|TRACE)\b|\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d"
    r"|[IWEF]\d{4} \d\d:|\[?\d\d:\d\d:\d\d|Traceback|File \"|Thread \d|\{|\[[\w ]*\]\s"
    r"|[A-Z]\w+(?:Error|Exception)\b|#\s|\.\.\.|[+|=]{2,}|\d+%\||Loading |Capturing )"
)
_ENGINE_HEAD = re.compile(
    r"^(?:\s*\([^)]*pid=\d+\)\s?)?"
    r"(?:(?:INFO|WARNING|ERROR|DEBUG|CRITICAL|WARN) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[^\]]+\]|\S+\])\s?"
    r"|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]\s)?"
)


@dataclass(frozen=True)
class Line:
    """One line: its number, its text without outer prefixes, the outer stamp in seconds, and who wrote it."""

    number: int
    text: str
    outer: float | None = None
    name: str = ""


def physical(text: str) -> Iterator[Line]:
    """The lines of a log, cleaned; parts that a container runtime marked as partial are joined."""
    held = ""
    for number, raw in enumerate(_raw(text), 1):
        cleaned = clean(raw, number)
        if cleaned is None:
            continue
        partial, line = cleaned
        if held:
            line = Line(line.number, held + line.text, line.outer, line.name)
            held = ""
        if partial and len(line.text) < MAX_LINE:
            held = line.text
        else:
            yield line


def _raw(text: str) -> Iterator[str]:
    """Lines one by one, without a list of all of them; progress bars that overwrite themselves count as lines."""
    start, end = 0, len(text)
    while start < end:
        stop = text.find("\n", start)
        stop = end if stop < 0 else stop
        piece = text[start : min(stop, start + MAX_LINE)]
        if "\r" in piece.rstrip("\r"):
            yield from piece.split("\r")
        elif piece.count("Avg generation throughput") > 1 or piece.count(" batch") > 1:
            yield from _SEVERAL.split(piece)  # line breaks lost on the way
        else:
            yield piece.rstrip("\r")
        start = stop + 1


def clean(raw: str, number: int) -> tuple[bool, Line] | None:
    """Whether more of this line follows, and the line; None for an empty one."""
    text = _ANSI.sub("", raw) if "[" in raw else raw
    text = text.removesuffix("^M").rstrip()
    if not text:
        return None
    outer, partial, name = None, False, ""
    for _ in range(4):
        first = text.lstrip()[:1]
        if first == "{" and '"' in text[:40]:
            inner = _from_json(text)
            if inner is None:
                break
            text, stamp = inner
            outer = stamp if stamp is not None else outer
        elif first == ">" and (found := _QUOTE.match(text)):
            text = text[found.end() :]
        elif found := _OUTER_STAMP.match(text):
            outer, partial = _outer(found), found.group("part") == "P"
            text = text[found.end() :]
        elif found := _PIPED_STAMP.match(text):
            outer, text = _outer(found), text[found.end() :]
        elif found := (_NAMES.match(text) or _SYSLOG.match(text)):
            name = name or found.group().strip(" |[]")
            text = text[found.end() :]
        else:
            break
    return (partial, Line(number, text, outer, name)) if text else None


def _from_json(text: str) -> tuple[str, float | None] | None:
    """Message and time of a JSON log line; None when it is not one."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    message = next((record[key] for key in _JSON_KEYS if isinstance(record.get(key), str)), None)
    if message is None:
        return None
    stamp = next((record[key] for key in _TIME_KEYS if key in record), None)
    level = record.get("level") or record.get("levelname") or ""
    head = f"{level} " if isinstance(level, str) and level and level not in message[:20] else ""
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        return head + message.rstrip("\n"), float(stamp) / (1000.0 if stamp > 1e11 else 1.0)
    found = _FULL.search(str(stamp or ""))
    return head + message.rstrip("\n"), _seconds(found.groups()) if found else None


def _outer(found: re.Match[str]) -> float | None:
    date, hour, minute, second, fraction = found.groups()[:5]
    return _seconds((*date.split("-"), hour, minute, second, fraction))


def _seconds(parts: tuple[str | None, ...]) -> float | None:
    """Seconds of year, month, day, hour, minute, second and fraction; None when they are no date."""
    try:
        numbers = [int(part or 0) for part in parts[:6]]
        return calendar.timegm((*numbers, 0, 1, 0)) + float(f"0.{parts[6] or 0}" if len(parts) > 6 else 0)
    except (ValueError, OverflowError):
        return None


def is_head(text: str) -> bool:
    """Whether a line starts a record of its own, rather than going on from the line before."""
    return bool(_HEAD.match(text))


def message(text: str) -> str:
    """The line behind the engine's own prefix (process, level, stamp, file and line)."""
    found = _ENGINE_HEAD.match(text)
    return text[found.end() :] if found else text


class Clock:
    """Seconds on one log's own clock. The engine's stamp wins over the container's; years and midnights roll over."""

    def __init__(self) -> None:
        self.year = 2000
        self.last: float | None = None
        self.days = 0.0
        self.shift: float | None = None

    def time(self, line: Line) -> float | None:
        """The time of a line, or None when it shows none."""
        inner = self._inner(line.text[:160])
        if inner is not None:
            if line.outer is not None:
                self.shift = inner - line.outer
            self.last = inner
            return inner
        if line.outer is None:
            return None
        self.last = line.outer + (self.shift or 0.0)
        return self.last

    def _inner(self, head: str) -> float | None:
        if found := _FULL.search(head):
            self.year = int(found.group(1))
            return _seconds(found.groups())
        if found := _SHORT.search(head) or _GLOG.match(head):
            return self._rolled(_seconds((str(self.year), *found.groups())), 366 * 86400.0, 300 * 86400.0)
        if found := _CLOCK.match(head):
            return self._rolled(_seconds((str(self.year), "1", "1", *found.groups())), 86400.0, 43200.0)
        return None

    def _rolled(self, value: float | None, step: float, slack: float) -> float | None:
        """``value`` moved past the last time when a year or a midnight went by."""
        if value is None:
            return None
        value += self.days
        if self.last is not None and self.last - value > slack:
            if step > 86400.0:
                self.year += 1
                return value + (366 if calendar.isleap(self.year - 1) else 365) * 86400.0
            self.days += step
            value += step
        return value
