"""One-way imports, nothing heavy at module level, small modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "diagnose"

# A module may import from its own line and from lines above it. What is not named turns observations into signals.
LAYERS = (
    ("model", "errors", "units"),
    ("wording", "versions"),
    ("engines",),
    ("symptoms", "guide"),
    ("settings",),
    ("sources", "replay"),
    ("signals",),
    ("evaluate",),
    ("walk", "step", "notes"),
    ("report",),
    ("generate",),
    ("cli", "__main__"),
)
SIGNALS = next(i for i, names in enumerate(LAYERS) if "signals" in names)
HEAVY = {
    "numpy",
    "sklearn",
    "scipy",
    "pandas",
    "rich",
    "yaml",
    "http",
    "urllib",
    "ssl",
    "tarfile",
    "zipfile",
    "asyncio",
}
# Sources say what was observed; what it means is decided further on.
NOT_IN_SOURCES = (
    "diagnose.engines.signals",
    "diagnose.symptoms",
    "diagnose.guide",
    "diagnose.walk",
    "diagnose.signals",
)
MODULES = sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST) -> Iterator[str]:
    """Absolute names of everything that is imported anywhere in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _at_import_time(tree: ast.Module) -> Iterator[str]:
    """Names imported when the module is, TYPE_CHECKING blocks aside."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imports(ast.Module(body=[node], type_ignores=[]))


def _layer(module: str) -> int:
    top = module.split(".")[1] if module.count(".") else ""
    return next((i for i, names in enumerate(LAYERS) if top in names), SIGNALS)


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_imports_only_from_the_left(path: Path) -> None:
    own = _name(path)
    if own == "diagnose":
        assert not list(_imports(ast.parse(path.read_text(encoding="utf-8"))))[1:], "the package itself imports nothing"
        return
    layer = _layer(own)
    for name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
        if not name.startswith("diagnose.") or name == "diagnose.__version__":
            continue
        assert _layer(name) <= layer, f"{own} imports {name}, which is to its right"
        if own.startswith("diagnose.sources"):
            assert not name.startswith(NOT_IN_SOURCES), f"{own} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_nothing_heavy_is_imported_with_a_module(path: Path) -> None:
    heavy = {n for n in _at_import_time(ast.parse(path.read_text(encoding="utf-8"))) if n.split(".")[0] in HEAVY}
    assert not heavy, f"{_name(path)} imports {', '.join(heavy)} at module level: move it into the function"


def test_help_loads_no_command_and_nothing_of_the_library() -> None:
    code = (
        "import sys, diagnose.cli as c; c.run(['--help']); "
        "print(sorted(m for m in sys.modules if m.startswith('diagnose')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ast.literal_eval(done.stderr) == ["diagnose", "diagnose.cli", "diagnose.errors"]


def test_symptoms_and_entries_stay_short() -> None:
    long = [p.name for p in MODULES if p.parent.name == "symptoms" and p.stem not in ("grammar", "declare", "__init__")
            and len(p.read_text(encoding="utf-8").splitlines()) > 60]  # fmt: skip
    assert not long, f"over 60 lines: {long}"
