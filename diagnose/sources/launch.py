"""Configuration from how a server was started: shell, docker, compose, Kubernetes, Python calls, argument dumps."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from diagnose.model import Fact, Observations, Remark
from diagnose.sources import launch_client, launch_commands, launch_facts, launch_shell, launch_yaml, pyrepr
from diagnose.sources.launch_commands import CLIENT, OFFLINE, Program

MAX_CHARS = 2_000_000
_LABELLED = re.compile(r"^\s*(?:cmd|command|launch|args|run|entrypoint)\s*[:=]\s+(?=\S)", re.I)
_ENV_LINE = re.compile(r"^\s*(?:env\s*:\s+|environment\s*[:=]\s*|ENV\s+)(?=\"?[A-Za-z_]\w*=)", re.I)
_EXEC_LINE = re.compile(r"^\s*(?:CMD|ENTRYPOINT)\s*(?=\[)|^\s*(?:CMD|ENTRYPOINT)\s+|^\s*ExecStart=\s*")
_DUMP = re.compile(
    r"(non-default args:\s*|\bargs:\s*|server_args\s*=\s*)?"
    r"(\{\s*['\"]|\b(?:sgl\.|vllm\.)?(?:Namespace|ServerArgs|LLM|Engine|AsyncEngineArgs|EngineArgs|AsyncLLM)\((?=\s*[\w'\"]))"
)
_CALL = re.compile(r"\b(?:Namespace|ServerArgs|LLM|Engine|AsyncEngineArgs|EngineArgs|AsyncLLM)\(\s*\w")
# A parsed command line holds defaults; SGLang's arguments are resolved when they are logged.
_MODES = {"Namespace": "dump", "ServerArgs": "resolved"}
# Options of ``docker run`` that take a value.
_VALUED = ("-e", "--env", "-v", "--volume", "-p", "--publish", "--gpus", "--name", "--ipc", "--shm-size", "--network",
           "--runtime", "--device", "--ulimit", "--user", "-u", "--entrypoint", "--restart", "--mount", "-w",
           "--workdir", "--cap-add", "--security-opt", "--memory", "-m", "--cpus", "--hostname", "--env-file",
           "--group-add", "--label", "-l", "--net", "--log-opt", "--pid", "--platform")  # fmt: skip


def parse_launch(text: str, run: str) -> Observations:
    """Facts (source ``launch``) and remarks of one launch text; what cannot be read is left out, nothing is raised."""
    text = text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    where = f"launch {run}" if run else "launch"
    remarks = tuple(_remarks(text, run))
    facts: list[Fact] = []
    for fact in [*_facts(text, run, where), *_remark_facts(remarks, run, where)]:
        if fact not in facts:
            facts.append(fact)
    return Observations(facts=tuple(facts), remarks=remarks)


def _remarks(text: str, run: str) -> Iterator[Remark]:
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#") and not stripped.startswith("#!"):
            said = stripped.lstrip("#").strip()
        else:
            found = re.search(r"\s#\s(.+)$", line)
            said = found.group(1).strip() if found and "'" not in found.group(1) else ""
        if said:
            yield Remark(run, said)


def _remark_facts(remarks: tuple[Remark, ...], run: str, where: str) -> Iterator[Fact]:
    for remark in remarks:
        yield from launch_client.from_remark(remark.text, run, f"{where}, remark")


def _facts(text: str, run: str, where: str) -> Iterator[Fact]:
    body = "\n".join(_relabelled(line) for line in text.splitlines())
    relabelled, called = body != text.rstrip("\n"), bool(_CALL.search(text))
    documents = [] if relabelled or called else launch_yaml.load(text)
    if documents:
        for document in documents:
            yield from _document(document, run, where)
        return
    commands = list(launch_shell.commands(body))
    known = [c for c in commands if launch_commands.recognise(c.words) or "run" in c.words[:3]]
    if not known and (dumped := list(dumps(body, run, where, "launch"))):
        yield from dumped
        return
    for command in commands:
        yield from _command(command, run, where, bool(known))


def _relabelled(line: str) -> str:
    """``env: A=1`` and ``cmd: vllm serve`` as the shell would write them; any other line unchanged."""
    if _ENV_LINE.match(line):
        return "export " + _ENV_LINE.sub("", line)
    if found := _EXEC_LINE.match(line):
        rest = line[found.end() :]
        listed = pyrepr.parse(rest) if rest.startswith("[") else None
        return shlex.join(str(word) for word in listed) if isinstance(listed, list) else rest
    found = _LABELLED.match(line)
    if found and launch_commands.recognise(tuple(line[found.end() :].split())):
        return line[found.end() :]
    return line


def _command(command: launch_shell.Command, run: str, where: str, some_known: bool) -> Iterator[Fact]:
    env, parts, image = dict(command.env), list(command.words), ""
    if parts[1:2] == ["run"] and parts[0].rpartition("/")[2] in ("docker", "podman", "nerdctl"):
        inner, image, parts = _container(parts[2:])
        env |= inner
        yield from launch_yaml.image_facts(image, run, where)
    yield from _program(parts, image, run, where, env, some_known)


def _container(parts: list[str]) -> tuple[dict[str, str], str, list[str]]:
    """Environment, image and the words behind it of ``docker run``."""
    env: dict[str, str] = {}
    entry: list[str] = []
    while parts and parts[0].startswith("-"):
        word = parts.pop(0)
        name, given, value = word.partition("=")
        if not given and word in _VALUED and parts:
            value = parts.pop(0)
        if name in ("-e", "--env") and "=" in value:
            key, _, said = value.partition("=")
            env[key] = said
        elif name == "--entrypoint":
            entry = value.split()
    image = parts.pop(0) if parts else ""
    return env, image, entry + parts


def _program(
    parts: list[str], image: str, run: str, where: str, env: dict[str, str], some_known: bool
) -> Iterator[Fact]:
    """Facts of one command's words; flags alone are read as those of the engine that knows most of them."""
    for position, word in enumerate(parts):
        if word in ("-c", "-lc", "-ic") and position and parts[position - 1].rpartition("/")[2] in ("sh", "bash"):
            for inner in launch_shell.commands("\n".join(parts[position + 1 :])):
                yield from _program(list(inner.words), image, run, where, {**env, **inner.env}, some_known)
            return
    program = launch_commands.recognise(tuple(parts))
    if program is None:
        engine, table, _ = launch_commands.from_image(image)
        if not table and not some_known:
            engine, table = _guess(parts)
        if not table:
            if env and not parts:
                yield from launch_facts.from_environment(env, "launch", where, run)
            return
        program = Program(engine, table, launch_commands.SERVER, 0)
    yield from launch_facts.from_environment(env, "launch", where, run)
    yield from _program_facts(program, parts[program.start :], run, where)


