"""Lines with a look ahead, and periodic lines put together again that a terminal or a container runtime cut."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import TypeVar

from diagnose.sources import pyrepr
from diagnose.sources.log_lines import Line, is_head

MAX_PIECES = 3
MAX_DUMP_LINES = 400
T = TypeVar("T")

# Words whose beginning at the end of a line tells that a periodic line was cut inside them.
STARTS = ("Avg prompt throughput", "SpecDecoding metrics", "Speculative metrics", "KV Transfer metrics", "Decode batch",
          "Prefill batch", "Iteration(")  # fmt: skip
_PARTIAL = tuple(f" {word[:cut]}" for word in STARTS for cut in range(1, len(word)) if word[:cut].strip() == word[:cut])


class Lookahead:
    """The lines of a log, with access to those that follow."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._held: deque[Line] = deque()

    def __iter__(self) -> Iterator[Line]:
        while True:
            line = self.take()
            if line is None:
                return
            yield line

    def take(self) -> Line | None:
        """The next line; None at the end."""
        return self._held.popleft() if self._held else next(self._lines, None)

    def continuations(self, most: int) -> list[Line]:
        """Up to ``most`` following lines that start no record of their own; they stay ahead."""
        out: list[Line] = []
        for position in range(most):
            if position >= len(self._held):
                line = next(self._lines, None)
                if line is None:
                    break
                self._held.append(line)
            if is_head(self._held[position].text):
                break
            out.append(self._held[position])
        return out

    def drop(self, count: int) -> None:
        """Takes ``count`` lines away."""
        for _ in range(count):
            self._held.popleft()


def rejoined(line: Line, lines: Lookahead, parse: Callable[[str], T], size: Callable[[T], int]) -> tuple[Line, T]:
    """The line with as many following pieces as give it more to say, and what it then says."""
    best_line, best, used = line, parse(line.text), 0
    pieces = lines.continuations(MAX_PIECES)
    for count in range(1, len(pieces) + 1):
        for text in _joins(line.text, [piece.text for piece in pieces[:count]]):
            value = parse(text)
            if size(value) > size(best):
                best_line, best, used = replace(line, text=text), value, count
        if used < count:
            break
    lines.drop(used)
    return best_line, best


def _joins(head: str, pieces: list[str]) -> Iterator[str]:
    """Every way to put the pieces behind the head: cut inside a word, or at a space."""
    for glue in product(("", " "), repeat=len(pieces)):
        text = head
        for space, piece in zip(glue, pieces, strict=True):
            text += space + piece.strip()
        yield text


def cut_in_start(line: Line, lines: Lookahead) -> Line:
    """The line with its first piece when it was cut inside the words that start a periodic line."""
    if not line.text.endswith(_PARTIAL) or any(word in line.text for word in STARTS):
        return line
    pieces = lines.continuations(1)
    for text in _joins(line.text, [pieces[0].text]) if pieces else ():
        if any(word in text for word in STARTS):
            lines.drop(1)
            return replace(line, text=text)
    return line


def dump(line: Line, start: int, lines: Lookahead, *, bracketed: bool) -> str:
    """A long argument dump from ``start`` on: following pieces are added while brackets are open."""
    text = line.text[start:]
    added = 0
    while added < MAX_DUMP_LINES and len(text) < pyrepr.MAX_CHARS:
        if bracketed and pyrepr.balance(text) == 0 and any(bracket in text for bracket in "({["):
            break
        pieces = lines.continuations(1)
        if not pieces or not (set(pieces[0].text) & set("=,:')")):
            break
        text += pieces[0].text.strip()
        lines.drop(1)
        added += 1
    return text
