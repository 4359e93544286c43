"""Defaults, overrides with provenance, and one clear line for everything that can be wrong with the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose import settings
from diagnose.errors import ConfigError
from diagnose.symptoms import Symptom, Threshold


@pytest.fixture(autouse=True)
def two_symptoms(monkeypatch: pytest.MonkeyPatch) -> None:
    storm = Threshold("storm", 0.1, "ratio", 0.001, 1.0, "one in ten requests is computed twice")
    queue = Threshold("queue", 1.0, "s", 0.01, 600.0, "a second of queue is felt")
    found = {
        "preemption_storm": Symptom("preemption_storm", "Storm", "cause", "page", "", "", thresholds=(storm, queue)),
        "queueing": Symptom("queueing", "Queue", "effect", "ticket", "", "", thresholds=(queue,)),
        "hung": Symptom("hung", "Hung", "fault", "page", "", ""),
    }
    monkeypatch.setattr(settings, "all_symptoms", lambda: found)


def write(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "t.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_defaults() -> None:
    found = settings.resolve(None)
    assert found.bounds("preemption_storm") == {"storm": 0.1, "queue": 1.0}
    assert found.bounds("hung") == {} == found.bounds("no_such")
    assert found.provenance("queueing.queue") == "default"
    assert found.overridden() == ()


@pytest.mark.parametrize(
    "text",
    [
        '[thresholds]\n"preemption_storm.storm" = 0.2\n',
        "[thresholds.preemption_storm]\nstorm = 0.2\n",
        "[thresholds]\npreemption_storm.storm = 0.2\n",
        "thresholds = { preemption_storm = { storm = 0.2 } }\n",
    ],
)
def test_dotted_and_nested_spellings(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    found = settings.resolve(path)
    assert found.bounds("preemption_storm") == {"storm": 0.2, "queue": 1.0}
    assert found.provenance("preemption_storm.storm") == path
    assert found.provenance("preemption_storm.queue") == "default"
    assert found.overridden() == ("preemption_storm.storm",)


def test_bounds_themselves_are_allowed(tmp_path: Path) -> None:
    assert (
        settings.resolve(write(tmp_path, "[thresholds.preemption_storm]\nstorm = 1\n")).bounds("preemption_storm")[
            "storm"
        ]
        == 1
    )


def test_slo_targets(tmp_path: Path) -> None:
    found = settings.resolve(write(tmp_path, '[slo]\nttft_p95 = "800ms"\nitl_p99 = 0.05\n'))
    assert found.slo == {"ttft_p95": 0.8, "itl_p99": 0.05}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[thresholds.preemption_strom]\nstorm = 0.2\n", "Did you mean preemption_storm.storm"),
        ("[thresholds]\nstorm = 0.2\n", "preemption_storm.storm"),
        ("[thresholds]\nzzz = 1\n", "3 are known: preemption_storm.storm, preemption_storm.queue, queueing.queue"),
        ("[tresholds]\n", "Did you mean thresholds"),
        ("[thresholds.preemption_storm]\nstorm = 20\n", "Write 0.2 (a ratio), not 20"),
        ("[thresholds.preemption_storm]\nqueue = 1000\n", "outside 0.01 to 600 s"),
        ("[thresholds.preemption_storm]\nstorm = nan\n", "outside 0.001 to 1 ratio"),
        ('[thresholds.preemption_storm]\nstorm = "0.2"\n', "is text, expected a number (ratio)"),
        ("[thresholds.preemption_storm]\nstorm = true\n", "is a boolean"),
        ("[thresholds.preemption_storm]\nstorm = [1]\n", "is a list"),
        ("thresholds = 3\n", "expected a table"),
        ("storm: 0.2\n", "not TOML"),
        (b"\xff\xfe\x00", "UTF-8"),
        ("[slo]\nttft_p95 = 'soon'\n", "is no duration"),
        ("[slo]\nttft_p95 = '2h'\n", "outside 0.001 to 600 seconds"),
        ("[slo]\nttft_p77 = 1\n", "ttft_p95"),
        ("[slo]\nttft_p95 = false\n", "expected a duration"),
    ],
)
def test_one_clear_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        settings.resolve(path)
    assert says in str(error.value)
    assert path in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        settings.resolve(str(tmp_path / "none.toml"))
    with pytest.raises(ConfigError, match="cannot be read"):
        settings.resolve(str(tmp_path))


def test_unknown_provenance() -> None:
    with pytest.raises(ConfigError, match="queueing.queue"):
        settings.resolve(None).provenance("queueing.queu")
