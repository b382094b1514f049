"""What is in a results folder is opened through one door, `files.SafeFolder`."""

import ast
import os
import sys
from pathlib import Path

import pytest
from attack.test_links import SCENARIO

import dumbbell

ROOT = Path(dumbbell.__file__).parent
WRITE = {
    "write_bytes",
    "write_text",
    "touch",
    "symlink_to",
    "hardlink_to",
    "mkdir",
    "makedirs",
    "open",
    "savefig",
    "write_csv",
    "sink_parquet",
}
"""Calls that make or change a file by its path."""
KNOWN = {
    "cli/analyze.py": {"write_csv": "gives text", "write_text": "the user's own file"},
    "cli/streams.py": {"open": "/dev/null"},
    "cli/testbed.py": {"open": "/dev/tty"},
    "cli/view.py": {"open": "a browser"},
    "results/index.py": {"open": "SafeFolder"},
    "results/locks.py": {"open": "SafeFolder"},
    "results/place.py": {"open": "SafeFolder", "mkdir": "a new name in the folder itself"},
    "exchange/exported.py": {"open": "SafeFolder"},
    "exchange/writers/long_csv.py": {"write_csv": "gives text"},
}
ROOMS = ("agreement", "cli", "comparing", "drawing", "exchange", "explorer", "results", "studies", "until")
"""Those that have to do with results folders."""


def calls(path):
    """The names of the functions and methods that a module calls, but for `open` to read what the package has."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        reads = name == "open" and any(word.arg == "newline" for word in node.keywords)
        if name in WRITE and not reads:
            yield name


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_writes_by_itself(room):
    found = {(path.relative_to(ROOT).as_posix(), name) for path in (ROOT / room).rglob("*.py") for name in calls(path)}
    assert found == {(file, name) for file, names in KNOWN.items() for name in names if file.startswith(f"{room}/")}


COMMANDS = (
    ("run", "s.yaml", "--out", "X"),
    ("table", "X", "--runs"),
    ("plot", "X", "--format", "png", "--format", "svg", "--format", "pdf"),
    ("view", "X", "--export", "X/page.html"),
    ("export", "X", "--format", "csv", "--out", "X/exported"),
    ("export", "X", "--format", "parquet", "--out", "X/exported"),
    ("check", "X", "--repair"),
    ("pack", "X"),
    ("table", "X"),
)
_opened = None
"""What is opened now; None while nobody asks. A hook can never be taken away again."""


def _hook(event, arguments):
    if _opened is not None and event == "open":
        _opened.append(arguments)


@pytest.fixture
def opened():
    """What is opened from now on: path, mode, flags."""
    global _opened
    sys.addaudithook(_hook)
    _opened = found = []
    yield found
    _opened = None


def test_commands_write_into_a_results_folder_through_the_door_alone(opened, dumbbell, tmp_path, monkeypatch):
    """The door opens by a name without a folder, from the descriptor of the folder, and follows no link."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    for command in COMMANDS:
        opened.clear()
        assert dumbbell(*command).status == 0, command
        written = 0
        for path, _, flags in opened:
            if not isinstance(path, str) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
                continue
            if flags & os.O_NOFOLLOW and "/" not in path:
                written += 1
            else:
                assert not Path(path).absolute().is_relative_to(tmp_path / "X"), (command, path)
        assert written or command[0] in ("table", "check"), command
    assert {"figures", "exported", "page.html", "packs"} <= set(os.listdir(tmp_path / "X"))
