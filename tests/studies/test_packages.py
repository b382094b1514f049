"""Studies of other packages, and what is registered."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from dumbbell.study import registry

PROGRAM = """
import sys
from dumbbell import cli

for words in ({commands}):
    sys.argv = ["dumbbell", *words]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code, words
print(sorted(name for name in sys.modules if name.startswith("dumbbell_studies")))
"""


@pytest.fixture
def register(tmp_path, monkeypatch):
    """Puts a package on the path with entry points as pip writes them: `register(folder, "mine-study", {"mine": "mine_study:STUDY"})`."""

    def do(folder, package, points):
        info = folder / f"{package.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{lines}")
        monkeypatch.syspath_prepend(folder)
        registry._registered.cache_clear()

    yield do
    registry._registered.cache_clear()
    for name in [name for name, module in sys.modules.items() if Path(getattr(module, "__file__", None) or "/").is_relative_to(tmp_path)]:
        del sys.modules[name]


@pytest.fixture
def mine(dumbbell, register, tmp_path, monkeypatch):
    """The package that `dumbbell new study mine` writes, as if pip had installed it."""
    monkeypatch.chdir(tmp_path)
    made = dumbbell("new", "study", "mine")
    assert (made.status, made.out.splitlines()[:2]) == (0, ["mine/pyproject.toml", "mine/README.md"])
    project = tomllib.loads(Path("mine/pyproject.toml").read_text())["project"]
    register(tmp_path / "mine", project["name"], project["entry-points"][registry.GROUP])


@pytest.fixture
def plain(keep_plain, make_run):
    """A folder of runs that are of no study."""
    return keep_plain([make_run({"cc": "reno"}, 1.0, 10.0)])


@pytest.mark.usefixtures("mine")
def test_a_study_of_another_package_is_one_as_ours(dumbbell, monkeypatch):
    monkeypatch.chdir("mine")
    listed = json.loads(dumbbell("list", "study", "--json").out)
    assert [each["name"] for each in listed] == ["fairness", "l4s", "oracle", "ordering", "sce", "teacup", "mine"]
    done = dumbbell("reproduce", "mine", "--quick", "--no-figures", "--json")
    found = json.loads(done.out)
    assert (done.status, found["study"], found["part"], found["runs"]) == (0, "mine", "one-flow", 2)
    assert (Path("results") / "mine" / "agreement.md").is_file()
    for words in (("table", "mine", "--tidy"), ("compare", "mine", "mine"), ("compare", "mine", "mine_study/published.csv")):
        assert "cubic" in dumbbell(*words).out
    assert "mine" not in registry.study_names(registry.OURS)
    assert "mine" not in registry.formats(registry.OURS)


@pytest.mark.usefixtures("mine")
def test_a_name_is_used_once(dumbbell):
    assert dumbbell("new", "study", "mine").err == "mine: is an existing study; expected another name\n"
    assert dumbbell("new", "study").status == 2
    assert "small letters" in dumbbell("new", "study", "../x").err
    Path("other").mkdir()
    assert dumbbell("new", "study", "other").err == "other: there is one already; expected the name of a new folder\n"


@pytest.mark.parametrize(
    ("code", "points", "what"),
    [
        (
            "import no_such_module",
            {"odd": "odd_study:STUDY"},
            "cannot be imported (ModuleNotFoundError: No module named 'no_such_module')",
        ),
        ("1 / 0", {"odd": "odd_study:STUDY"}, "cannot be imported (ZeroDivisionError: division by zero)"),
        ("", {"odd": "odd_study:STUDY"}, "has no attribute 'STUDY'"),
        ("STUDY = 1", {"odd": "odd_study:STUDY"}, "odd_study:STUDY is no study"),
        ("from dumbbell_studies.sce import STUDY", {"odd": "odd_study:STUDY"}, "calls itself sce"),
        ("", {"sce": "odd_study:STUDY"}, "the study sce is registered twice, by "),
    ],
    ids=["library", "raises", "nothing", "other type", "other name", "twice"],
)
def test_a_package_that_is_not_as_it_should_be_is_named_in_one_line(dumbbell, register, tmp_path, code, points, what):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "odd_study.py").write_text(code)
    register(tmp_path / "odd", "odd-study", points)
    answer = dumbbell("list", "study")
    assert (answer.status, answer.out, answer.err.count("\n")) == (3, "", 1)
    assert what in answer.err
    assert "odd-study" in answer.err
    assert dumbbell("list", "cc").status == 0


def test_a_format_has_one_study(register, tmp_path):
    from dumbbell.errors import EnvironmentFault

    (tmp_path / "odd").mkdir()
    text = "from dataclasses import replace\nfrom dumbbell_studies.oracle import STUDY\nSTUDY = replace(STUDY, name='odd')\n"
    (tmp_path / "odd" / "odd_study.py").write_text(text)
    register(tmp_path / "odd", "odd-study", {"odd": "odd_study:STUDY"})
    with pytest.raises(EnvironmentFault, match="the studies oracle and odd both have a format oracle; expected"):
        registry.formats()
    assert "oracle" in registry.formats(registry.OURS)


def test_what_is_installed_may_be_older_than_the_checkout(dumbbell, monkeypatch, plain):
    """Then studies are not lost without a word, and what needs none works."""
    monkeypatch.setattr(
        registry, "entry_points", lambda **_: [each for each in entry_points(group=registry.GROUP) if each.name != "oracle"]
    )
    registry._registered.cache_clear()
    try:
        for words in (("list", "study"), ("reproduce", "oracle"), ("table", "oracle"), ("claims", "sce", plain)):
            answer = dumbbell(*words)
            assert (answer.status, answer.out, answer.err.count("\n")) == (3, "", 1)
            assert "(oracle): what is installed is older than pyproject.toml; expected `make setup` in " in answer.err
        assert dumbbell("table", plain).status == dumbbell("plot", plain, "--list").status == dumbbell("list", "cc").status == 0
    finally:
        registry._registered.cache_clear()


def test_what_is_installed_without_a_checkout_needs_no_file_of_one(monkeypatch, tmp_path):
    for text in (None, "[project]\nname = 'other'\n[project.entry-points.'dumbbell.studies']\nx = 'y:Z'\n"):
        monkeypatch.setattr(registry, "_PROJECT", tmp_path / "pyproject.toml")
        if text:
            registry._PROJECT.write_text(text)
        registry._registered.cache_clear()
        assert registry.study_names(registry.OURS) == ["fairness", "l4s", "oracle", "ordering", "sce", "teacup"]


def test_plain_runs_import_no_study(plain):
    commands = ["table", plain], ["table", plain, "--tidy"], ["plot", plain, "--list"], ["check", plain], ["list", "cc"], ["new"]
    code = PROGRAM.replace("{commands}", ", ".join(str([str(word) for word in words]) for words in commands))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
