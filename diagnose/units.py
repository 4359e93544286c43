"""The only unit conversions. Inside the library: ratio 0-1, seconds, bytes, tokens, per second."""

from __future__ import annotations

KIB, MIB, GIB = 1024, 1024**2, 1024**3

_BYTE_UNITS = {
    "b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3, "tb": 1000**4,
    "kib": KIB, "mib": MIB, "gib": GIB, "tib": 1024**4,
}  # fmt: skip
_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def percent(value: float) -> float:
    """Ratio 0-1 from a percentage."""
    return value / 100.0


def milliseconds(value: float) -> float:
    """Seconds from milliseconds."""
    return value / 1000.0


def gib(value: float) -> float:
    """Bytes from GiB."""
    return value * GIB


def to_bytes(text: str) -> float:
    """Bytes from text such as ``6.24 GiB`` or ``80GB``; a bare number is bytes. Raises ValueError."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = text.strip()[len(number) :].lower() or "b"
    if unit not in _BYTE_UNITS:
        raise ValueError(f"unknown unit of size {unit!r} (known: {', '.join(_BYTE_UNITS)})")
    return float(number.strip().replace(",", "")) * _BYTE_UNITS[unit]


def to_seconds(text: str) -> float:
    """Seconds from text such as ``15s``, ``250ms``, ``15m`` or ``1h``; a bare number is seconds. Raises ValueError."""
    number = text.strip().rstrip("mshd")
    unit = text.strip()[len(number) :] or "s"
    if unit not in _DURATION_UNITS:
        raise ValueError(f"unknown unit of time {unit!r} (known: {', '.join(_DURATION_UNITS)})")
    return float(number) * _DURATION_UNITS[unit]
