"""The exposition parser: same samples as prometheus_client where that accepts, problems instead of exceptions."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from diagnose.sources.exposition import is_wanted, parse, parse_lines, sample_type

DATA = Path(__file__).parent / "data" / "expositions"
KEEP = frozenset({"vllm:num_requests_running", "vllm:request_success_total", "vllm:time_to_first_token_seconds"})

NAMES = st.from_regex(r"\A[a-zA-Z_:][a-zA-Z0-9_:]{0,8}\Z")
LABEL_NAMES = st.from_regex(r"\A[a-zA-Z][a-zA-Z0-9_]{0,5}\Z")
NASTY = st.text(st.sampled_from("\\\"\n{}, =#'\tnaé😀\r x1"), max_size=8)
VALUES = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**12), 10**12).map(str),
    st.sampled_from(["NaN", "+Inf", "-Inf", "Nan", "1e+09", "0.0", "-0"]),
)
BLANKS = st.sampled_from(["", " ", "  ", "\t"])


def escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


@st.composite
def label_text(draw: st.DrawFn, spaced: bool) -> str:
    labels = draw(st.dictionaries(LABEL_NAMES, NASTY, max_size=4))
    if not labels:
        return draw(st.sampled_from(["", "{}"])) if spaced else ""
    gap = draw(BLANKS) if spaced else ""
    pairs = [f'{gap}{k}{gap}={gap}"{escape(v)}"{gap}' for k, v in labels.items()]
    return "{" + ",".join(pairs) + (draw(st.sampled_from(["", ","])) if spaced else "") + "}"


@st.composite
def text_line(draw: st.DrawFn) -> str:
    labels = draw(label_text(spaced=True))
    stamp = draw(st.one_of(st.just(""), st.integers(0, 2 * 10**12).map(lambda t: f" {t}")))
    gap = draw(st.sampled_from([" ", "\t", "  "]))
    stamp = stamp.replace(" ", gap)
    return f"{draw(BLANKS)}{draw(NAMES)}{labels}{gap}{draw(VALUES)}{stamp}{draw(BLANKS)}"


@st.composite
def text_exposition(draw: st.DrawFn) -> str:
    comment = st.one_of(
        st.builds("# TYPE {} {}".format, NAMES, st.sampled_from(["gauge", "counter", "histogram", "untyped"])),
        st.builds("# HELP {} {}".format, NAMES, st.text(st.sampled_from('a {}"\\n#'), max_size=6)),
        st.sampled_from(["", "  ", "# a comment", "#"]),
    )
    lines = draw(st.lists(st.one_of(text_line(), text_line(), comment), max_size=12))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n"]))


def first_of_each(samples: list[tuple[str, dict[str, str], float, float | None]]) -> dict[object, tuple[object, ...]]:
    found: dict[object, tuple[object, ...]] = {}
    for name, labels, value, stamp in samples:
        shown = "nan" if math.isnan(value) else float(value)
        found.setdefault((name, frozenset(labels.items())), (shown, None if stamp is None else round(float(stamp), 6)))
    return found


def ours(text: str) -> dict[object, tuple[object, ...]]:
    return first_of_each([(n, lab, v, t) for n, series in parse(text).samples.items() for lab, v, t in series])


def test_families_are_as_prometheus_client_reads_them() -> None:
    """A counter exposed without ``_total`` keeps its name here; prometheus_client appends the suffix."""
    text = "# TYPE a counter\na 1\n"
    assert [s.name for m in parse_text(text) for s in m.samples] == ["a_total"]
    assert list(parse(text).samples) == ["a"]


@settings(max_examples=400, deadline=None)
@given(text_exposition())
def test_text_matches_prometheus_client(text: str) -> None:
    try:
        families = list(parse_text(text.replace(" counter", " gauge")))
    except ValueError:
        return
    theirs = first_of_each([(s.name, s.labels, s.value, s.timestamp) for m in families for s in m.samples])
    assert ours(text) == theirs


@st.composite
def openmetrics_exposition(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.from_regex(r"\A[a-z]{3}[0-9]\Z"), unique=True, max_size=4))
    lines: list[str] = []
    for name in names:
        kind = draw(st.sampled_from(["gauge", "counter", "unknown"]))
        lines.append(f"# TYPE {name} {kind}")
        sets = draw(st.lists(label_text(spaced=False), unique=True, max_size=3))
        for labels in sets:
            stamp = draw(st.sampled_from(["", " 1795000000", " 1795000000.25", " 17.5e8"]))
            value = draw(st.integers(0, 99)) if kind == "counter" else draw(VALUES)
            mark = ' # {trace="a} b"} 0.5 1795000000.5' if kind == "counter" and draw(st.booleans()) else ""
            lines.append(f"{name}{'_total' if kind == 'counter' else ''}{labels} {value}{stamp}{mark}")
    return "\n".join([*lines, "# EOF\n"])


@settings(max_examples=300, deadline=None)
@given(openmetrics_exposition())
def test_openmetrics_matches_prometheus_client(text: str) -> None:
    try:
        families = list(parse_openmetrics(text))
    except ValueError:
        return
    theirs = first_of_each([(s.name, s.labels, s.value, s.timestamp) for m in families for s in m.samples])
    assert ours(text) == theirs


@settings(max_examples=200, deadline=None)
@given(text_exposition(), st.lists(st.integers(0, 40), max_size=6))
def test_chunks_of_any_size_give_the_same(text: str, cuts: list[int]) -> None:
    places = sorted({min(c, len(text)) for c in cuts} | {0, len(text)})
    chunks = [text[a:b] for a, b in zip(places, places[1:], strict=False)]
    streamed, whole = parse_lines(chunks), parse(text)
    assert repr(streamed) == repr(whole)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200).map(lambda b: b.decode("utf-8", "replace"))))
def test_never_raises(text: str) -> None:
    parse(text)
    parse(text, KEEP)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.prom")), ids=lambda p: p.name)
def test_recorded_expositions_match(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    theirs = [(s.name, s.labels, s.value, s.timestamp) for m in parse_text(text) for s in m.samples]
    assert ours(text) == first_of_each(theirs)
    assert not parse(text).problems


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('a{b="c 1', "unclosed label value"),
        ('a{b="c" 1', "unclosed labels"),
        ("a{b=c} 1", "malformed labels"),
        ('a{b="c"}', "no value"),
        ("a", "no value"),
        ("a one", "not a number"),
        ("a 1_0", "not a number"),
        ('a{b="1",b="2"} 1', "occurs twice"),
        ("a{b} 1", "without a value"),
        ("a {count:1,sum:2}", "no value"),
        ("<html>", "not a sample"),
        ('{b="c"} 1', "no metric name"),
    ],
)
def test_malformed_lines_are_problems(line: str, problem: str) -> None:
    got = parse(f"ok 1\n{line}\nok2 2\n")
    assert set(got.samples) == {"ok", "ok2"}
    assert got.malformed == 1
    assert got.problems[0].startswith("line 2: ")
    assert problem in got.problems[0]


def test_problem_lines_are_numbered_across_blocks() -> None:
    text = "a_long_metric_name 1\n" * 120_000 + "broken\n"
    assert parse(text).problems[0] == "line 120001: no value"


def test_filter_keeps_families_and_counts_the_rest() -> None:
    text = (
        'vllm:num_requests_running{engine="0"} 1\nvllm_num_requests_running 2\nray_vllm_num_requests_running 3\n'
        "vllm:time_to_first_token_seconds_bucket 1\nvllm:time_to_first_token_seconds_created 17\n"
        "vllm:request_success_total 4\nvllm:brand_new 1\npython_info 1\npython_gc 1\n# TYPE python_gc counter\n"
        "# TYPE vllm:request_success_total counter\n"
    )
    got = parse(text, KEEP)
    assert set(got.samples) == {
        "vllm:num_requests_running",
        "vllm_num_requests_running",
        "ray_vllm_num_requests_running",
        "vllm:time_to_first_token_seconds_bucket",
        "vllm:request_success_total",
    }
    assert got.foreign == {"vllm": 1, "python": 2}
    assert got.types == {"vllm:request_success_total": "counter"}
    assert sample_type({"x": "histogram"}, "x_bucket") == "histogram"


def test_openmetrics_counter_without_total_in_the_catalog() -> None:
    assert is_wanted("vllm:request_success_total", frozenset({"vllm:request_success"}))
    assert is_wanted("vllm:request_success", frozenset({"vllm:request_success_total"}))


def test_duplicates_keep_the_first_in_any_label_order() -> None:
    got = parse('a{x="1",y="2"} 1\na{y="2",x="1"} 2\na{ x="1" , y="2" } 3\na{x="1",y="3"} 4\n')
    assert [(lab["y"], v) for lab, v, _ in got.samples["a"]] == [("2", 1.0), ("3", 4.0)]
    assert got.problems == ("2 duplicate series: the first of each is used",)


def test_caps_are_noted() -> None:
    text = "".join(f'a{{n="{i}"}} 1\n' for i in range(50))
    got = parse(text, max_series=10)
    assert len(got.samples["a"]) == 10
    assert got.problems == ("more series than are kept: 40 left out",)
    long = parse_lines(['b 1\na{x="', "y" * (2 << 20), '"} 1\nc 2\n'])
    assert set(long.samples) == {"b", "c"}
    assert "longer than" in long.problems[0]


def test_utf8_names_and_exemplars() -> None:
    got = parse('{"my.metric",a="b"} 3\nx_bucket{le="1"} 5 # {t="}"} 0.3 1.5\n')
    assert got.samples["my.metric"] == [({"a": "b"}, 3.0, None)]
    assert got.samples["x_bucket"] == [({"le": "1"}, 5.0, None)]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.permutations(["a", "b", "c"]), st.sampled_from(["1", "2"]), st.sampled_from(["x", "y\\n"])))
)
def test_label_order_does_not_matter(rows: list[tuple[list[str], str, str]]) -> None:
    lines = []
    for number, (order, one, two) in enumerate(rows):
        values = {"a": one, "b": two, "c": "3"}
        lines.append("m{" + ",".join(f'{name}="{values[name]}"' for name in order) + f"}} {number}")
    assert ours("\n".join(lines)) == first_of_each(
        [("m", {"a": one, "b": two.replace("\\n", "\n"), "c": "3"}, n, None) for n, (_, one, two) in enumerate(rows)]
    )
