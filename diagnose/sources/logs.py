"""Engine logs of every era into statistics, events and facts. Value names: ``log_stats`` and ``log_stats_sglang``.

One pass with bounded memory; a line that cannot be read is passed over. Nothing here raises on any text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from diagnose.engines import log_events
from diagnose.model import Fact, FactValue, LogEvent, LogStat, Observations
from diagnose.sources import launch, launch_facts, log_lines, log_stats, log_stats_sglang, log_wrap, pyrepr
from diagnose.sources.log_lines import Line
from diagnose.sources.log_stats import Values
from diagnose.sources.log_tables import GpuTable, ProcessTable, StackDump

MAX_STATS, MAX_STATS_PER_KIND, MAX_EVENTS_PER_ID = 200_000, 120_000, 5_000
MAX_HEAD = 160
_GAP = ("...", "…", "[...]", "(...)", "<snip>", "[snip]", "....")
_RANK = re.compile(r"\bEngine (\d+)\b|EngineCore_DP(\d+)|\bDP(\d+)\b")
_TAG = re.compile(r"\[?(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:[.,]\d+)?((?: (?:DP|TP|PP|EP|ATTN_CP|MOE_DP)\d+)+)\]")
_COPY = re.compile(r"\((?:\w*Worker\w*|\w+)_(?:PP\d+_)?TP([1-9]\d*)\b|\bTP([1-9]\d*)[\] ]")
_ERROR = re.compile(
    r"(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Timeout|Died|Exit))\b(?:: ?(?P<message>.*))?$"
)
_CONFIG = re.compile(r"Initializing an? (?:V1 )?LLM engine \(v?(?P<version>[^)]*)\) with config: ")
_SECRET = re.compile(
    r"((?:api_key|hf_token|_token|secret|password)['\"]?\s*[:=]\s*)(?:\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^\s,)]+)"
)
_QUIET = ("Received request", "Receive: obj=", "Added request", "Generate stream", "prompt: '", "Route: /")
# A copy of these from every tensor-parallel rank would count one thing many times.
_COUNTED = frozenset({"retracted", "retract_aborted", "aborted", "recompile_serving", "lora_load", "lora_evict"})
# Ends of a request or of the whole server, not failures.
_NO_FAULT = ("CancelledError", "KeyboardInterrupt", "SystemExit", "HTTPException", "ClientDisconnect",
             "RequestValidationError", "ConnectionResetError", "BrokenPipeError", "VLLMValidationError")  # fmt: skip
_ENGINE_OF = {"vllm": "vllm", "vllm_iteration": "vllm", "sglang_decode": "sglang", "sglang_prefill": "sglang"}
# Wordings that other servers use too.
_ANY_ENGINE = frozenset(
    {"aborted", "engine_dead", "request_too_long", "transfer_failed", "nixl_failed", "shutdown", "lora_evict"}
)


class _Reader:
    """What one log said so far."""

    def __init__(self, run: str, lines: log_wrap.Lookahead) -> None:
        self.run, self.lines, self.clock = run, lines, log_lines.Clock()
        self.stats: list[LogStat] = []
        self.events: list[LogEvent] = []
        self.facts: dict[tuple[str, FactValue], Fact] = {}
        self.stat_count: Counter[str] = Counter()
        self.event_count: Counter[str] = Counter()
        self.primary: dict[str, str] = {}
        self.gpu, self.processes, self.stack = GpuTable(), ProcessTable(), StackDump()
        self.last_stat_line = -9
        self.capturing = False
        self.in_traceback = False
        self.unused_head: Line | None = None

    def stat(self, kind: str, values: Values, line: Line, rank: str = "", positions: tuple[float, ...] = ()) -> None:
        """Keeps one stat unless it is empty, a copy from another rank, or beyond the limit."""
        tag = _TAG.search(line.text)
        if not values or self._is_copy(tag):
            return
        self.stat_count[kind] += 1
        if self.stat_count[kind] > MAX_STATS_PER_KIND or len(self.stats) >= MAX_STATS:
            return
        rank = rank or self._rank(line, tag)
        self.stats.append(LogStat(self.run, kind, self.clock.time(line), values, rank, positions))
        self.last_stat_line = line.number
        if kind in _ENGINE_OF:
            self.fact("engine", _ENGINE_OF[kind], line.number)

    def _is_copy(self, tag: re.Match[str] | None) -> bool:
        """Whether a tagged line comes from another rank than the first one seen of its data-parallel rank."""
        if tag is None:
            return False
        place = " ".join(re.findall(r"\b(?:TP|PP|ATTN_CP)\d+", tag.group(1)))
        return self.primary.setdefault(self._dp(tag), place) != place

    @staticmethod
    def _dp(tag: re.Match[str]) -> str:
        found = re.search(r"\bDP(\d+)", tag.group(1))
        return found.group(1) if found else ""

    def _rank(self, line: Line, tag: re.Match[str] | None) -> str:
        if tag is not None:
            return self._dp(tag)
        found = _RANK.search(line.text[:300])
        return str(int(next(g for g in found.groups() if g is not None))) if found else ""

    def event(self, event_id: str, fields: dict[str, str], line: Line, text: str = "") -> None:
        """Keeps one event unless too many of its kind were kept."""
        self.event_count[event_id] += 1
        if self.event_count[event_id] <= MAX_EVENTS_PER_ID:
            time = self.clock.time(line)
            rank = self._rank(line, _TAG.search(line.text))
            self.events.append(LogEvent(self.run, event_id, time, fields, _masked(text or line.text, 400), rank))

    def fact(self, fact_id: str, value: FactValue, number: int) -> None:
        """Keeps a fact once per value."""
        key = (fact_id, value)
        if key not in self.facts and len(self.facts) < 2000:
            self.facts[key] = Fact(fact_id, value, "log", f"log {self.run}, line {number}", self.run)

    # One line -----------------------------------------------------------------------------------------------------

    def line(self, line: Line) -> None:
        """Reads one line and those that go on from it."""
        text = line.text
        if "HTTP/1." in text and '" 2' in text:
            return
        if text.strip() in _GAP:
            self.event("gap", {}, line)
            return
        line = log_wrap.cut_in_start(self._with_head(line), self.lines)
        kept = len(self.stats) + len(self.events)
        if not (self._tables(line) or self._periodic(line) or self._dumps(line)):
            self._events(line)
        used = len(self.stats) + len(self.events) > kept
        self.unused_head = line if not used and len(text) < MAX_HEAD and log_lines.is_head(text) else None

    def _with_head(self, line: Line) -> Line:
        """A periodic line with the line before it, when that one holds only its stamp and engine."""
        head = self.unused_head
        if head is None or not line.text.lstrip().startswith(log_wrap.STARTS) or log_lines.is_head(line.text):
            return line
        return Line(line.number, f"{head.text} {line.text.strip()}", line.outer or head.outer, line.name)

    def _tables(self, line: Line) -> bool:
        """Rows of nvidia-smi, top and ps, and stacks of py-spy."""
        used, ended = self.stack.feed(line.text)
        for event_id, fields, header in ended:
            self.event(event_id, fields, line, header)
        if used:
            return True
        values = self.gpu.feed(line.text)
        if values:
            self.stat("gpu", values, line)
            return True
        values = self.processes.feed(line.text)
        if values:
            self.stat("cpu", values, line)
        return bool(values)

    def _periodic(self, line: Line) -> bool:
        """Periodic lines, put together again where they were cut."""
        text = line.text
        for word, kind, parse in _PERIODIC:
            if word in text:
                line, values = log_wrap.rejoined(line, self.lines, parse, len)
                if not values:
                    continue
                self.stat(kind, values, line)
                if kind == "score":
                    self.fact("engine", "dynamo", line.number)
                return kind != "lmcache_io"
        if "Prefix cache hit rate: GPU:" in text:
            self._second_line(line)
            return True
        if "SpecDecoding metrics" in text or "Speculative metrics" in text:
            line, (values, positions) = log_wrap.rejoined(
                line, self.lines, log_stats.spec, lambda v: len(v[0]) + len(v[1])
            )
            self.stat("spec", values, line, positions=positions)
            return True
        if "Decode batch" in text or "Prefill batch" in text:
            line, (kind, values) = log_wrap.rejoined(line, self.lines, log_stats_sglang.batch, lambda v: len(v[1]))
            self.stat(kind, values, line)
            return True
        return False

    def _second_line(self, line: Line) -> None:
        """V0's hit rates go with the line before them."""
        values = log_stats.vllm(line.text)
        last = self.stats[-1] if self.stats else None
        if (
            last
            and last.kind == "vllm"
            and line.number - self.last_stat_line <= 2
            and "prefix_hit_ratio" not in last.values
        ):
            self.stats[-1] = LogStat(last.run, last.kind, last.time, {**last.values, **values}, last.rank)
        else:
            self.stat("vllm", values, line)

    def _dumps(self, line: Line) -> bool:
        """Argument dumps and the resolved configuration."""
        text = line.text
        if (start := text.find("non-default args:")) >= 0:
            dumped = log_wrap.dump(line, start, self.lines, bracketed=True)
            self._settings(pyrepr.parse(dumped, len("non-default args:")), "vllm", "set", line)
            self.event("non_default_args", {"raw": _masked(dumped)}, line)
            return True
        if found := _CONFIG.search(text):
            dumped = log_wrap.dump(line, found.end(), self.lines, bracketed=False)
            self._settings(pyrepr.parse_items(dumped), "vllm", "resolved", line)
            self.fact("engine_version", found.group("version"), line.number)
            self.event("engine_config", {"version": found.group("version"), "raw": _masked(dumped)}, line)
            return True
        start = text.find("server_args=")
        start = text.find("args: Namespace(") if start < 0 else start
        if start < 0:
            return False
        dumped = log_wrap.dump(line, start, self.lines, bracketed=True)
        for fact in launch.dumps(dumped, self.run, "", "log"):
            self.fact(fact.id, fact.value, line.number)
        self.event("server_args" if dumped.startswith("server") else "non_default_args", {"raw": _masked(dumped)}, line)
        return True

    def _settings(self, settings: object, kind: str, mode: str, line: Line) -> None:
        if isinstance(settings, dict):
            self.fact("engine", kind, line.number)
            for fact in launch_facts.from_settings(settings, kind, "log", "", self.run, mode=mode):
                self.fact(fact.id, fact.value, line.number)

    def _events(self, line: Line) -> None:
        text = line.text
        if any(quiet in text for quiet in _QUIET):
            return
        copy = bool(_COPY.search(text[:120]))
        matched = list(log_events.match(text))
        if not matched and self.lines.continuations(1) and not self.in_traceback and log_lines.is_head(text):
            line, matched = log_wrap.rejoined(line, self.lines, _matches, len)
        for pattern, groups in matched:
            fields = log_events.fields(pattern, groups)
            if pattern.id in ("graph_capture_begin", "graph_capture_end"):
                self.capturing = pattern.id == "graph_capture_begin"
            elif pattern.id == "oom_cuda" and self.capturing:
                fields.setdefault("phase", "graph capture")
            if pattern.id in _COUNTED and (copy or self._is_copy(_TAG.search(text))):
                continue
            self.event(pattern.id, fields, line)
            if pattern.engine in ("vllm", "sglang") and pattern.id not in _ANY_ENGINE:
                self.fact("engine", pattern.engine, line.number)
            for fact_id, value in () if copy else log_events.facts(pattern, groups):
                self.fact(fact_id, value, line.number)
        self._traceback(line)

    def _traceback(self, line: Line) -> None:
        """The last line of a traceback, also when its lines carry the engine's prefix or its begin is missing."""
        body = log_lines.message(line.text)
        if body.startswith(("Traceback (most recent", "  File ")) or "Traceback (most recent call last)" in body:
            self.in_traceback = True
        elif self.in_traceback and body[:1] not in (" ", "\t", "^", ""):
            self.in_traceback = False
            found = _ERROR.match(body)
            if found and not found.group("type").endswith(_NO_FAULT):
                self.event("traceback_error", {k: v or "" for k, v in found.groupdict().items()}, line)

    def finish(self) -> Observations:
        """Everything, with a note for what was left out."""
        for event_id, fields, header in self.stack.end():
            self.event(event_id, fields, Line(0, header), header)
        notes = []
        for kind, count in self.stat_count.items():
            kept = sum(1 for stat in self.stats if stat.kind == kind) if count > 1000 else count
            if kept < count:
                notes.append(f"log {self.run}: {count:,} {kind} lines, the first {kept:,} are used")
        for event_id, count in self.event_count.items():
            if count > MAX_EVENTS_PER_ID:
                notes.append(f"log {self.run}: {count:,} events {event_id}, the first {MAX_EVENTS_PER_ID:,} are kept")
        return Observations(stats=tuple(self.stats), events=tuple(self.events), facts=tuple(self.facts.values()),
                            notes=tuple(notes))  # fmt: skip


