"""Reads Python reprs and loose JSON from logs and command lines: tolerant, bounded, never evaluates anything.

``{'a': LoRAModulePath(name='x'), 'm': <CUDAGraphMode.FULL: 2>}`` gives dicts, lists, strings and numbers; calls become
:class:`Call`, enum members their name. A text that ends early gives what was read until then.
"""

from __future__ import annotations

import re
from typing import Any

MAX_CHARS = 400_000
MAX_DEPTH = 40
_WORDS: dict[str, Any] = {
    "None": None, "null": None, "True": True, "true": True, "False": False, "false": False,
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_KEY_EQ = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=(?!=)")
_NEXT_KEY = re.compile(r"\s+[A-Za-z_]\w*=(?!=)")
_ENUM = re.compile(r"<\s*[\w.]*?\.?(\w+)\s*:.*>$", re.S)
_STOP = {",", ")", "]", "}"}


class Call(dict[str, Any]):
    """``Name(k=v, positional)``: keyword arguments as items, ``name`` and ``args`` beside them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.args: list[Any] = []


class _Reader:
    """One pass over the text with a cursor."""

    def __init__(self, text: str, pos: int = 0) -> None:
        self.text = text[: pos + MAX_CHARS]
        self.pos = pos

    def space(self) -> str:
        """The next character that is not white space, or the empty text at the end."""
        text, pos = self.text, self.pos
        while pos < len(text) and text[pos].isspace():
            pos += 1
        self.pos = pos
        return text[pos] if pos < len(text) else ""

    def value(self, depth: int = 0, in_key: bool = False) -> Any:
        """The value at the cursor."""
        char = self.space()
        if depth > MAX_DEPTH or not char:
            self.pos = len(self.text)
            return None
        if char in "'\"":
            return self.string(char)
        if char == "{":
            return self.braces(depth)
        if char in "[(":
            return self.items("]" if char == "[" else ")", depth)
        if char == "<":
            return self.angle()
        name = _NAME.match(self.text, self.pos)
        if name and self.text[name.end() : name.end() + 1] == "(":
            return self.call(name.group(), name.end() + 1, depth)
        return self.bare(in_key)

    def string(self, quote: str) -> str:
        """A quoted text; ``\\`` escapes are reduced to the character behind them, except line breaks and tabs."""
        out: list[str] = []
        self.pos += 1
        while self.pos < len(self.text):
            char = self.text[self.pos]
            self.pos += 1
            if char == quote:
                break
            if char == "\\" and self.pos < len(self.text):
                char = {"n": "\n", "t": "\t", "r": "\r"}.get(self.text[self.pos], self.text[self.pos])
                self.pos += 1
            out.append(char)
        return "".join(out)

    def items(self, close: str, depth: int) -> list[Any]:
        """A list or tuple."""
        self.pos += 1
        out: list[Any] = []
        while (char := self.space()) and char != close:
            if char in _STOP:
                if char != ",":
                    break
                self.pos += 1
                continue
            before = self.pos
            out.append(self.value(depth + 1))
            self.pos = max(self.pos, before + 1)
        self.pos += 1
        return out

    def braces(self, depth: int) -> Any:
        """A dict, or a list when it is a set."""
        self.pos += 1
        pairs: dict[str, Any] = {}
        singles: list[Any] = []
        while (char := self.space()) and char != "}":
            if char in _STOP:
                if char != ",":
                    break
                self.pos += 1
                continue
            before = self.pos
            key = self.value(depth + 1, in_key=True)
            if self.space() in (":", "="):
                self.pos += 1
                pairs[str(key)] = self.value(depth + 1)
            else:
                singles.append(key)
            self.pos = max(self.pos, before + 1)
        self.pos += 1
        return pairs if pairs or not singles else singles

    def call(self, name: str, pos: int, depth: int) -> Call:
        """The arguments of a call up to its closing bracket."""
        self.pos = pos
        out = Call(name)
        while (char := self.space()) and char != ")":
            if char in _STOP:
                if char != ",":
                    break
                self.pos += 1
                continue
            before = self.pos
            self.pair(out, depth)
            self.pos = max(self.pos, before + 1)
        self.pos += 1
        return out

    def pair(self, out: Call, depth: int) -> None:
        """Adds one ``key=value`` or one positional argument."""
        key = _KEY_EQ.match(self.text, self.pos)
        if key:
            self.pos = key.end()
            out[key.group(1)] = self.value(depth + 1)
        else:
            out.args.append(self.value(depth + 1))

    def angle(self) -> str:
        """The member's name of ``<Enum.MEMBER: value>``, or the text between the angle brackets."""
        start, level = self.pos, 0
        while self.pos < len(self.text):
            char = self.text[self.pos]
            level += (char == "<") - (char == ">")
            self.pos += 1
            if level == 0:
                break
        raw = self.text[start : self.pos]
        found = _ENUM.match(raw)
        return found.group(1) if found else raw.strip("<>")

    def bare(self, in_key: bool) -> Any:
        """An unquoted word, number or path, up to the next delimiter."""
        start = self.pos
        while self.pos < len(self.text):
            char = self.text[self.pos]
            if char in _STOP or (in_key and char in ":="):
                break
            if char.isspace() and _NEXT_KEY.match(self.text, self.pos):
                break
            self.pos += 1
        return scalar(self.text[start : self.pos].strip())


def scalar(word: str) -> Any:
    """None, bool, int or float from an unquoted word; the word itself when it is none of these."""
    if word in _WORDS:
        return _WORDS[word]
    try:
        return int(word) if word.lstrip("+-").isdigit() and len(word) < 40 else float(word)
    except ValueError:
        return word


def parse(text: str, pos: int = 0) -> Any:
    """The value that starts at ``pos``; None for an empty text."""
    return _Reader(text, pos).value()


def parse_items(text: str, pos: int = 0) -> Call:
    """``k=v, k=v`` without brackets around, as logged for the resolved configuration."""
    reader = _Reader(text, pos)
    return reader.call("", pos, 0)


def balance(text: str, pos: int = 0) -> int:
    """How many brackets are still open at the end of ``text`` (quotes respected); never below zero."""
    level, quote, skip = 0, "", False
    for char in text[pos : pos + MAX_CHARS]:
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            level += 1
        elif char in ")]}":
            level = max(level - 1, 0)
    return level
