"""Capture: a bundle appears whole or not at all, and without secrets and prompts; redaction leaves the rest alone."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import free_port, http_server, reply

from diagnose.errors import SourceError, UsageError
from diagnose.sources.bundle import read_bundle
from diagnose.sources.capture import capture, folder_name
from diagnose.sources.endpoint import HttpOptions
from diagnose.sources.redact import is_secret, redact_json, redact_text

BODY = 'vllm:num_requests_running{engine="0"} 5.0\npython_info 1\n'
SERVER_INFO = {
    "vllm_config": {"cache_config": {"block_size": 16}, "api_key": "s3cret"},
    "vllm_env": {"VLLM_USE_V1": True, "VLLM_API_KEY": "s3cret", "HOME": "/root"},
    "system_env": {"torch_version": "2.9", "pip_packages": "s3cret"},
}
ROUTES = {
    "/metrics": reply(BODY),
    "/version": reply('{"version": "0.32.0"}'),
    "/server_info": reply(json.dumps(SERVER_INFO)),
}
LOG = "INFO 10-20 07:44:12 Received request cmpl-1: prompt: 's3cret words', params: SamplingParams(n=1)\n"


def test_bundle_of_one_engine(tmp_path: Path) -> None:
    log, launch = tmp_path / "engine.out", tmp_path / "server.txt"
    notes: list[str] = []
    log.write_text(LOG)
    launch.write_text("vllm serve m --api-key s3cret --max-num-seqs 64\n")
    with http_server(ROUTES) as url:
        path = capture(
            [url],
            tmp_path / "b.tar.gz",
            window=0.05,
            options=HttpOptions(),
            logs=[log],
            launches=[launch],
            warn=notes.append,
        )
    assert not notes
    with tarfile.open(path) as archive:
        files = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]
    target = folder_name(url.removeprefix("http://"))
    scrapes = sorted(n for n in files if n.startswith(f"b/scrapes/{target}/"))
    assert len(scrapes) == 2
    assert all(gzip.decompress(files[n]).decode() == BODY for n in scrapes)
    assert json.loads(files["b/server_info/GET_version.json"]) == {"version": "0.32.0"}
    info = json.loads(files["b/server_info/GET_server_info.json"])
    assert info["vllm_config"]["cache_config"] == {"block_size": 16}
    assert info["vllm_env"] == {"VLLM_USE_V1": True}
    assert info["system_env"] == {"torch_version": "2.9"}
    assert b"--max-num-seqs 64" in files["b/launch/server.txt"]
    assert b"SamplingParams(n=1)" in files["b/logs/engine.log"]
    assert not [n for n, data in files.items() if b"s3cret" in data]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.tar.gz", "engine.out", "server.txt"]


def test_folder_of_several_engines_and_a_dead_one(tmp_path: Path) -> None:
    dead, notes = f"127.0.0.1:{free_port()}", list[str]()
    with http_server(ROUTES) as one, http_server(ROUTES) as two:
        path = capture([one, two, dead], tmp_path / "b", window=0, options=HttpOptions(), warn=notes.append)
    assert len(list((path / "scrapes").iterdir())) == 2
    for file in (path / "server_info").iterdir():
        assert json.loads(file.read_text())["/version"] == {"version": "0.32.0"}
    assert notes == [f"{dead}: connection refused"]


@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
def test_nothing_is_left_when_no_engine_answers(tmp_path: Path, name: str) -> None:
    with http_server({"/metrics": reply("<html></html>")}) as url, pytest.raises(SourceError, match="HTML"):
        capture([url], tmp_path / name, window=5, options=HttpOptions())
    assert list(tmp_path.iterdir()) == []


def test_wrong_paths_are_usage_errors(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    for output, logs in ((tmp_path / "there", []), (tmp_path / "no" / "b", []), (tmp_path / "b", [tmp_path / "none"])):
        with pytest.raises(UsageError):
            capture(["localhost:1"], output, window=0, options=HttpOptions(), logs=logs)
    assert [p.name for p in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --api-key s3cret --port 8000",
        "vllm serve m --api-key s3cret s3cret2 --port 8000",
        "vllm serve m --port 8000 --api-key s3cret",
        "--api-key=s3cret",
        '["--api-key", "s3cret", "--port", "8000"]',
        "- --api-key\n- s3cret\n- --port\n- 8000",
        "HF_TOKEN=s3cret",
        "export AWS_SECRET_ACCESS_KEY='s3cret'",
        "  - name: HF_TOKEN\n    value: s3cret",
        "      HUGGING_FACE_HUB_TOKEN: s3cret",
        "-e HF_TOKEN=s3cret",
        "hf_s3cret0123456789",
        "key sk-s3cret0123456789",
        "Authorization: Bearer s3cret",
        "'authorization': 's3cret'",
        "http://user:s3cret@host:8000/metrics",
        "https://host/?api_key=s3cret",
        "api_key='s3cret', port=8000",
        "api_key=['s3cret', 's3cret2'], port=8000",
        'Namespace(admin_api_key="s3cret")',
        LOG.replace("s3cret words", r"it\'s s3cret"),
        'Receive: obj=GenerateReqInput(rid="r", text="a [s3cret]", input_ids=None)',
        "obj=GenerateReqInput(text=['s3cret', 'b'])",
        '{"messages": [{"role": "user", "content": "s3cret ]"}]}',
        'prompt_token_ids: [1, 2, 3], prompt: "s3cret',
        "'prompt': 's3cret'",
    ],
)
def test_secrets_and_prompts_go(text: str) -> None:
    assert "s3cret" not in redact_text(text)
    assert redact_text(text).count("\n") == text.count("\n")
    if "8000" in text:
        assert "8000" in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch, #running-req: 66, #token: 21000, token usage: 0.01, gen throughput (token/s): 640.0",
        "Avg prompt throughput: 1.0 tokens/s, Running: 5 reqs, GPU KV cache usage: 99.1%",
        "vllm serve m --max-num-batched-tokens 8192 --tokenizer t --ssl-keyfile k.pem --api-key $API_KEY",
        "max_tokens=16, eos_token='</s>', ssl_keyfile=None, api_key=None, token=5",
        "prompt_tokens: 12, text_config: TextConfig, content-length: 12",
    ],
)
def test_settings_and_numbers_stay(text: str) -> None:
    assert redact_text(text) == text


def test_json_is_redacted_by_key() -> None:
    got = redact_json(
        {
            "hf_token": "x",
            "tokenizer": "t",
            "max_tokens": 5,
            "admin_api_key": ["x"],
            "server_args": {"api_key": None, "tp_size": 8},
            "messages": [{"content": "x"}],
            "env": "A=1",
            "command": "serve --api-key x9 --tp 2",
        }
    )
    assert got == {
        "hf_token": "<redacted>",
        "tokenizer": "t",
        "max_tokens": 5,
        "admin_api_key": "<redacted>",
        "server_args": {"api_key": None, "tp_size": 8},
        "messages": "<redacted>",
        "env": "<redacted>",
        "command": "serve --api-key <redacted> --tp 2",
    }


def test_names_of_secrets() -> None:
    assert all(map(is_secret, ("HF_TOKEN", "api_key", "VLLM_API_KEY", "apiKey", "password", "AWS_SECRET_ACCESS_KEY")))
    assert not any(map(is_secret, ("max_tokens", "tokenizer", "eos_token", "monkey", "num_tokens", "keyfile")))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("prompt:'\"[]{}()\\,= \nab-key--api ")))
def test_redaction_never_raises_and_is_stable(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once).count("\n") == text.count("\n")


def test_what_did_not_come_is_in_the_bundle(tmp_path: Path) -> None:
    dead = f"127.0.0.1:{free_port()}"
    with http_server(ROUTES) as url:
        path = capture([url, dead], tmp_path / "b.tgz", window=0.0, options=HttpOptions())
    (missing,) = read_bundle(str(path)).missing
    assert missing.what == f"{dead}: connection refused"
    assert missing.why.startswith("target not observed")
