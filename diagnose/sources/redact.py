"""Secrets and prompt text taken out of logs, launch text and configuration answers; numbers and settings stay."""

from __future__ import annotations

import re
from collections.abc import Mapping

GONE = "<redacted>"
_NO_SECRETS = frozenset({"none", "null", "", "true", "false", "bearer", "basic"})

# A key whose value is a secret: a name that ends in KEY, TOKEN, SECRET, PASSWORD (not MAX_TOKENS, TOKENIZER, ...).
_SECRET_KEY = re.compile(
    r"(?:^|[_\-.]|(?-i:(?<=[a-z])(?=[KTSP])))(?:api[_-]?keys?|apikeys?|key|keys|token|secret|secrets|password|passwd|passphrase"
    r"|credentials?|authorization|access[_-]?key[_-]?id)$",
    re.IGNORECASE,
)
_HARMLESS_KEY = re.compile(
    r"(?:eos|bos|pad|unk|sep|cls|mask|stop|special|image|video|audio|think|start|end)[_-]?token$|cache[_-]?key$"
    r"|label[_-]?keys?$|metric[_-]?key|sort[_-]?key|group[_-]?key",
    re.IGNORECASE,
)
_PROMPT_KEY = re.compile(
    r"^(?:prompts?|prompt_token_ids|prompt_embeds|input_ids|input_embeds|token_ids|text|texts|messages|content|instructions"
    r"|output_ids|output_token_ids|generated_text|completion|system_prompt|image_data|video_data|audio_data|image_url)$"
)
_ENVIRONMENT_KEYS = frozenset({"vllm_env", "system_env", "env", "environ", "environment"})
_ENVIRONMENT_KEPT = re.compile(
    r"^(?:VLLM_(?:VERSION|USE_\w+|ATTENTION_BACKEND|ENABLE_\w+|CPU_\w+|WORKER_\w+|ALL2ALL_BACKEND|FLASH\w+|MOE_\w+)"
    r"|SGLANG_(?:ENABLE|DISABLE|USE)_\w+|CUDA_(?:VISIBLE_DEVICES|LAUNCH_BLOCKING|MODULE_LOADING)|NCCL_(?:P2P|SHM|IB)\w+"
    r"|PYTHONHASHSEED|PYTORCH_(?:CUDA_)?ALLOC_CONF|OMP_NUM_THREADS"
    r"|nvidia_driver_version|nvidia_gpu_models|gpu_topo|(?:vllm|torch|cuda|flashinfer|sglang|triton|python)\w*version)$",
    re.IGNORECASE,
)

_NAME = r"[A-Za-z][\w.-]*"
_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_TEXT_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL), GONE),
    (re.compile(r"\b(?:hf|api_org)_[A-Za-z0-9]{8,}\b"), GONE),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{8,}"), GONE),
    (re.compile(r"\b(?:ghp|gho|ghs|ghu|github_pat|glpat|nvapi|xox[abprs])[_-][A-Za-z0-9_-]{10,}"), GONE),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), GONE),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"), GONE),
    (re.compile(r"(?i)\b(bearer|basic)([ \t]+)[A-Za-z0-9._~+/=-]{4,}"), rf"\1\2{GONE}"),
    (
        re.compile(r"(?i)\b((?:proxy-)?authorization[\"']?[ \t]*[:=][ \t]*[\"']?)(?!(?:bearer|basic)\b)[^\s\"',]+"),
        rf"\1{GONE}",
    ),
    (re.compile(r"([a-z][a-z0-9+.-]*://[^\s:/@\"']*):[^\s/@\"']+@"), rf"\1:{GONE}@"),
    (re.compile(r"(?i)([?&](?:key|api_?key|token|sig|signature|x-amz-[a-z-]+|password)=)[^\s&\"']+"), rf"\1{GONE}"),
)
_HINT = r"(?=[\w.-]*(?i:key|token|secret|passw|passphrase|credential|authorization))"
_PAIR = re.compile(
    rf"""(?P<lead>(?<![\w.-])(?:--?(?P<flag>{_HINT}{_NAME})(?:[ \t]*=[ \t]*|[ \t]+)"""
    rf"""|["']?(?P<key>{_HINT}{_NAME})["']?[ \t]*[:=][ \t]*))(?P<value>{_QUOTED}|\[[^\]\n]*\]|[^\s,;)}}\]"']+)"""
)
_API_KEYS = re.compile(r"(--api-keys?[= \t]+)(?!-)(?:[^\s\\;|&]+[ \t]+)+?(?=--?\w|\\|[;|&]|$)", re.MULTILINE)
_LIST_ITEM = re.compile(  # flag and value as two items of a JSON or YAML list
    r"""(?P<lead>--(?P<flag>[\w.-]+)["']?(?:[ \t]*,\s*|[ \t]*\n[ \t]*-[ \t]+))"""
    r"""(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s,\]]+)"""
)
_NUMBER = re.compile(r"[-+\d.,%eE]+")
_STRONG_KEY = re.compile(r"pass|secret|api[_-]?key|access[_-]?key", re.IGNORECASE)
_ENV_ITEM = re.compile(
    rf"(?P<lead>name:[ \t]*[\"']?(?P<key>{_NAME})[\"']?[ \t]*\n[ \t]*value:[ \t]*)(?P<value>{_QUOTED}|[^\s]+)"
)
_PROMPT_START = re.compile(
    r"""(?P<lead>(?<![\w.])["']?(?:prompts?|text|texts|messages|content|prompt_token_ids|input_ids|output_ids|token_ids"""
    r"""|prompt_embeds|generated_text|image_data|system_prompt)["']?[ \t]*[:=][ \t]*)(?=["'\[])"""
)


