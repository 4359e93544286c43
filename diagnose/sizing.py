"""The numbers behind a step: pure functions from what was observed to a value, each term with unit and source.

Every function returns a ``Sizing``, or None when an input that it needs is missing, zero, negative or not finite.
The KV formula from hardware and a model's config is in ``kv_formula.py``; here it starts from what the engine reports.
"""

from __future__ import annotations

import math

from diagnose.sizing_terms import Sizing, Term, number, positive, tenths

OCCUPANCY = 0.85  # guide 2.1: steady-state KV occupancy stays below 85 % of the blocks
START_CHUNK = 512  # guide 1.1: first chunk budget to try
CHUNK_STEP = 256
MAX_CHUNK = 65536


def max_sequences(
    kv_tokens: float | None, mean_context: float | None, occupancy: float = OCCUPANCY, current: float | None = None
) -> Sizing | None:
    """Sequences that fit: floor(KV tokens x occupancy / tokens per request), at least 1.

    ``mean_context`` is prompt + output tokens of a finished request. With ``current`` (the cap in force) the answer
    is None unless it is lower: this function sizes a cap down, ``raise_max_sequences`` up.
    """
    if not positive(kv_tokens, mean_context, occupancy):
        return None
    assert kv_tokens is not None and mean_context is not None
    exact = kv_tokens * occupancy / mean_context
    value = max(1, math.floor(exact + 1e-9))
    if positive(current) and value >= (current or 0):
        return None
    notes = (
        () if exact >= 1 else ("one average request exceeds the KV target: the cache is too small for this traffic",)
    )
    return Sizing(
        terms=(
            Term("KV tokens", kv_tokens, "tokens", "engine"),
            Term("target occupancy", occupancy, "ratio", "guide 2.1"),
            Term("tokens per request", mean_context, "tokens", "observed"),
        ),
        kv_tokens=kv_tokens, max_sequences=value, notes=notes, value=value, unit="sequences",
        formula=f"{number(kv_tokens)} KV tokens x {occupancy:g} / {number(mean_context)} tokens per request"
        f" = {tenths(exact)}",
    )  # fmt: skip


def raise_max_sequences(
    current: float | None,
    running: float | None = None,
    waiting: float | None = None,
    kv_usage: float | None = None,
    kv_tokens: float | None = None,
    mean_context: float | None = None,
    occupancy: float = OCCUPANCY,
) -> Sizing | None:
    """A higher cap: enough for running + waiting, never past the KV target; None when there is no room above current.

    The room is running x occupancy / usage from the gauge, or KV tokens x occupancy / tokens per request; the smaller
    of the two when both are known.
    """
    if not positive(current):
        return None
    assert current is not None
    room = _kv_room(running, kv_usage, kv_tokens, mean_context, occupancy)
    demand = (running or 0.0) + (waiting or 0.0) if positive(waiting) else None
    if room is None or room <= current:
        return None
    wanted = math.ceil((demand if demand is not None else 2 * current) / 8) * 8
    value = min(wanted, math.floor(room)) if wanted > current else 0
    if value <= current:
        return None
    terms = [Term("current cap", current, "sequences", "configuration"), Term("KV room", room, "sequences", "computed")]
    notes: tuple[str, ...] = ("demand unknown: one doubling, measured before the next",)
    if demand is not None:
        terms.append(Term("demand", demand, "requests", "running + waiting"))
        notes = () if demand <= room else ("KV room ends below the demand: the rest has to queue or go to a replica",)
    need = f"{number(demand)} requests wanted" if demand is not None else f"twice {number(current)}"
    return Sizing(
        terms=tuple(terms), kv_tokens=kv_tokens, max_sequences=value, notes=notes, value=value, unit="sequences",
        formula=f"{need}, KV room for {number(math.floor(room))} at occupancy {occupancy:g}: {value}",
    )  # fmt: skip


def _kv_room(
    running: float | None, usage: float | None, tokens: float | None, context: float | None, occupancy: float
) -> float | None:
    """Sequences at the target occupancy from the gauge, from the formula, or the smaller of both; None from neither."""
    rooms = []
    if usage is not None and math.isfinite(usage) and 0 <= usage <= 1 and positive(running):
        rooms.append((running or 0.0) * occupancy / max(usage, 0.001))  # the gauge rounds to 0.1 %
    if positive(tokens, context):
        rooms.append((tokens or 0.0) * occupancy / (context or 1.0))
    return min(rooms) if rooms else None


