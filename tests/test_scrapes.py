"""Scrapes from files and pastes: one, several, several pods; and clear errors for what is no exposition."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.errors import SourceError
from diagnose.model import Scrape
from diagnose.sources.scrapes import looks_like_exposition, read_scrapes

DATA = Path(__file__).parent / "data" / "expositions"
RUN = "vllm:num_requests_running"
ONE = f'# TYPE {RUN} gauge\n{RUN}{{engine="0"}} 5.0\nvllm:num_requests_waiting{{engine="0"}} 7.0\n'
TWO = ONE.replace("5.0", "6.0").replace("# TYPE", "# TYPE")


def values(scrapes: tuple[Scrape, ...], name: str = RUN) -> list[tuple[str, float, float]]:
    return [(s.target, s.time, s.samples[name][0][1]) for s in scrapes]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.prom")), ids=lambda p: p.name)
def test_one_file_is_one_scrape(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (scrape,) = read_scrapes(text, "r0", 1000.0, None)
    assert (scrape.target, scrape.time, scrape.problems) == ("r0", 1000.0, ())
    assert looks_like_exposition(text)
    assert looks_like_exposition("\n".join(f"> {line}" for line in text.splitlines()))


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"> {line}\n" for line in ONE.splitlines()),
        f"Here is what I see:\n```\n{ONE}```\nAny idea?\n",
        ONE.replace("# TYPE", "TYPE"),
        ONE.replace("# TYPE", "## TYPE"),
        ONE.replace("_", r"\_"),
        ONE.replace('"', "&quot;"),
        ONE.replace('"', "\u201c").replace("0\u201c}", "0\u201d}"),
        ONE.replace("\n", "\r\n"),
        "\n".join(f"    {line}" for line in ONE.splitlines()),
        "\n".join(f"metrics.txt:{line}" for line in ONE.splitlines()[1:]),
        f"$ curl -s localhost:8000/metrics | grep vllm\n{ONE}",
    ],
)
def test_one_scrape_in_any_dress(text: str) -> None:
    scrapes = read_scrapes(text, "stdin", 50.0, frozenset({RUN}))
    assert values(scrapes) == [("stdin", 50.0, 5.0)]
    assert not [p for p in scrapes[0].problems if "line" in p]


@pytest.mark.parametrize(
    ("first", "second", "times"),
    [
        ("Tue Oct 20 07:44:12 UTC 2026\n", "Tue Oct 20 07:44:42 UTC 2026\n", [100.0, 130.0]),
        ("# 1795000000\n", "# 1795000060.5\n", [1795000000.0, 1795000060.5]),
        ("2026-10-20T07:44:12Z\n", "2026-10-20T07:45:12Z\n", [1792482252.0, 1792482312.0]),
        ("23:59:50\n", "00:00:20\n", [100.0, 130.0]),
        ("t=0:\n", "t=30s:\n", [100.0, 130.0]),
        ("", "after 20 s:\n", [100.0, 120.0]),
        ("", "2 minutes later\n", [100.0, 220.0]),
        ("", "", [100.0, 115.0]),
        ("", "\n---\n", [100.0, 115.0]),
    ],
)
def test_two_scrapes_in_one_text(first: str, second: str, times: list[float]) -> None:
    scrapes = read_scrapes(first + ONE + second + TWO, "r0", 100.0, None)
    assert values(scrapes) == [("r0", times[0], 5.0), ("r0", times[1], 6.0)]
    assert any("15 s apart" in p for p in scrapes[0].problems) == (times == [100.0, 115.0])
    assert all(s.types == {RUN: "gauge"} for s in scrapes)


def test_watch_of_one_series_is_many_scrapes() -> None:
    text = "".join(f'{RUN}{{engine="0"}} {n}\n' for n in range(4))
    assert [t for _, t, _ in values(read_scrapes(text, "r0", 0.0, None))] == [0.0, 15.0, 30.0, 45.0]


def test_sample_timestamps_give_the_times() -> None:
    text = f"{RUN} 1 1795000000000\n{RUN} 2 1795000030000\n"
    assert [t for _, t, _ in values(read_scrapes(text, "r0", 0.0, None))] == [1795000000.0, 1795000030.0]


def test_clock_backwards_is_sorted_and_noted() -> None:
    scrapes = read_scrapes(f"# 1795000060\n{ONE}# 1795000000\n{TWO}", "r0", 0.0, None)
    assert [v for _, _, v in values(scrapes)] == [6.0, 5.0]
    assert "clock goes backwards" in scrapes[0].problems[0]


def test_duplicates_are_not_scrapes() -> None:
    interleaved = "".join(f"{n} 1\n{n} 2\n" for n in ("a_total", "b_total", "c_total"))
    (scrape,) = read_scrapes(interleaved, "r0", 0.0, None)
    assert scrape.samples["a_total"] == [({}, 1.0)]
    assert "3 duplicate series" in scrape.problems[0]
    (scrape,) = read_scrapes("".join(f"m{n}_total 1\n" for n in range(9)) + "m3_total 7\n", "r0", 0.0, None)
    assert "1 duplicate series" in scrape.problems[0]


@pytest.mark.parametrize(
    "text",
    [
        f"==> pod-a <==\n{ONE}\n==> pod-b <==\n{TWO}",
        f"# pod: pod-a\n{ONE}\n# pod: pod-b\n{TWO}",
        "".join(f"pod-a {line}\n" for line in ONE.splitlines()[1:])
        + "".join(f"pod-b {line}\n" for line in TWO.splitlines()[1:]),
    ],
)
def test_pods_in_one_text(text: str) -> None:
    assert values(read_scrapes(text, "r0", 9.0, None)) == [("pod-a", 9.0, 5.0), ("pod-b", 9.0, 6.0)]


def test_truncated_last_line_is_noted() -> None:
    (scrape,) = read_scrapes(ONE + 'vllm:num_preemptions_total{engine="', "r0", 0.0, None)
    assert scrape.samples[RUN][0][1] == 5.0
    assert scrape.problems == ("line 4: unclosed label value",)


def test_other_exporter_is_a_scrape_without_samples() -> None:
    (scrape,) = read_scrapes("node_load1 0.5\nnode_load5 0.4\n", "r0", 0.0, frozenset({RUN}))
    assert (scrape.samples, scrape.foreign) == ({}, {"node": 2})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("<!DOCTYPE html><html><body>Sign in</body></html>", "HTML"),
        ('{"status":"success","data":{"result":[]}}', "JSON"),
        ("\x00\x01\x02PK\x03\x04" * 20, "binary"),
        ("\ufffd\ufffd\x1f\ufffd" * 30, "binary"),
        ("hello, my server is slow\nplease help\n", "no metric samples"),
    ],
)
def test_no_exposition_is_one_clear_line(text: str, what: str) -> None:
    with pytest.raises(SourceError) as error:
        read_scrapes(text, "somewhere", 0.0, None)
    assert what in str(error.value)
    assert "somewhere" in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 3
    assert not looks_like_exposition(text)


@pytest.mark.parametrize(
    "text",
    [
        "INFO 10-20 07:44:12 metrics.py:345] Avg prompt throughput: 1.0 tokens/s, Running: 5 reqs\n",
        "vllm serve model --port 8000\nexport FOO=1\n",
        '{"ttft": 1.5}\n',
        "timestamp,power\n1,2\n",
    ],
)
def test_other_texts_do_not_look_like_expositions(text: str) -> None:
    assert not looks_like_exposition(text)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_mutated_dumps_never_raise_anything_else(data: st.DataObject) -> None:
    text = f"# 1795000060\n{ONE}==> pod-b <==\n{TWO}> {ONE}"
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text(max_size=5)) + text[at + data.draw(st.integers(0, 9)) :]
    looks_like_exposition(text)
    with contextlib.suppress(SourceError):
        read_scrapes(text, "r0", 0.0, None)
