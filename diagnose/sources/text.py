"""What kind of text was given: exposition, log, launch, benchmark, server answer, or several of them in one paste."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace

from diagnose.sources import launch_commands, launch_shell
from diagnose.sources.log_lines import clean, is_head
from diagnose.sources.scrapes import looks_like_exposition

KINDS = ("exposition", "log", "launch", "bench", "server_info")
_HEAD = 400_000
_LARGE = 4_000_000  # nobody pastes several things of this size: the text is of one kind
_META = re.compile(r"^[\s>]*#*\s*(?:HELP|TYPE|UNIT)\s+[a-zA-Z_:][\w:]*\s")
_SAMPLE = re.compile(
    r"^[\s>]*[a-zA-Z_:][\w:\\]*(?:\{.*\})?[ \t]+[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|NaN|[+-]?Inf)(?:\s+\d+)?\s*(?:#.*)?$"
)
_METRIC_NAME = re.compile(
    r"^[\s>]*(?:[a-zA-Z]\w*:\w|\w+_(?:total|bucket|sum|count|info|created)\b|(?:python|process|http)_\w"
    r"|\w[\w:\\]*\{\w+=)"
)
_PERIODIC = ("Avg prompt throughput", "Decode batch", "Prefill batch", "SpecDecoding metrics", "KV cache usage",
             "LMCache hit tokens", "KV Transfer metrics", "max_total_num_tokens=", "non-default args",
             "server_args=")  # fmt: skip
_TABLE = re.compile(r"utilization\.gpu|memory\.used \[|NVIDIA-SMI|%CPU.*COMMAND|PID.*%CPU|Thread \w+ \((?:active|idle)")
_BLOCK_BEGIN = re.compile(r"=+ .*(?:Benchmark Result|Benchmark|Offline Throughput).* =+", re.I)
_BLOCK_END = re.compile(r"^\s*={20,}\s*$")
_YAML = re.compile(r"^(?:apiVersion|services|spec|kind|containers|metadata|servingEngineSpec):|^\s*- --?\w", re.M)
_DUMP = re.compile(r"\b(?:Namespace|ServerArgs|LLM|AsyncEngineArgs|EngineArgs|Engine)\(")
_FLAG_LINE = re.compile(r"^\s*--?[a-zA-Z][\w-]*(?:[ =]\S.*|\s*\\?)?$")
_HTML = re.compile(r"^\s*(?:<!doctype html|<html)", re.I)
_MARKS = re.compile(
    r"^[$>\s]*(?:curl\b|date\b|watch\b|kubectl\b)"
    r"|^\s*(?:\w{3} \w{3} +\d+ \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\s*$)"
)


@dataclass(frozen=True)
class Parts:
    """The lines of a text by kind; a kind that does not occur is empty."""

    exposition: str = ""
    log: str = ""
    launch: str = ""
    bench: str = ""
    server_info: str = ""
    other: int = 0


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text: NUL bytes, or mostly control characters and broken UTF-8."""
    head = data[:4096]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return False  # UTF-16
    if b"\0" in head:
        return True
    text = head.decode("utf-8", "replace")
    strange = sum(1 for char in text if char == "\ufffd" or (ord(char) < 32 and char not in "\t\n\r\x1b\x0c\x08"))
    return bool(text) and strange / len(text) > 0.1


def is_html(text: str) -> bool:
    """Whether the text is a web page."""
    return bool(_HTML.match(text[:500]))


def split(text: str) -> Parts:
    """The text by kind. One that is of one kind only is kept whole."""
    if not text.strip() or is_html(text):
        return Parts(other=len(text.splitlines()))
    if (document := _json_kind(text)) is not None:
        return _only(document, text)
    if _YAML.search(text[:_HEAD]) and not any(word in text[:_HEAD] for word in _PERIODIC):
        return Parts(launch=text)
    if len(text) > _LARGE:
        return _only("exposition" if looks_like_exposition(text) else "log", text)
    labels = _labels(text)
    counts = Counter(label for label in labels if label != "other")
    if not counts:
        if _DUMP.search(text[:_HEAD]):
            return Parts(launch=text)
        return Parts(exposition=text) if looks_like_exposition(text) else _tables_or_other(text, len(labels))
    if len(counts) == 1:
        return _only(next(iter(counts)), text)
    lines = text.split("\n")
    chosen = {
        kind: "\n".join(line for line, label in zip(lines, labels, strict=True) if label == kind) for kind in counts
    }
    return replace(_parts(chosen), other=labels.count("other"))


