"""All symptom declarations, found by file: every module in this package with a ``SYMPTOM`` is one."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from diagnose.symptoms.declare import At, Symptom, Threshold

__all__ = ["At", "Symptom", "Threshold", "all_symptoms"]


@functools.cache
def all_symptoms() -> dict[str, Symptom]:
    """Symptoms by id, in file order."""
    found: dict[str, Symptom] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        symptom = getattr(importlib.import_module(f"{__name__}.{module}"), "SYMPTOM", None)
        if symptom is not None:
            found[symptom.id] = symptom
    return found
