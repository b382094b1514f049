"""The packages of dumbbell that each package may import; none imports a study."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell

ROOT = Path(dumbbell.__file__).parent
STUDIES = "dumbbell_studies"
BELOW = {"catalogue", "collector", "documents", "errors", "escaping", "files", "lazy", "metrics", "native", "results", "scenario"}
"""Packages and modules that both comparing and drawing may import."""
MAY_KNOW = {
    "catalogue": {"catalogue"},
    "documents": {"documents", "errors", "files"},
    "scenario": {"scenario", "catalogue", "documents", "errors", "files", "lazy"},
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
    "templates": {"templates", "study", "", "Run", *BELOW},  # projects of users import the package itself
    "conform": {"conform", "running", *BELOW},
    "bench": {"bench", "study", "engines", "running", "executor", *BELOW},
    "agreement": {"agreement", "comparing", "drawing", "engines", "running", "executor", *BELOW},
}
"""For each room, the rooms that it may import. `cli` and `completion`, which are made from all commands, are on top of all."""
TOP = {"cli", "completion"}
INSIDE = {
    "engines": {
        "": {"linux"},
        "linux": {"linux"},
        "sim": {"sim"},
        "kernel": {"kernel", "linux"},
        "testbed": {"testbed", "linux", "kernel"},
    },
    "running": {"cluster": {"cluster"}, "until": {"until"}},
    "executor": {"cluster": {"cluster"}},
    "scenario": {"values": {"values"}, "generated": {"generated", "values", "traffic"}, "traffic": {"traffic", "generated", "values"}},
    "results": {"storage": {"storage"}},
    "drawing": {"across": {"across"}},
    "comparing": {"across": {"across"}},
}
"""For each room, and each folder in it, the folders of the room that it may import; all may import the files of the room itself."""
CIRCLES = {
    frozenset(f"dumbbell.results.{name}" for name in ("columns", "imported", "limits", "notebook", "responsiveness", "run", "summary")),
    frozenset(("dumbbell.engines", "dumbbell.engines.base", "dumbbell.engines.prepared")),
}
"""Modules that name each other's types. No module imports one above it when it runs."""
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


def test_every_room_is_guarded():
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} - TOP - {"examples"} == MAY_KNOW.keys()


@pytest.mark.parametrize("room", INSIDE)
def test_a_folder_of_a_room_imports_only_those_below_it(room):
    folders = {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
    wrong = {
        (path.name, other)
        for path in modules_of(ROOT / room)
        for folder in [path.relative_to(ROOT / room).parts[0] if path.parent != ROOT / room else ""]
        for package, rest in packages_imported(path)
        if package == "dumbbell" and rest.startswith(f"{room}.")
        for other in {rest.split(".")[1]} & folders - INSIDE[room].get(folder, folders)
        if other != folder
    }
    assert not wrong


def test_modules_name_each_other_in_no_circle_that_is_not_known():
    modules = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in modules_of(ROOT)}
    known = {name: {other for other in named_at_top(path, modules) if other != name} for name, path in modules.items()}
    assert {frozenset(circle) for circle in circles(known)} == CIRCLES


def named_at_top(path, modules):
    """The modules that a module imports at its top, those for types alone among them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [tree, *(node for node in tree.body if isinstance(node, ast.If))]
    for node in (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)):
        for each in node.names:
            full = f"{node.module}.{each.name}"
            yield full if full in modules else node.module


def circles(known):
    """The sets of at least two modules each of which reaches all others of its set."""

    def reached(start):
        found, waiting = set(), [start]
        while waiting:
            new = known.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    reach = {name: reached(name) for name in known}
    return {frozenset({name, *(other for other in reach[name] if name in reach.get(other, ()))}) for name in known if name in reach[name]}


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
    assert len(folders) == 6
    for folder in folders:
        known = {rest.partition(".")[0] for path in modules_of(folder) for package, rest in packages_imported(path) if package == STUDIES}
        assert known == {folder.name}


def test_imports_are_found_at_any_place_of_a_module(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("import dumbbell.cli\nfrom dumbbell import metrics\n\ndef late():\n    from dumbbell.drawing.style import save\n")
    assert set(rooms_imported(module)) == {"cli", "metrics", "drawing"}


@pytest.mark.parametrize(
    "code",
    [
        "import dumbbell.scenario.generated.kinds",
        "import dumbbell.scenario.generated.workloads",
        "import dumbbell.scenario.traffic.transfers",
        "import dumbbell; dumbbell.Pfifo, dumbbell.Exchange",
        "from dumbbell.scenario import Transfers",
    ],
)
def test_any_of_these_may_be_the_first_import(code):
    """A circle among modules shows only in a process that begins with one of them."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