def _only(kind: str, text: str) -> Parts:
    return _parts({kind: text})


def _parts(chosen: dict[str, str]) -> Parts:
    exposition, log, launch, bench, server_info = (chosen.get(kind, "") for kind in KINDS)
    return Parts(exposition, log, launch, bench, server_info)


def _tables_or_other(text: str, lines: int) -> Parts:
    from diagnose.sources.bench import parse_bench

    return Parts(bench=text) if parse_bench(text[:_HEAD], "", "") else Parts(other=lines)


def _json_kind(text: str) -> str | None:
    """The kind of a JSON document or of JSON lines; None when the text is neither."""
    stripped = text.strip()
    if stripped[:1] not in "{[":
        return None
    first = stripped.split("\n", 1)[0]
    for candidate in (stripped, first):
        try:
            document = json.loads(candidate)
            break
        except (ValueError, RecursionError):
            continue
    else:
        return None
    return _document_kind(document)


def _document_kind(document: object) -> str | None:
    from diagnose.sources.bench import parse_bench
    from diagnose.sources.server_info import parse_server_info

    if isinstance(document, dict) and any(
        isinstance(document.get(k), str) for k in ("log", "msg", "message", "textPayload")
    ):
        return "log"
    if any(fact.id not in ("engine",) for fact in parse_server_info(document, "", "")):
        return "server_info"
    benches = parse_bench(json.dumps(document), "", "")
    if any(not name.startswith("raw.") for bench in benches for name in bench.values):
        return "bench"
    if isinstance(document, dict) and isinstance(document.get("usage"), dict):
        return "log"
    return (
        "launch" if isinstance(document, dict) and {"model", "model_path", "args", "kind"} & document.keys() else None
    )


def _labels(text: str) -> list[str]:
    """The kind of every line; lines that continue another get its kind, prose is ``other``."""
    labels: list[str] = []
    last, in_block, continued = "other", False, False
    for raw in text.split("\n"):
        if in_block or _BLOCK_BEGIN.search(raw):
            label = "bench"
            in_block = not _BLOCK_END.match(raw)
        elif continued:
            label = "launch"
        else:
            label = _label(raw, last)
        continued = label == "launch" and raw.rstrip().endswith("\\")
        last = label if raw.strip() else last
        labels.append(label)
    return labels


def _label(raw: str, last: str) -> str:
    stripped = raw.strip()
    if not stripped:
        return last
    if _META.match(raw) or (_METRIC_NAME.match(raw) and _SAMPLE.match(raw)):
        return "exposition"
    cleaned = clean(raw, 0)
    body = cleaned[1].text if cleaned else ""
    if any(word in body for word in _PERIODIC) or _TABLE.search(body):
        return "log"
    if stripped.startswith("#") and not stripped.startswith("#!"):
        return "exposition" if last == "exposition" and _is_mark(stripped) else "launch"
    if last == "exposition" and (_MARKS.match(raw) or _is_mark(stripped)):
        return "exposition"
    if _is_command(body or stripped) or (last == "launch" and _FLAG_LINE.match(stripped)):
        return "launch"
    if (is_head(body) and body[:1] != "{") or (last == "log" and body[:1] in " \t|"):
        return "log"
    if last == "exposition" and _SAMPLE.match(raw):
        return "exposition"
    return "log" if last == "log" else "other" if last != "exposition" else "exposition"


def _is_mark(line: str) -> bool:
    """Whether a line between samples tells their time or pod."""
    return bool(
        re.search(
            r"\d\d:\d\d:\d\d|\b1[4-9]\d{8}\b|\bt\s*[=+]\s*\+?\d|\b(?:pod|replica|instance|scrape)\b|later", line, re.I
        )
    )


def _is_command(line: str) -> bool:
    """Whether a line starts a known program."""
    parts = launch_shell.words(launch_shell.clean(line))[:40]
    while parts and (re.match(r"[A-Za-z_]\w*=", parts[0]) or parts[0] in ("export", "env", "cmd:", "sudo", "nohup")):
        parts = parts[1:]
    if not parts:
        return bool(re.match(r"\s*(?:export|env:?)\s+[A-Z_]+=", line))
    if parts[0] in ("docker", "podman") and parts[1:2] == ["run"]:
        return True
    found = launch_commands.recognise(tuple(parts))
    return found is not None and found.start <= 8 and len(parts[0]) < 80
