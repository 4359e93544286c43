"""Every verdict in every format: layout, schema, escaping."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import diagnoses
import pytest
from jsonschema import Draft202012Validator

from diagnose.model import Diagnosis, Evidence, Fact, Finding, Missing, Value
from diagnose.report import FORMATS, json_, render

ALL = list(diagnoses.ALL.values())
NASTY = "a|b`*_<script>alert('x')</script>&\x1b[31m\u202e[bold]"


@pytest.fixture(params=ALL, ids=list(diagnoses.ALL))
def made(request: pytest.FixtureRequest) -> Diagnosis:
    build: Callable[[], Diagnosis] = request.param
    return build()


def test_text_fits_80_columns_and_one_screen(made: Diagnosis) -> None:
    lines = render(made, "text").splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= (40 if len(made.targets) > 3 else 30)


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_text_fits_other_widths(made: Diagnosis, width: int) -> None:
    lines = render(made, "text", width=width).splitlines()
    assert max(map(len, lines)) <= max(width, 40)


def test_text_has_no_escape_codes_unless_asked_and_the_same_words_with_them(made: Diagnosis) -> None:
    plain, coloured = render(made, "text"), render(made, "text", color=True)
    assert "\x1b" not in plain
    assert "\x1b" in coloured
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [x.split() for x in stripped.splitlines()] == [x.split() for x in plain.splitlines()]


def test_json_follows_the_schema(made: Diagnosis) -> None:
    document = json.loads(render(made, "json"))
    Draft202012Validator(json_.schema()).validate(document)
    assert document["schema"] == "diagnose.report/1"
    assert document["verdict"] == made.verdict
    assert (document["next"] or {}).get("id") == (made.next.id if made.next else None)
    assert [e["id"] for e in document["guide"]] == list(diagnoses.TITLES)


def test_the_schema_is_itself_valid_and_refuses_a_step_without_act() -> None:
    schema = json_.schema()
    Draft202012Validator.check_schema(schema)
    document = json_.document(diagnoses.storm())
    assert not Draft202012Validator(schema).is_valid({**document, "verdict": "healthy"})
    assert not Draft202012Validator(schema).is_valid({**document, "next": None})


def test_json_never_holds_nan_or_infinity_and_shows_no_secret() -> None:
    made = diagnoses.storm()
    bad = Evidence("kv_usage_max", math.nan, "ratio", ">", math.inf, "metrics", -math.inf)
    target = replace(made.targets[0], signals={"kv_usage_max": Value(math.inf, "metrics", math.nan)}, window=math.inf)
    text = render(replace(made, findings=(Finding("a", "present", "r0", evidence=(bad,)),), targets=(target,)), "json")
    document = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    Draft202012Validator(json_.schema()).validate(document)
    assert document["symptoms"][0]["evidence"][0]["value"] is None
    facts = {f["id"]: f["value"] for f in document["facts"]}
    assert facts["client_request_rate"] == "inf"
    assert facts["flag.api_key"] == "<redacted>"
    assert facts["graph_sizes"] == [1, 2, 4]
    assert "sk-very-secret" not in text


@pytest.mark.parametrize("name", ["max_num_batched_tokens", "kv_tokens", "flag.tokenizer", "spec_tokens"])
def test_token_counts_are_no_secrets(name: str) -> None:
    made = replace(diagnoses.healthy(), facts=(Fact(name, 512, "launch", "x"),))
    assert json_.document(made)["facts"][0]["value"] == 512


@pytest.mark.parametrize("form", FORMATS)
def test_text_from_logs_and_labels_cannot_break_out(form: str) -> None:
    made = diagnoses.storm()
    target = replace(made.targets[0], name=NASTY, model=NASTY)
    made = replace(made, targets=(target,) * 5, notes=(NASTY,), missing=(Missing(NASTY, NASTY, NASTY),))
    said = render(made, form)
    assert "\x1b" not in said and "\u202e" not in said
    if form == "html":
        assert "<script" not in said
    if form == "markdown":
        assert not re.search(r"(?<!\\)<script", said)


def test_html_is_one_well_formed_page_that_loads_nothing(made: Diagnosis) -> None:
    open_tags: list[str] = []
    attributes: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            attributes.extend(name for name, _ in attrs)
            if tag != "meta":
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    page = render(made, "html")
    Checker().feed(page)
    assert not open_tags
    assert not {"src", "href", "onclick"} & set(attributes)


def test_markdown_names_the_verdict_and_the_change() -> None:
    said = render(diagnoses.storm(), "markdown")
    assert said.startswith("## ACT: 2.1 ")
    assert "```\n--max-num-seqs 64 -> 3\n" in said


def test_an_act_report_shows_change_evidence_check_and_undo() -> None:
    said = render(diagnoses.storm(), "text")
    for part in (
        "--max-num-seqs 64 -> 3",
        "267 preemptions",
        "check ",
        "undo ",
        "then ",
        "2.3",
        "add --log FILE",
        "KV 94 %",
    ):
        assert part in said


def test_a_healthy_report_says_what_was_looked_at() -> None:
    said = render(diagnoses.healthy(), "text")
    assert "HEALTHY" in said and "31 symptoms looked for" in said and "prefix hits 63 %" in said


def test_a_cannot_tell_report_says_how_to_get_what_is_missing() -> None:
    said = " ".join(render(diagnoses.cannot_tell(), "text").split())
    assert "CANNOT TELL" in said and "start with --enable-metrics" in said


def test_a_fault_report_gives_no_tuning_advice() -> None:
    said = render(diagnoses.fault(), "text")
    assert "ENGINE FAULT" in said and "diagnose capture" in said and "--max-num-seqs" not in said


def test_a_fleet_is_a_table_worst_first_with_the_rest_counted() -> None:
    lines = render(diagnoses.fleet(200), "text").splitlines()
    verdicts = [x.split("  ")[1].strip() for x in lines[4:18]]
    assert verdicts == ["act"] * 2 + ["cannot tell"] + ["healthy"] * 11
    assert any(re.search(r"and 186 more: 186 healthy", x) for x in lines)
    assert len(lines) <= 42


def test_two_models_are_listed() -> None:
    made = diagnoses.storm()
    both = replace(made, models=(*made.models, *diagnoses.healthy().models))
    said = render(both, "text")
    assert "models" in said and "Qwen/Qwen3-8B · HEALTHY" in said
