"""The packages of dumbbell that each package may import; none imports a study."""

import ast
from pathlib import Path

import pytest

import dumbbell

ROOT = Path(dumbbell.__file__).parent
STUDIES = "dumbbell_studies"
BELOW = {"catalogue", "collector", "documents", "errors", "escaping", "files", "metrics", "native", "results", "scenario"}
"""Packages and modules that both comparing and drawing may import."""
MAY_KNOW = {
    "catalogue": {"catalogue"},
    "documents": {"documents", "errors", "files"},
    "scenario": {"scenario", "catalogue", "documents", "errors", "files"},
    "plan": {"plan", "scenario", "catalogue", "documents", "errors"},
    "engines": {"engines", "plan", "executor", "trace", "__version__", *BELOW},
    "executor": {"executor", "documents", "errors", "files", "results"},
    "trace": {"trace", "plan", "_native", *BELOW},
    "metrics": {"metrics"},
    "results": BELOW - {"documents"},
    "comparing": {"comparing", *BELOW},
    "running": {"running", "engines", "executor", "plan", "comparing", "__version__", *BELOW},
    "exchange": {"exchange", "plan", "trace", "__version__", *BELOW},
    "drawing": {"drawing", "comparing", *BELOW},
    "study": {"study", "comparing", "drawing", "engines", "running", "executor", *BELOW},
    "explorer": {"explorer", "drawing", "comparing", "trace", *BELOW},
}
STUDIES_MAY_KNOW = {"study", "comparing", "drawing", *BELOW}
"""The rooms that a study may import."""


def modules_of(folder):
    """Python's files in a folder, without those of the examples, which `dumbbell/examples` is a link to."""
    return [path for path in sorted(folder.rglob("*.py")) if "examples" not in path.relative_to(folder).parts]


def packages_imported(path):
    """Yield the packages that a module imports, at any place in it, with the room."""
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
            yield package, rest


def rooms_imported(path):
    """The packages of dumbbell that a module imports, at any place."""
    return {rest.partition(".")[0] for package, rest in packages_imported(path) if package == "dumbbell"}


@pytest.mark.parametrize("room", MAY_KNOW)
def test_a_room_imports_only_those_below_it(room):
    modules = modules_of(ROOT / room)
    assert modules
    assert not {(path.name, other) for path in modules for other in rooms_imported(path) - MAY_KNOW[room]}


def test_the_tool_imports_no_study():
    """Not even by its name."""
    assert not [path for path in modules_of(ROOT) if STUDIES in {package for package, _ in packages_imported(path)}]
    assert not [path for path in modules_of(ROOT) if f'"{STUDIES}' in path.read_text(encoding="utf-8")]


def test_studies_import_only_what_describes_one():
    modules = modules_of(ROOT.parent / STUDIES)
    assert modules
    assert not {(path.name, other) for path in modules for other in rooms_imported(path) - STUDIES_MAY_KNOW}


def test_no_study_imports_another():
    folders = [path.parent for path in sorted((ROOT.parent / STUDIES).glob("*/__init__.py"))]
    assert len(folders) == 5
    for folder in folders:
        known = {rest.partition(".")[0] for path in modules_of(folder) for package, rest in packages_imported(path) if package == STUDIES}
        assert known == {folder.name}


def test_imports_are_found_at_any_place_of_a_module(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("import dumbbell.cli\nfrom dumbbell import metrics\n\ndef late():\n    from dumbbell.drawing.style import save\n")
    assert set(rooms_imported(module)) == {"cli", "metrics", "drawing"}
