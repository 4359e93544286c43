"""Which program a command line starts: an engine, a router or frontend, or a load generator."""

from __future__ import annotations

import re
from dataclasses import dataclass

SERVER, OFFLINE, CLIENT, ROUTER = "server", "offline", "client", "router"


@dataclass(frozen=True)
class Program:
    """``engine`` as a fact, ``table`` of flags, ``role``, where its arguments start, and which tool it is."""

    engine: str
    table: str
    role: str
    start: int
    tool: str = ""


# (words in a row as patterns, engine, flag table, role)
_PROGRAMS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (("vllm", "bench", "throughput|latency"), "vllm", "vllm", OFFLINE),
    (("vllm", "bench", r"\w+"), "vllm", "client", CLIENT),
    (("vllm", "run-batch"), "vllm", "vllm", OFFLINE),
    (("vllm", "serve"), "vllm", "vllm", SERVER),
    ((r"vllm\.entrypoints\.openai\.run_batch",), "vllm", "vllm", OFFLINE),
    ((r"vllm\.entrypoints\.(?:openai\.)?api_server|(?:.*/)?api_server\.py",), "vllm", "vllm", SERVER),
    ((r"(?:.*/)?benchmark_(?:throughput|latency)\w*\.py",), "vllm", "vllm", OFFLINE),
    ((r"(?:.*/)?benchmark_\w+\.py|vllm\.benchmarks\.\w+",), "vllm", "client", CLIENT),
    (("sglang", "serve"), "sglang", "sglang", SERVER),
    ((r"sglang\.launch_server",), "sglang", "sglang", SERVER),
    ((r"sglang\.bench_(?:offline_throughput|one_batch|latency)",), "sglang", "sglang", OFFLINE),
    ((r"(?:.*/)?(?:sglang\.)?bench_\w+(?:\.py)?",), "sglang", "client", CLIENT),
    ((r"dynamo\.vllm(?:\..*)?",), "vllm", "vllm", SERVER),
    ((r"dynamo\.sglang(?:\..*)?",), "sglang", "sglang", SERVER),
    ((r"dynamo\.trtllm(?:\..*)?|trtllm-serve",), "trtllm", "router", SERVER),
    ((r"dynamo\.\w+(?:\..*)?|dynamo-run",), "dynamo", "router", ROUTER),
    ((r"sglang_router\.launch_server",), "sglang", "sglang", SERVER),
    ((r"sglang_router\.\w+|sglang-router|smg",), "sglang-router", "router", ROUTER),
    ((r"vllm-router|vllm_router(?:\..*)?",), "vllm-router", "router", ROUTER),
    (("guidellm",), "", "client", CLIENT),
    ((r"genai-perf|aiperf|evalscope|inference-perf|llmperf|locust|k6|hey|oha|wrk2?|ab|token_benchmark_ray\.py",),
     "", "client", CLIENT),
)  # fmt: skip
_COMPILED = [(tuple(re.compile(p) for p in row[0]), row[1], row[2], row[3]) for row in _PROGRAMS]
_IMAGES: tuple[tuple[str, str, str], ...] = (
    (r"(?:.*/)?vllm-openai[\w.-]*|(?:.*/)?vllm[\w.-]*(?:repo)?", "vllm", "vllm"),
    (r"(?:.*/)?sglang[\w.-]*", "sglang", "sglang"),
)
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:\.?(?:post|rc|dev)\d+)?)(?:[-+].*)?$")


def recognise(words: tuple[str, ...]) -> Program | None:
    """The program in a command line, wherever it stands in it; None when none is known."""
    for start in range(len(words)):
        for pattern, engine, table, role in _COMPILED:
            piece = words[start : start + len(pattern)]
            if len(piece) == len(pattern) and all(p.fullmatch(_base(w, start + i, words)) for i, (p, w) in
                                                  enumerate(zip(pattern, piece, strict=True))):  # fmt: skip
                if table == "client" and not engine and start > 0 and words[start - 1].startswith("-"):
                    continue
                return Program(engine, table, role, start + len(pattern), piece[0].rpartition("/")[2])
    return None


def _base(word: str, position: int, words: tuple[str, ...]) -> str:
    """The word, without its folder where it can be a program."""
    return word.rpartition("/")[2] if position == 0 or words[position - 1] in ("run", "--", "-c", "-m") else word


def from_image(image: str) -> tuple[str, str, str]:
    """Engine, flag table and version of a container image; empty texts where the name does not tell."""
    name, _, tag = image.partition("@")[0].rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "")
    for pattern, engine, table in _IMAGES:
        if re.fullmatch(pattern, name):
            found = _VERSION.match(tag) if not name.startswith(("lmcache/", "nvcr.io/", "rocm/")) else None
            return engine, table, found.group(1) if found else ""
    return "", "", ""
