"""A wheel in a clean environment that nobody can write to: the tutorial, a study, the kernel and congestion controls of one's own."""

import json
import re
import shutil
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from installed import ON_KERNEL
from required import missing

from dumbbell.engines import engine
from dumbbell.errors import EnvironmentFault

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def packed(wheel):
    """The wheel's metadata, and the names of its files."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(metadata).decode()), names


def test_the_metadata_is_complete(packed):
    metadata, names = packed
    assert metadata["Name"] == "dumbbell"
    assert metadata["License-Expression"] == "(Apache-2.0 OR MIT) AND GPL-2.0-only AND MIT"
    for field in ("Summary", "Author", "Keywords", "Requires-Python"):
        assert metadata[field], field
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    assert len(metadata.get_all("Classifier")) > 10
    for licence in metadata.get_all("License-File"):
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names)


def test_everything_that_is_read_is_inside(packed):
    """All files of both packages, and the examples with what they read; no tests, and nothing besides the packages."""
    _, names = packed
    expected = {
        path.relative_to(ROOT).as_posix()
        for folder in (ROOT / "dumbbell", ROOT / "dumbbell" / "examples", ROOT / "dumbbell_studies")  # the second is a link
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert {"dumbbell/examples/traces/cellular.up", "dumbbell_studies/sce/published/claims.csv"} <= expected
    assert not expected - set(names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"dumbbell", "dumbbell_studies"}


def test_the_tutorial_runs_and_keys_are_those_of_the_checkout(installed, dumbbell, tmp_path):
    (tmp_path / "first.yaml").write_text(installed.run("dumbbell", "new", "first", cwd=tmp_path).stdout)
    found = json.loads(installed.run("dumbbell", "run", "first.yaml", "--json", cwd=tmp_path).stdout)
    ours = json.loads(dumbbell("run", tmp_path / "first.yaml", "--out", tmp_path / "ours", "--json").out)
    assert found["runs"] == ours["runs"]
    assert found["ok"] == 1
    installed.run("dumbbell", "plot", "results/first", cwd=tmp_path)
    assert list((tmp_path / "results" / "first" / "figures").glob("*.png"))
    assert "goodput_mbit" in installed.run("dumbbell", "table", "results/first", cwd=tmp_path).stdout
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL) if "first.yaml" in block)
    assert "port/bottleneck" in code
    installed.run("python", "-c", code, cwd=tmp_path)


def test_a_study_s_quick_set(installed, tmp_path):
    done = installed.run("dumbbell", "reproduce", "oracle", "--quick", "--no-figures", "--out", "quick", cwd=tmp_path)
    assert "14 runs in" in done.stderr
    assert (tmp_path / "quick" / "agreement.md").is_file()


def test_the_package_cannot_be_written_to(installed, tmp_path):
    where = installed.run("python", "-c", "import dumbbell; print(dumbbell.__file__)", cwd=tmp_path).stdout.strip()
    assert where.startswith(str(installed.folder))
    installed.run("touch", Path(where).with_name("new"), cwd=tmp_path, status=1)


def test_the_kernel_is_found_and_its_programs_are_compiled(installed, dumbbell, tmp_path):
    """From the cache: a build from nothing takes minutes, and is tried by tests/check_release.py."""
    try:
        engine("kernel").require()
    except EnvironmentFault as fault:
        missing("kernel", fault)
    (tmp_path / "kernel.yaml").write_text(ON_KERNEL)
    assert json.loads(installed.run("dumbbell", "kernel", "build", "--json", cwd=tmp_path).stdout)["built"] is False
    found = json.loads(installed.run("dumbbell", "run", "kernel.yaml", "--json", cwd=tmp_path).stdout)
    ours = json.loads(dumbbell("run", tmp_path / "kernel.yaml", "--out", tmp_path / "ours", "--json").out)
    assert found["runs"] == ours["runs"]


def test_a_control_of_one_s_own(installed, tmp_path):
    if shutil.which("cc") is None or shutil.which("make") is None:
        missing("compiler", "there is no cc or make")
    installed.run("dumbbell", "new", "cc", "mine", cwd=tmp_path)
    assert "Mbit/s" in installed.run("make", "test", cwd=tmp_path / "mine", PYTHONDONTWRITEBYTECODE="1").stdout


def test_all_examples_are_written(installed, tmp_path):
    installed.run("dumbbell", "new", "examples", cwd=tmp_path)
    made = {path.name for path in (tmp_path / "examples").glob("*.yaml")}
    assert made == {path.name for path in (ROOT / "examples").glob("*.yaml")} | {"first.yaml", "queues.yaml", "gateway.yaml"}
    installed.run("dumbbell", "plan", "examples/trace.yaml", cwd=tmp_path)
    installed.run("dumbbell", "new", "examples", cwd=tmp_path, status=2)


def test_what_shells_ask_for(installed, tmp_path):
    assert installed.run("dumbbell", "completion", "fish", "--", "run", "--set", "engine=s", cwd=tmp_path).stdout.startswith("engine=sim\t")