def _masked(text: str, most: int = 4000) -> str:
    """The beginning of a text, with the values of keys and tokens hidden."""
    return _SECRET.sub(r"\1***", text[:most])


def _matches(text: str) -> list[tuple[log_events.LogPattern, dict[str, str]]]:
    return list(log_events.match(text))


_PERIODIC: tuple[tuple[str, str, Callable[[str], Values]], ...] = (
    ("Avg prompt throughput", "vllm", log_stats.vllm),
    ("Avg generation throughput", "vllm", log_stats.vllm),
    ("Iteration(", "vllm_iteration", log_stats.iteration),
    ("KV Transfer metrics", "kv_transfer", log_stats.kv_transfer),
    ("Transfer Engine Throughput", "transfer_engine", log_stats.transfer_engine),
    ("LMCache hit tokens", "lmcache", log_stats.lmcache),
    (" out of ", "lmcache_io", log_stats.lmcache_io),
    (" score: ", "score", log_stats.score),
    ("Formula for ", "score", log_stats.score),
    ("prompt_tokens", "request", log_stats_sglang.request),
)


def parse_log(text: str, run: str) -> Observations:
    """Stats, events and facts of one log; notes say what was left out for its size."""
    lines = log_wrap.Lookahead(log_lines.physical(text))
    reader = _Reader(run, lines)
    for line in lines:
        reader.line(line)
    return reader.finish()
