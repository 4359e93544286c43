"""Progress on stderr while a live window runs: only on a terminal, and only for waits over two seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WORTH_SHOWING = 2.0


@contextmanager
def waiting(window: float, targets: int) -> Iterator[Callable[[float], None] | None]:
    """A callback that takes the seconds that have passed; None when nothing is to be shown."""
    if window <= WORTH_SHOWING or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    name = f"watching {targets:,} target{'' if targets == 1 else 's'}"
    columns = (TextColumn(name), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=window)
        yield lambda passed: progress.update(task, completed=min(passed, window))
