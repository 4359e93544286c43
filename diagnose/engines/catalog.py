"""Canonical metrics and how each engine spells them; the names that any engine of the catalog exports.

Resolution is by presence, newest spelling first; a version only explains. Spellings of one metric are never summed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from diagnose.engines.declare import Calc, Metric, Signal, Spelling
from diagnose.engines.metrics import METRICS
from diagnose.engines.signals import SIGNALS

__all__ = ["METRICS", "SIGNALS", "Calc", "CatalogRow", "Metric", "Signal", "Spelling", "known_families", "rows"]

_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
STACK_TABLES = ("vllm", "sglang", "others")


@dataclass(frozen=True)
class CatalogRow:
    """One exposed name of the catalog tables with its version range."""

    table: str
    concept: str
    name: str
    kind: str
    since: str
    until: str
    replaced_by: str
    gated_by: str
    note: str


@functools.cache
def rows() -> tuple[CatalogRow, ...]:
    """All rows of the catalog tables (``engines/*.tsv``), from the engines' own source."""
    return tuple(row for table in STACK_TABLES for row in _read(table))


@functools.cache
def known_families() -> frozenset[str]:
    """Names of all families that the catalog knows, as exposed (``vllm:num_requests_running``)."""
    return frozenset(row.name for row in rows()).union(_used_names())


def _used_names() -> Iterator[str]:
    for metric in METRICS.values():
        for spellings in metric.spellings.values():
            yield from (s.name for s in spellings)


def _read(table: str) -> Iterator[CatalogRow]:
    text = resources.files("diagnose.engines").joinpath(f"{table}.tsv").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        cells = [*line.split("\t"), *[""] * 11][:11]
        concept, _, names, kind, _, _, since, until, replaced, gated, _ = cells
        for name in names.split(" / "):
            if _METRIC_NAME.fullmatch(name.strip()):  # the tables also list library calls and label templates
                yield CatalogRow(
                    table, concept, name.strip(), kind, since, until, replaced, gated, line.split("\t")[-1]
                )


def signal_unit(ident: str) -> str:
    """Unit of a signal; generated names (``config_*``, ``log_*``, ``ab_*``) have units by their kind."""
    if ident in SIGNALS:
        return SIGNALS[ident].unit
    return {"log": "lines", "ab": "ratio"}.get(ident.split("_", 1)[0], "")


_CONFIG_TITLES = {
    "config_cpu": "engine on a CPU",
    "config_tp": "tensor parallel",
    "config_pp": "pipeline parallel",
    "config_dp": "data parallel",
    "config_ep": "expert parallel",
    "config_dp_attention": "data-parallel attention",
    "config_mla": "latent-attention (MLA) model",
    "config_chunked_prefill": "chunked prefill",
    "config_chunked_switched_off": "chunked prefill switched off",
    "config_prefix_switched_off": "prefix caching switched off",
    "config_prefix_caching": "prefix caching",
    "config_enforce_eager": "eager mode",
    "config_attention_explicit": "attention backend chosen by flag",
    "config_max_num_seqs": "max sequences",
    "config_chunk_budget": "chunk budget",
    "config_spec": "speculation",
    "config_spec_tokens": "drafted tokens per step",
    "config_lora": "LoRA adapters",
    "config_max_loras": "adapter slots",
    "config_kv_fp8": "KV cache in FP8",
    "config_weights_quantized": "quantized weights",
    "config_disaggregated": "prefill/decode disaggregation",
    "config_decode_role": "decode worker",
    "config_prefill_role": "prefill worker",
    "config_kv_connector": "external KV cache",
    "config_hicache": "hierarchical cache",
    "config_graph_max_batch": "largest captured batch",
    "targets": "engines seen",
}


def signal_title(ident: str) -> str:
    """Title of a signal, made from the name where it is not declared."""
    if ident in SIGNALS:
        return SIGNALS[ident].title
    if ident in _CONFIG_TITLES:
        return _CONFIG_TITLES[ident]
    kind, _, rest = ident.partition("_")
    words = rest.replace("_", " ")
    return {"config": f"configured {words}", "log": f"log lines: {words}", "ab": f"comparison {words}"}.get(
        kind, ident.replace("_", " ")
    )
