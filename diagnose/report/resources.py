"""Resources of an engine by utilization, saturation and errors: the signals that tell, how to get a missing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diagnose.engines.catalog import METRICS, SIGNALS
from diagnose.model import Value
from diagnose.report import words

ASPECTS = ("utilization", "saturation", "errors")
_SCRAPE = "two scrapes of /metrics under load"


@dataclass(frozen=True)
class Resource:
    """One resource; each aspect names its signals, most telling first; () where nothing of the kind exists."""

    name: str
    utilization: tuple[str, ...]
    saturation: tuple[str, ...]
    errors: tuple[str, ...]
    how: str

    def signals(self, aspect: str) -> tuple[str, ...]:
        """The signals of one of ASPECTS."""
        return {"utilization": self.utilization, "saturation": self.saturation, "errors": self.errors}[aspect]


RESOURCES = (
    Resource(
        "KV memory", ("kv_usage_max", "kv_usage", "kv_capacity_tokens"),
        ("preemptions_per_finished", "preemptions", "waiting_capacity"), ("corrupted",), _SCRAPE,
    ),
    Resource(
        "scheduler slots", ("running_over_cap", "requests_running_max", "requests_running"),
        ("requests_waiting", "queue_time_mean"), ("requests_rejected", "abort_share"),
        f"{_SCRAPE}; the cap from --launch FILE or --log FILE",
    ),
    Resource(
        "decode", ("generation_tps", "graph_share"), ("itl_p99", "itl_mean", "itl_tail_ratio"), ("error_share",),
        _SCRAPE,
    ),
    Resource(
        "prefill", ("prompt_tps", "computed_prompt_tps"), ("ttft_p99", "ttft_mean", "prefill_time_mean"), (), _SCRAPE,
    ),
    Resource(
        "prefix cache", ("prefix_hit_ratio", "prefix_hit_log", "external_hit_ratio"), ("evicted_tokens_rate",), (),
        "prefix caching on, and two scrapes under load",
    ),
    Resource(
        "speculation", ("spec_acceptance", "spec_accept_length"), ("spec_second_position",), (),
        "only while speculative decoding is on",
    ),
    Resource(
        "adapter slots", ("lora_pool_usage", "lora_slots"), ("lora_overflow", "waiting_deferred"), (),
        "only with --enable-lora; the adapters in use from --launch FILE",
    ),
    Resource(
        "P/D transfer", ("transfer_throughput", "transfer_time_mean"),
        ("pd_inflight_queue", "pd_prealloc_queue", "pd_transfer_queue", "waiting_kv_fetch"), ("transfer_failures",),
        "only with prefill/decode disaggregation; scrape both sides",
    ),
    Resource(
        "GPU memory", ("graph_bytes", "graph_over_kv"), ("graph_growth", "reserved_gap_growth", "graph_over_left"), (),
        "the start-up log: --log FILE",
    ),
    Resource(
        "front end", ("worker_cpu",), ("ttft_unexplained",), ("error_share", "abort_share"),
        "top or ps of the engine's processes as a log; TTFT, queue and prefill times from /metrics",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One aspect of one resource: the telling signal with its value, or how to get one."""

    resource: str
    aspect: str
    signal: str
    value: Value | None
    how: str


def measured(signals: Mapping[str, Value]) -> tuple[Cell, ...]:
    """All cells for one target; ``value`` is None where no signal of the aspect is known."""
    return tuple(_cell(r, a, signals) for r in RESOURCES for a in ASPECTS if r.signals(a))


def _cell(resource: Resource, aspect: str, signals: Mapping[str, Value]) -> Cell:
    names = resource.signals(aspect)
    known = next((n for n in names if n in signals), None)
    if known is None:
        return Cell(resource.name, aspect, names[0], None, resource.how)
    return Cell(resource.name, aspect, known, signals[known], "")


def spellings(signal: str) -> dict[str, tuple[str, ...]]:
    """Exposed names by engine from which a signal is computed, newest first; {} where logs or configuration give it."""
    declared = SIGNALS.get(signal)
    out: dict[str, tuple[str, ...]] = {}
    for metric in declared.calc.metrics if declared and declared.calc else ():
        for engine, found in METRICS[metric].spellings.items() if metric in METRICS else ():
            out[engine] = out.get(engine, ()) + tuple(s.name for s in found[:1])
    return out


def said(cell: Cell, scrapes: int) -> str:
    """A cell in words; what two scrapes did not bring, this engine does not export."""
    if cell.value is None:
        return f"missing: {'not exported here' if scrapes > 1 and cell.how == _SCRAPE else cell.how}"
    since = ", since start" if cell.value.since_start else ""
    value = words.quantity(cell.value.value, words.unit_of(cell.signal), cell.signal)
    return f"{words.signal_title(cell.signal)} {value}{since}"
