"""Live endpoints: timed scrapes and configuration answers of many targets at once, as observations."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from diagnose.errors import SourceError
from diagnose.model import Fact, Missing, Observations, Scrape
from diagnose.sources.exposition import Exposition, parse_lines
from diagnose.sources.exposition_labels import LabelSets
from diagnose.sources.fetch import Answer, HttpOptions
from diagnose.sources.http_errors import FetchError
from diagnose.sources.polling import Poll, Target, target_of
from diagnose.sources.scrapes import no_exposition, scrape_of

__all__ = ["HttpOptions", "Target", "observe", "read_answer", "target_of"]

ParseInfo = Callable[[object, str, str], tuple[Fact, ...]]
_SLICE = 1 << 20
_SHOWN = 3


@dataclass
class _Seen:
    """What an observation collects."""

    keep: frozenset[str] | None
    parse_info: ParseInfo
    scrapes: list[Scrape] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sets: dict[Target, LabelSets] = field(default_factory=dict)

    def scrape(self, target: Target, answer: Answer) -> str:
        """Read one answer; the engine it comes from. Raises FetchError when it holds no metrics."""
        found = read_answer(answer, self.keep, self.sets.setdefault(target, LabelSets()))
        self.scrapes.append(scrape_of(found, target.name, answer.time))
        return engine_of(found)

    def info(self, target: Target, path: str, answer: object) -> None:
        """Read the facts of one configuration answer."""
        try:
            self.facts.extend(self.parse_info(answer, f"{target.name}{path.partition('?')[0]}", target.name))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
            self.notes.append(f"{target.name}{path}: not understood ({type(error).__name__})")


def observe(
    urls: Sequence[str],
    *,
    window: float,
    options: HttpOptions,
    keep: frozenset[str] | None = None,
    progress: Callable[[float], None] | None = None,
    parse_info: ParseInfo | None = None,
) -> Observations:
    """Scrapes, facts and notes of live endpoints watched for ``window`` seconds; ``progress`` takes seconds passed.

    A target that gives nothing becomes a Missing; when none gives anything, SourceError. A malformed URL is a
    UsageError.
    """
    targets = tuple(dict.fromkeys(target_of(url) for url in urls))
    seen = _Seen(keep, parse_info or _parse_server_info)
    poll = Poll(targets, options, seen.scrape, seen.info, progress)
    failed, notes = poll.run(window)
    if not seen.scrapes and not seen.facts:
        raise nothing_seen(failed)
    order = {target.name: n for n, target in enumerate(targets)}
    return Observations(
        scrapes=tuple(sorted(seen.scrapes, key=lambda s: (order[s.target], s.time))),
        facts=tuple(seen.facts),
        notes=tuple(notes + seen.notes),
        missing=tuple(Missing(f"{t.name}: {e.what}", "target not observed", e.hint) for t, e in failed.items()),
    )


def read_answer(answer: Answer, keep: frozenset[str] | None, sets: LabelSets | None = None) -> Exposition:
    """The exposition in an HTTP answer. Raises FetchError when there is none (HTML, JSON, empty, binary)."""
    found = parse_lines(_text(answer), keep, sets=sets)
    if not found.samples and not found.foreign:
        what, hint = no_exposition(answer.body[:8192].decode("utf-8", "replace"))
        raise FetchError(f"the answer is {what}", hint)
    if answer.cut:
        found = replace(found, problems=(*found.problems, f"the answer is cut: {answer.cut}"))
    return found


def engine_of(found: Exposition) -> str:
    """``vllm``, ``sglang`` or "" by the names that an exposition holds."""
    names = [n.removeprefix("ray_") for n in (*found.samples, *found.foreign)]
    for engine in ("sglang", "vllm"):
        if any(n.startswith(engine) for n in names):
            return engine
    return ""


def nothing_seen(failed: dict[Target, FetchError]) -> SourceError:
    """The error of an observation in which no target gave anything, in one line."""
    (first, error), *others = failed.items()
    if not others:
        return SourceError(error.what, where=first.url_shown, hint=error.hint)
    more = "; ".join(f"{t.name}: {e.what}" for t, e in others[:_SHOWN])
    rest = f"; and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return SourceError(f"{error.what}; {more}{rest}", where=first.url_shown, hint=error.hint)


def _text(answer: Answer) -> Iterator[str]:
    """The body as text in slices; of a body that was cut, without the last, partial line."""
    body = memoryview(answer.body)
    end = (answer.body.rfind(b"\n") + 1) if answer.cut else len(body)
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for start in range(0, end, _SLICE):
        yield decoder.decode(body[start : min(start + _SLICE, end)])


def _parse_server_info(answer: object, where: str, run: str) -> tuple[Fact, ...]:
    from diagnose.sources.server_info import parse_server_info

    return parse_server_info(answer, where, run)
