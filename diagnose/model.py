"""The frozen nouns that flow from sources to reports. Missing is ``None`` and stays missing; units are base units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = bool | int | float | str
FactValue = Scalar | tuple[Scalar, ...]
Labels = dict[str, str]
Series = list[tuple[Labels, float]]


@dataclass(frozen=True)
class Scrape:
    """One exposition of one target: ``samples`` maps a sample name to its series, ``time`` is unix seconds.

    Only names that the catalog knows are kept in ``samples``; ``foreign`` counts the other names by prefix
    (``python``, ``process``, ``http``, ``vllm``, ...), so that "no engine series" can be told from "empty".
    """

    target: str
    time: float
    samples: Mapping[str, Series]
    types: Mapping[str, str] = field(default_factory=dict)
    foreign: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogStat:
    """The numbers of one periodic log line, in base units under canonical names (``sources/logs.py`` lists them).

    ``kind`` is vllm, spec, kv_transfer, sglang_decode, sglang_prefill, gpu or transfer_engine; ``rank`` is the
    data-parallel rank as text ("" when the line names none); ``time`` is seconds on the log's own clock, or None.
    """

    run: str
    kind: str
    time: float | None
    values: Mapping[str, float]
    rank: str = ""
    per_position: tuple[float, ...] = ()


@dataclass(frozen=True)
class LogEvent:
    """A one-off log line that means something: ``id`` from ``engines/log_events.py``, captured fields, the text."""

    run: str
    id: str
    time: float | None
    fields: Mapping[str, str]
    text: str
    rank: str = ""


@dataclass(frozen=True)
class Fact:
    """One resolved or declared piece of configuration, with where it was read.

    ``source`` is one of (most trusted first): metric, server_info, log, launch, default.
    """

    id: str
    value: FactValue
    source: str
    where: str
    run: str = ""


@dataclass(frozen=True)
class Bench:
    """One benchmark result of one run; ``values`` in base units under canonical names (``sources/bench.py``)."""

    run: str
    values: Mapping[str, float]
    where: str


@dataclass(frozen=True)
class Remark:
    """What the operator wrote in a launch file behind ``#``."""

    run: str
    text: str


@dataclass(frozen=True)
class Missing:
    """An input that is not there: what, why it matters, how to get it."""

    what: str
    why: str
    how: str


@dataclass(frozen=True)
class Measured:
    """Signals of one target that its source computed itself over ``window`` seconds (queries of a Prometheus)."""

    target: str
    values: Mapping[str, float]
    source: str
    window: float


@dataclass(frozen=True)
class Observations:
    """Everything that the sources saw, before any interpretation."""

    scrapes: tuple[Scrape, ...] = ()
    stats: tuple[LogStat, ...] = ()
    events: tuple[LogEvent, ...] = ()
    facts: tuple[Fact, ...] = ()
    benches: tuple[Bench, ...] = ()
    remarks: tuple[Remark, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    measured: tuple[Measured, ...] = ()

    def __add__(self, other: Observations) -> Observations:
        return Observations(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))


@dataclass(frozen=True)
class Value:
    """The value of one signal on one target. ``source`` says where it came from, ``window`` the covered seconds."""

    value: float
    source: str
    window: float | None = None
    since_start: bool = False


@dataclass(frozen=True)
class Evidence:
    """One comparison that a symptom rests on."""

    signal: str
    value: float
    unit: str
    op: str
    threshold: float
    source: str
    window: float | None = None


@dataclass(frozen=True)
class Finding:
    """The verdict of one symptom on one target: present, absent, unknown or not-applicable."""

    symptom: str
    verdict: str
    target: str
    confidence: str = "medium"
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class NextStep:
    """The one change to make now. ``id`` is the guide entry, ``move`` the move's id within it."""

    id: str
    move: str
    direction: str | None
    title: str
    change: tuple[str, ...]
    why: tuple[str, ...]
    expect: tuple[str, ...]
    measure: str
    undo: str
    confidence: str
    then: tuple[str, ...] = ()


@dataclass(frozen=True)
class EntryStatus:
    """Where one guide entry stands: next, later, already-applied, not-indicated, ruled-out or unknown."""

    id: str
    title: str
    status: str
    why: str


@dataclass(frozen=True)
class ModelDiagnosis:
    """The walk for one served model."""

    model: str
    verdict: str
    next: NextStep | None
    guide: tuple[EntryStatus, ...]


@dataclass(frozen=True)
class TargetSummary:
    """One observed target: identity, how much was seen, its own verdict and its signals."""

    name: str
    engine: str
    version: str
    model: str
    scrapes: int
    window: float | None
    verdict: str
    signals: Mapping[str, Value]


@dataclass(frozen=True)
class Diagnosis:
    """What a report shows. ``findings`` holds every evaluated symptom, present ones first."""

    verdict: str
    next: NextStep | None
    findings: tuple[Finding, ...]
    guide: tuple[EntryStatus, ...]
    models: tuple[ModelDiagnosis, ...]
    targets: tuple[TargetSummary, ...]
    facts: tuple[Fact, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]