def kv_budget_tokens(kv_bytes: float | None, per_token_bytes: float | None) -> Sizing | None:
    """KV tokens that fit into the memory the engine left for them: bytes / bytes per token."""
    if not positive(kv_bytes, per_token_bytes):
        return None
    assert kv_bytes is not None and per_token_bytes is not None
    tokens = math.floor(kv_bytes / per_token_bytes)
    return Sizing(
        terms=(
            Term("available KV memory", kv_bytes, "bytes", "engine"),
            Term("KV bytes per token", per_token_bytes, "bytes", "model"),
        ),
        kv_tokens=tokens, per_token_bytes=per_token_bytes, value=tokens, unit="tokens",
        formula=f"{number(kv_bytes)} bytes / {number(per_token_bytes)} bytes per token = {tokens:,} tokens",
    )  # fmt: skip


def chunk_budget(
    prompt_len: float | None = None,
    prefill_tps: float | None = None,
    target_itl: float | None = None,
    current: float | None = None,
    up: bool = False,
    at_least: float | None = None,
) -> Sizing | None:
    """Chunk budget whose prefill fits into ``target_itl`` seconds: tokens per second x seconds, in steps of 256.

    ``prefill_tps`` is the speed while prefilling (prompt tokens per second of prefill time), not the average rate.
    Without speed or target: the guide's 512 downwards, twice the current budget upwards. A budget never passes the
    prompt length (the rest would be unused), and stays at ``at_least`` or above: vLLM does not start with a budget
    below its max sequences. None when nothing lies on the asked side of ``current``.
    """
    if up and not positive(current):
        return None
    terms, raw, how = _chunk_basis(prefill_tps, target_itl, current, up)
    if positive(prompt_len):
        terms.append(Term("prompt length", prompt_len or 0.0, "tokens", "observed"))
        raw = min(raw, max(float(START_CHUNK), math.ceil((prompt_len or 0.0) / CHUNK_STEP) * CHUNK_STEP))
    lowest = math.ceil((at_least or 0) / CHUNK_STEP) * CHUNK_STEP if positive(at_least) else CHUNK_STEP
    value = int(min(MAX_CHUNK, max(lowest, math.floor(raw / CHUNK_STEP) * CHUNK_STEP)))
    if positive(current):
        terms.append(Term("current budget", current or 0.0, "tokens", "configuration"))
        if (value <= (current or 0)) if up else (value >= (current or 0)):
            return None
    return Sizing(
        tuple(terms), value=value, unit="tokens", formula=f"{how}, in steps of {CHUNK_STEP}: {value:,} tokens"
    )


def _chunk_basis(
    prefill_tps: float | None, target_itl: float | None, current: float | None, up: bool
) -> tuple[list[Term], float, str]:
    """Terms, tokens and words of a chunk budget before rounding: by speed and target, else by the guide's steps."""
    now = current if positive(current) and current is not None else 0.0
    if positive(prefill_tps, target_itl):
        assert prefill_tps is not None and target_itl is not None
        terms = [
            Term("prefill speed", prefill_tps, "tokens/s", "observed"),
            Term("ITL target", target_itl, "s", "target"),
        ]
        return terms, prefill_tps * target_itl, f"{number(prefill_tps)} tokens/s x {target_itl:g} s"
    if up:
        return [], 2 * now, f"twice the current {number(now)}"
    if 0 < now <= START_CHUNK:
        return [], now / 2, f"half of the current {number(now)}"
    return [], float(START_CHUNK), "the guide's first step"


def graph_batch(
    running: float | None, max_num_seqs: float | None = None, captured: float | None = None
) -> Sizing | None:
    """Largest batch to capture: the next capture size over the running requests (steps of 8, of 16 above 256).

    Never past ``max_num_seqs``' own capture size. None when ``captured`` already covers it.
    """
    if not positive(running):
        return None
    value = _capture_size(running or 0.0)
    if positive(max_num_seqs):
        value = min(value, _capture_size(max_num_seqs or 0.0))
    if captured is not None and captured >= value:
        return None
    terms = [Term("running requests", running or 0.0, "sequences", "observed")]
    if positive(max_num_seqs):
        terms.append(Term("max sequences", max_num_seqs or 0.0, "sequences", "configuration"))
    return Sizing(
        tuple(terms), value=value, unit="sequences",
        formula=f"{number(running or 0)} running requests, next capture size: {value}",
    )  # fmt: skip


def _capture_size(batch: float) -> int:
    if batch <= 4:
        return next(size for size in (1, 2, 4) if size >= batch)
    step = 8 if batch <= 256 else 16
    return math.ceil(batch / step) * step


