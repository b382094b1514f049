"""The packages of dumbbell that each package may import."""

import ast
from pathlib import Path

import pytest

import dumbbell

ROOT = Path(dumbbell.__file__).parent
BELOW = {"collector", "errors", "escaping", "files", "metrics", "native", "results", "scenario"}
"""Packages and modules that both comparing and drawing may import."""
MAY_KNOW = {
    "scenario": {"scenario", "errors", "files"},
    "plan": {"plan", "scenario", "errors"},
    "engines": {"engines", "plan", "executor", "trace", "__version__", *BELOW},
    "executor": {"executor", "errors", "files", "results", "scenario"},
    "trace": {"trace", "plan", "_native", *BELOW},
    "metrics": {"metrics"},
    "comparing": {"comparing", *BELOW},
    "until": {"until", "engines", "executor", "comparing", *BELOW},
    "exchange": {"exchange", "plan", "trace", "__version__", *BELOW},
    "drawing": {"drawing", "comparing", *BELOW},
    "explorer": {"explorer", "drawing", "comparing", "trace", *BELOW},
}


def rooms_imported(path):
    """The packages of dumbbell that a module imports, at any place."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module, names = node.module or "", [name.name for name in node.names]
        elif isinstance(node, ast.Import):
            module, names = "", [name.name for name in node.names]
        else:
            continue
        for name in [f"{module}.{each}" if module else each for each in names]:
            package, _, rest = name.partition(".")
            if package == "dumbbell":
                yield rest.partition(".")[0]


@pytest.mark.parametrize("room", MAY_KNOW)
def test_a_room_imports_only_those_below_it(room):
    modules = sorted((ROOT / room).rglob("*.py"))
    assert modules
    unexpected = {(path.name, other) for path in modules for other in rooms_imported(path)} - {
        (path.name, other) for path in modules for other in MAY_KNOW[room]
    }
    assert not unexpected


def test_imports_are_found_at_any_place_of_a_module(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("import dumbbell.cli\nfrom dumbbell import metrics\n\ndef late():\n    from dumbbell.drawing.style import save\n")
    assert set(rooms_imported(module)) == {"cli", "metrics", "drawing"}
