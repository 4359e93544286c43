"""What a load generator's command or an operator's remark says about the traffic."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from diagnose.model import Fact, FactValue
from diagnose.sources import launch_convert, launch_facts
from diagnose.sources.launch_commands import OFFLINE, Program

_PAIR = re.compile(r"(\w+)\s*[=:]\s*\"?(\w+)")
_SHORT_CONCURRENCY = ("ab", "hey", "oha", "wrk", "wrk2")

# Remarks that say one thing only: pattern with the number, fact.
_REMARKS: tuple[tuple[str, str], ...] = (
    (r"\b([\d,]+)\s+(?:client|user|load[ -]generator)\s+threads\b", "client_threads"),
    (r"\b([\d,]+)\s+(?:concurrent|parallel|simultaneous)\s+(?:\w+\s+)?"
     r"(?:requests?|users?|clients?|streams?|sessions?|connections?|conversations?|agents?)\b", "client_concurrency"),
    (r"\b(?:max[ _-])?concurrency\s*(?:of|=|:|is|at)?\s*([\d,]+)\b(?!\.?\d*x)", "client_concurrency"),
    (r"\bat most ([\d,]+) (?:requests? )?in flight\b", "client_concurrency"),
    (r"\b([\d,]+)[- ]tokens?\s+(?:\w+\s+){0,3}(?:common|shared|system)\s+(?:system\s+)?(?:prompt|prefix)\b",
     "client_prefix_len"),
    (r"\b([\d,]+)[- ]tokens?\s+(?:common|shared|system)\b.{0,20}\b(?:prompt|prefix)\b", "client_prefix_len"),
    (r"\b(?:request[ _-]rate|rate)\s*(?:of|=|:|is)?\s*([\d.]+)\s*(?:req|rps|requests?/s|/s)", "client_request_rate"),
    (r"\b([\d.]+)\s*(?:rps|qps|req/s|requests?/s|requests? per second)\b", "client_request_rate"),
    (r"\b(?:input|prompt)s?\s*(?:len(?:gth)?)?\s*(?:of|=|:|is|about|~)?\s*([\d,]+)\s*tokens?\b", "client_input_len"),
    (r"\b([\d,]+)[- ]?(?:tokens?|tok)\s+(?:of\s+)?(?:input|prompts?)\b", "client_input_len"),
    (r"\b([\d,]+)[- ]?(?:tokens?|tok)\s+(?:of\s+)?(?:output|completions?|answers?)\b", "client_output_len"),
)  # fmt: skip
_OFFLINE = re.compile(r"\boffline\b.{0,20}\b(?:batch|job|throughput|inference)|\bbatch job\b", re.I)
_FLOATS = ("client_request_rate",)


def from_command(program: Program, settings: Mapping[str, Any], run: str, where: str) -> Iterator[Fact]:
    """Facts about the traffic of one load generator; flags of the server that it talks to are not among them."""
    wanted = {name: value for name, value in settings.items() if name in launch_facts.index("client")}
    wanted = {name: value for name, value in wanted.items() if not isinstance(value, bool)}
    special = _special(program, settings)
    for fact in launch_facts.from_settings(wanted, "client", "launch", where, run):
        if fact.id not in special:
            yield fact
    for name, value in special.items():
        yield Fact(name, value, "launch", where, run)
    if program.role == OFFLINE:
        yield Fact("client_offline", True, "launch", where, run)
    elif (
        program.engine in ("vllm", "sglang") and "request_rate" not in settings and "client_concurrency" not in special
    ):
        # Both engines' serving benchmarks send everything at once unless told otherwise.
        yield Fact("client_request_rate", math.inf, "default", where, run)


def _special(program: Program, settings: Mapping[str, Any]) -> dict[str, FactValue]:
    """What single tools spell in their own way."""
    out: dict[str, FactValue] = {}
    if program.tool == "guidellm":
        out |= _guidellm(settings)
    if program.tool in _SHORT_CONCURRENCY:
        for name, fact in (("c", "client_concurrency"), ("n", "client_num_prompts")):
            number = launch_convert.to_int(settings.get(name))
            if number is not None:
                out[fact] = number
    return out


def _guidellm(settings: Mapping[str, Any]) -> dict[str, FactValue]:
    out: dict[str, FactValue] = {}
    kind = str(settings.get("rate_type", settings.get("profile", "")))
    rate = str(settings.get("rate", "")).split(",")[0]
    try:
        number: float | None = float(rate)
    except ValueError:
        number = None
    if kind == "throughput":
        out["client_request_rate"] = math.inf
    elif kind == "synchronous":
        out["client_concurrency"] = 1
    elif number is not None and kind == "concurrent":
        out["client_concurrency"] = int(number)
    elif number is not None and kind in ("constant", "poisson", "async"):
        out["client_request_rate"] = number
    for name, value in _PAIR.findall(str(settings.get("data", ""))):
        fact = {"prompt_tokens": "client_input_len", "output_tokens": "client_output_len"}.get(name)
        length = launch_convert.to_int(value)
        if fact and length is not None:
            out[fact] = length
    return out


def from_remark(text: str, run: str, where: str) -> Iterator[Fact]:
    """Facts of a remark where it says one thing only; a fact with two different numbers is left out."""
    found: dict[str, set[float]] = {}
    for pattern, fact in _REMARKS:
        for number in re.findall(pattern, text, re.I):
            try:
                found.setdefault(fact, set()).add(float(number.replace(",", "")))
            except ValueError:
                continue
    for fact, numbers in found.items():
        if len(numbers) == 1:
            number = numbers.pop()
            yield Fact(fact, number if fact in _FLOATS else int(number), "launch", where, run)
    if _OFFLINE.search(text):
        yield Fact("client_offline", True, "launch", where, run)
