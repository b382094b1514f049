"""Files that a release needs and that no program reads."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]


def yaml(name):
    """Return the content of a YAML file of the repository."""
    return YAML(typ="safe").load((ROOT / name).read_text(encoding="utf-8"))


def test_a_public_host_runs_the_same_script():
    steps = [step.get("run", "") for job in yaml(".github/workflows/ci.yml")["jobs"].values() for step in job["steps"]]
    assert ".ci/run" in steps
    targets = re.findall(r"^make (\S+)", "\n".join(steps), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_checks_before_a_commit_exist():
    (repo,) = yaml(".pre-commit-config.yaml")["repos"]
    scripts = [word for hook in repo["hooks"] for word in hook["entry"].split() if word.endswith(".py")]
    assert scripts == [".ci/wording.py", ".ci/prose.py", ".ci/messages.py"]
    assert all((ROOT / script).is_file() for script in scripts)


def test_the_oldest_rust_is_the_one_that_documents_name():
    oldest = CARGO["package"]["rust-version"]
    for name in ("docs/install.md", "docs/compatibility.md"):
        assert re.search(r"Rust (\d+\.\d+)", (ROOT / name).read_text(encoding="utf-8"))[1] == oldest, name


@pytest.mark.parametrize("crate", CARGO["members"])
def test_a_crate_says_what_it_is_for(crate):
    package = tomllib.loads((ROOT / crate / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    text = (ROOT / crate / package["readme"]).read_text(encoding="utf-8")
    assert text.startswith(f"# {package['name']}\n")
    assert all((ROOT / crate / link).exists() for link in re.findall(r"\]\(([^)#]+)", text))


def test_only_modules_that_another_crate_uses_are_public():
    """Modules of the simulator that nobody else names are private, so that they may change."""
    lib = (ROOT / "crates/sim/src/lib.rs").read_text(encoding="utf-8")
    folders = [*(ROOT / "crates").glob("*/src"), *(ROOT / "crates").glob("*/tests"), *(ROOT / "crates/sim").glob("*s")]
    others = "".join(
        path.read_text(encoding="utf-8")
        for folder in folders
        if folder != ROOT / "crates/sim/src"
        for path in sorted(folder.rglob("*.rs"))
        if ROOT / "crates/sim/src" not in path.parents
    )
    public = re.findall(r"^pub mod (\w+);", lib, re.MULTILINE)
    assert [name for name in public if not re.search(rf"dumbbell_sim::{name}\b", others)] == []


def test_the_templates_for_issues_name_their_purpose():
    for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md")):
        head = path.read_text(encoding="utf-8").split("---")[1]
        assert {"name", "about"} <= set(YAML(typ="safe").load(head))
    assert "make test" in (ROOT / ".github/pull_request_template.md").read_text(encoding="utf-8")


def test_the_container_is_built_from_files_that_are_there_and_enough(tmp_path):
    """No container is built here, which takes a builder and a network. Cargo and pyproject.toml find what they name in the copies."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY ([^-].*) \S+$", text, re.MULTILINE) for name in line.split()]
    for name in copied:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
        else:
            shutil.copyfile(ROOT / name, tmp_path / name)
    command = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert len(json.loads(told)["packages"]) == len(list((ROOT / "crates").glob("*/Cargo.toml")))
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
    named = [project["project"]["readme"], *project["project"]["license-files"], project["tool"]["maturin"]["manifest-path"]]
    assert [name for name in (*named, *project["tool"]["maturin"]["python-packages"]) if not (tmp_path / name).exists()] == []
    toolchain = tomllib.loads((ROOT / "rust-toolchain.toml").read_text(encoding="utf-8"))["toolchain"]["channel"]
    assert re.search(r"^FROM docker.io/library/rust:([\d.]+)-slim", text, re.MULTILINE)[1] == toolchain.rpartition(".")[0]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert not {*copied} & {*ignored}