def _guess(parts: list[str]) -> tuple[str, str]:
    """Engine and flag table of words without a program; the engine only when its flags are clearly more."""
    if not parts or not parts[0].startswith("-"):
        return "", ""
    hits = {kind: len(launch_shell.flags(parts, kind)[0].keys() & launch_facts.index(kind).keys())
            for kind in ("vllm", "sglang", "client")}  # fmt: skip
    best = max(hits, key=lambda kind: hits[kind])
    clear = best != "client" and hits[best] >= 2 + max(n for kind, n in hits.items() if kind != best)
    return best if clear else "", best if hits[best] else ""


def _program_facts(program: Program, arguments: list[str], run: str, where: str) -> Iterator[Fact]:
    settings, rest = launch_shell.flags(arguments, program.table)
    if program.role in (CLIENT, OFFLINE):
        yield from launch_client.from_command(program, settings, run, where)
    if program.role == CLIENT:
        return
    if program.engine:
        yield Fact("engine", program.engine, "launch", where, run)
    if program.role == OFFLINE:
        client = launch_facts.index("client")
        settings = {name: value for name, value in settings.items() if name not in client}
    if rest and "model" not in settings and "model_path" not in settings and "model_tag" not in settings:
        settings = {"model": rest[0], **settings}
    yield from launch_facts.from_settings(settings, program.table, "launch", where, run)


def _document(document: Any, run: str, where: str) -> Iterator[Fact]:
    yield from launch_yaml.manifest_facts(document, run, where)
    found = False
    for node in launch_yaml.walk(document):
        env, parts, image = launch_yaml.container_words(node)
        if not parts and not from_engine_image(image):
            continue
        found = True
        yield from launch_yaml.image_facts(image, run, where)
        yield from _program(parts, image, run, where, env, False)
    if not found:
        yield from launch_yaml.engine_config(document, run, where)


def from_engine_image(image: str) -> bool:
    """Whether the image's name is that of an engine."""
    return bool(launch_commands.from_image(image)[0])


def dumps(text: str, run: str, where: str, source: str) -> Iterator[Fact]:
    """Facts of argument dumps and Python calls: ``Namespace(...)``, ``ServerArgs(...)``, ``LLM(...)``, a dict."""
    position = 0
    while found := _DUMP.search(text, position):
        value = pyrepr.parse(text, found.start(2))
        position = found.end()
        if not isinstance(value, dict):
            continue
        name = value.name.rpartition(".")[2] if isinstance(value, pyrepr.Call) else ""
        if isinstance(value, pyrepr.Call) and value.args and "model" not in value:
            value["model"] = value.args[0]
        sglang = name in ("ServerArgs", "Engine") or "model_path" in value or "mem_fraction_static" in value
        kind, mode = "sglang" if sglang else "vllm", _MODES.get(name, "set")
        if len(value) > 120:
            mode = "dump"
        facts = list(launch_facts.from_settings(value, kind, source, where, run, mode=mode))
        if not any(not fact.id.startswith("flag.") for fact in facts):
            continue
        yield Fact("engine", kind, source, where, run)
        yield from facts
        if name == "LLM":
            yield Fact("client_offline", True, source, where, run)
