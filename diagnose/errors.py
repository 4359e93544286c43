"""The exception tree. Each error carries what happened, where, and what to do; each maps to one exit code."""

from __future__ import annotations

EXIT_HEALTHY = 0
EXIT_ACT = 1
EXIT_USAGE = 2
EXIT_CANNOT_TELL = 3


class DiagnoseError(Exception):
    """Base of all errors that are shown to the user as one line.

    ``what`` says what is wrong and with which value, ``where`` names the file, URL or key, ``hint`` says what to do.
    """

    exit_code = EXIT_USAGE

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}. {self.hint}" if self.hint else line


class UsageError(DiagnoseError):
    """A wrong argument, option or path: exit 2, no document."""


class ConfigError(DiagnoseError):
    """The user's threshold file has an unknown key, a bad type or a value out of bounds: exit 2, no document."""


class SourceError(DiagnoseError):
    """An input exists but cannot be observed (refused, HTML, no engine series, truncated): exit 3."""

    exit_code = EXIT_CANNOT_TELL
