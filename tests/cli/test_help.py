"""The help of all commands: groups, short lines, an example in each."""

import re
import shlex
import subprocess
import sys

import pytest

from dumbbell.cli import app
from dumbbell.cli.overview import COMMANDS, GROUPS


@pytest.fixture(scope="module")
def commands():
    """The commands by name."""
    import typer

    return typer.main.get_group(app).commands


def test_help_has_groups_with_whole_lines(dumbbell, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    answer = dumbbell("--help")
    assert answer.status == 0
    assert [line[:-1] for line in answer.out.splitlines() if re.fullmatch(r"\w+:", line)] == ["Options", *GROUPS]
    for name, about in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(about.summary)}$", answer.out, re.MULTILINE), name


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_short_line_and_an_example_that_it_takes(name, commands, dumbbell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    about = COMMANDS[name]
    assert len(about.summary) <= 55
    assert f"Example: {about.example}" in " ".join(dumbbell(name, "--help").out.split())
    words = shlex.split(re.sub(r"^source <\((.*)\)$|^(.*?)(?: > \S+)?$", r"\1\2", about.example))
    assert words[:2] == ["dumbbell", name]
    commands[name].make_context(name, words[2:])  # raises for an unknown option and for an argument that is missing


def test_help_imports_no_command():
    code = "import sys; from dumbbell.cli import main\ntry: main()\nexcept SystemExit: pass\nprint('dumbbell.cli.run.run' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("command", ["table", "plot", "explain"])
def test_commands_of_results_wait_for_no_models_of_scenarios(command):
    """The models take longer to import than a small table takes."""
    code = f"import dumbbell.cli.look.{command}, sys; print('dumbbell.scenario.model' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_list_alone_lists_what_can_be_listed(dumbbell):
    answer = dumbbell("list")
    kinds = [line.split()[0] for line in answer.out.splitlines()]
    assert {"cc", "qdisc", "stack", "study", "engine"} <= set(kinds)
    assert all(dumbbell("list", kind).status == 0 for kind in kinds)