def redact_text(text: str) -> str:
    """The text without secrets and prompts, line by line where possible; line count and settings stay."""
    for pattern, put in _TEXT_RULES:
        text = pattern.sub(put, text)
    text = _API_KEYS.sub(rf"\1{GONE} ", text)
    text = _LIST_ITEM.sub(_hide_value, text)
    text = _ENV_ITEM.sub(_hide_value, text)
    return _without_prompts(_without_secrets(text))


def redact_json(value: object, key: str = "") -> object:
    """The same structure without secrets, prompts and environment variables other than those that tune an engine."""
    if isinstance(value, Mapping):
        if key in _ENVIRONMENT_KEYS:
            return {k: redact_json(v, str(k)) for k, v in value.items() if _ENVIRONMENT_KEPT.match(str(k))}
        return {k: redact_json(v, str(k)) for k, v in value.items()}
    if value is None or isinstance(value, bool):
        return value
    if is_secret(key) and not (isinstance(value, int | float)):
        return GONE
    if key in _ENVIRONMENT_KEYS and isinstance(value, str):
        return GONE
    if _PROMPT_KEY.match(key) and isinstance(value, str | list):
        return GONE
    if isinstance(value, list | tuple):
        return [redact_json(v, key) for v in value]
    return redact_text(value) if isinstance(value, str) else value


def is_secret(key: str) -> bool:
    """True when a setting or environment variable of this name holds a secret."""
    return bool(_SECRET_KEY.search(key)) and not _HARMLESS_KEY.search(key)


def _without_secrets(text: str) -> str:
    """Text in which values behind secret names are replaced; a value that is no secret may hold a further pair."""
    parts, position = list[str](), 0
    while match := _PAIR.search(text, position):
        hidden = _hide_value(match)
        end = match.end() if hidden != match.group() else match.start("value")
        parts += [text[position : match.start()], hidden if end == match.end() else match["lead"]]
        position = end
    return "".join([*parts, text[position:]])


def _hide_value(match: re.Match[str]) -> str:
    found = match.groupdict()
    key, value = found.get("flag") or found.get("key") or "", found["value"]
    bare = value.strip("\"'")
    if not is_secret(key) or bare.lower() in _NO_SECRETS or bare.startswith(("$", "<", "-", "{")):
        return match.group()
    if _NUMBER.fullmatch(bare) and not _STRONG_KEY.search(key):  # a count of tokens
        return match.group()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['lead']}{quote}{GONE}{quote}"


def _without_prompts(text: str) -> str:
    """Text in which the string or list behind ``prompt:``, ``text=``, ``messages=`` and the like is replaced."""
    parts, position = list[str](), 0
    while match := _PROMPT_START.search(text, position):
        end = _end_of_value(text, match.end())
        parts += [text[position : match.end()], GONE]
        position = end
    return "".join([*parts, text[position:]])


def _end_of_value(text: str, start: int) -> int:
    """Where the quoted string or bracketed list that starts here ends; the end of the line when it is not closed."""
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    depth, position, quote = 0, start, ""
    while position < line_end:
        char = text[position]
        if quote:
            if char == "\\":
                position += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        if not quote and depth <= 0:
            return position + 1
        position += 1
    return line_end