def kv_fp8_gain(
    kv_tokens: float | None, mean_context: float | None = None, element_bytes: float = 2.0, occupancy: float = OCCUPANCY
) -> Sizing | None:
    """KV tokens after the cache goes to one byte per element; None when it is there already or the size is unknown."""
    if not positive(kv_tokens, element_bytes) or element_bytes <= 1:
        return None
    assert kv_tokens is not None
    tokens = math.floor(kv_tokens * element_bytes)
    fits = max_sequences(tokens, mean_context, occupancy)
    return Sizing(
        terms=(
            Term("KV tokens", kv_tokens, "tokens", "engine"),
            Term("bytes per element", element_bytes, "bytes", "now"),
        ),
        kv_tokens=tokens, max_sequences=fits.max_sequences if fits else None, value=tokens, unit="tokens",
        notes=("recurrent state of hybrid models does not shrink",),
        formula=f"{number(kv_tokens)} KV tokens x {element_bytes:g} / 1 byte = {tokens:,} tokens",
    )  # fmt: skip


def replicas(
    in_flight: float | None, per_replica: float | None, current: float | None = 1, headroom: float = OCCUPANCY
) -> Sizing | None:
    """Replicas for the requests in flight (running + waiting over all) when each serves ``per_replica`` well.

    ``per_replica`` is the running requests of one replica at its target load; headroom keeps it below that. None
    when the current number suffices.
    """
    if not positive(in_flight, per_replica, headroom):
        return None
    assert in_flight is not None and per_replica is not None
    value = math.ceil(in_flight / (per_replica * headroom) - 1e-9)
    if positive(current) and value <= (current or 0):
        return None
    return Sizing(
        terms=(
            Term("requests in flight", in_flight, "requests", "running + waiting"),
            Term("served per replica", per_replica, "requests", "observed"),
            Term("target load", headroom, "ratio", "guide 2.1"),
        ),
        value=value, unit="replicas",
        formula=f"{number(in_flight)} in flight / ({number(per_replica)} per replica x {headroom:g}) = {value}",
    )  # fmt: skip


def lora_slots(adapters: float | None, current: float | None = None) -> Sizing | None:
    """Adapter slots on the GPU: one per adapter that is in use at the same time; None when enough are there."""
    if not positive(adapters) or (positive(current) and (adapters or 0) <= (current or 0)):
        return None
    value = math.ceil(adapters or 0)
    notes = ("each slot takes GPU memory from the KV cache: raise in steps and watch KV usage",) if value > 8 else ()
    terms = (Term("adapters in use", adapters or 0.0, "adapters", "observed"),)
    return Sizing(terms, value=value, unit="adapters", notes=notes, formula=f"{value} adapters in use, one slot each")


def speculative_tokens(
    per_position: tuple[float, ...] | None = None, acceptance: float | None = None, current: float | None = None,
    keep: float = 0.5,
) -> Sizing | None:  # fmt: skip
    """Draft tokens worth their verification: the positions accepted at least every second time.

    Positions that are not measured are continued: each draft stands on the one before, so its chance falls by the same
    factor (without any position, acceptance ** k). None when not even the first holds (switch off instead) or nothing
    would change.
    """
    chances = [p for p in per_position or () if math.isfinite(p)]
    factor = (
        chances[-1] / chances[-2] if len(chances) > 1 and chances[-2] > 0 else chances[0] if chances else acceptance
    )
    if positive(factor, current):
        while len(chances) < int(current or 0):
            chances.append(min(1.0, (chances[-1] if chances else 1.0) * (factor or 0.0)))
    value = next((k for k, chance in enumerate(chances) if chance < keep), len(chances))
    if value < 1 or (positive(current) and value >= (current or 0)):
        return None
    terms = tuple(Term(f"position {k + 1} accepted", p, "ratio", "observed") for k, p in enumerate(chances))
    formula = f"positions accepted at least {keep:g} of the time: {value} of {len(chances)}"
    return Sizing(terms, value=value, unit="tokens", formula=formula)


def fit_context(kv_tokens: float | None, block: float | None = None, current: float | None = None) -> Sizing | None:
    """The longest context that one request can hold in the whole cache, in full blocks; None when current fits."""
    if not positive(kv_tokens):
        return None
    size = block if positive(block) and block is not None else 16.0
    value = int(math.floor((kv_tokens or 0) / size) * size)
    if value < 1 or (positive(current) and value >= (current or 0)):
        return None
    terms = (Term("KV tokens", kv_tokens or 0.0, "tokens", "engine"), Term("block", size, "tokens", "engine"))
    return Sizing(
        terms, kv_tokens=kv_tokens, value=value, unit="tokens", formula=f"{value:,} tokens of KV in one request"
    )


def client_in_flight(max_num_seqs: float | None, replicas_serving: float | None = 1) -> Sizing | None:
    """Requests a client may keep open so that none waits: max sequences x replicas."""
    if not positive(max_num_seqs, replicas_serving):
        return None
    value = math.floor((max_num_seqs or 0) * (replicas_serving or 1))
    terms = (Term("max sequences", max_num_seqs or 0.0, "sequences", "configuration"),)
    return Sizing(
        terms, value=value, unit="requests", formula=f"{number(max_num_seqs or 0)} sequences per engine = {value}"
    )
