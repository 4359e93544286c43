"""Seconds to parse an exposition, as JSON: prometheus_client, ours filtered to the catalog, ours unfiltered."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 3


def best(work: Callable[[], object]) -> float:
    """Fewest seconds of several runs."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Parses the file of the first argument each way."""
    from prometheus_client.parser import text_string_to_metric_families

    from diagnose.engines.catalog import known_families
    from diagnose.sources.exposition import parse

    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    families = known_families()
    seconds = {
        "baseline": best(lambda: sum(len(f.samples) for f in text_string_to_metric_families(text))),
        "filtered": best(lambda: parse(text, families)),
        "unfiltered": best(lambda: parse(text)),
    }
    print(json.dumps({**seconds, "samples": sum(len(s) for s in parse(text).samples.values())}))


if __name__ == "__main__":
    main()
