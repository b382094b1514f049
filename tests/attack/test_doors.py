"""Everything in a results folder is opened through one door, `files.SafeFolder`."""

import ast
import os
import sys
from pathlib import Path

import pytest
from attack.test_links import SCENARIO

import dumbbell
from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.files import SafeFolder, write_text

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
    "cli/captures/analyze.py": {"write_csv": "gives text", "write_text": "the user's own file"},
    "cli/run/flent.py": {"write_bytes": "the user's own file"},
    "cli/streams.py": {"open": "/dev/null"},
    "cli/maintain/testbed.py": {"open": "/dev/tty"},
    "cli/look/view.py": {"open": "a browser"},
    "results/storage/index.py": {"open": "SafeFolder"},
    "results/storage/locks.py": {"open": "SafeFolder"},
    "results/storage/place.py": {"open": "SafeFolder", "mkdir": "a new name in the folder itself"},
    "exchange/exported.py": {"open": "SafeFolder"},
    "exchange/writers/long_csv.py": {"write_csv": "gives text"},
}
ROOMS = ("agreement", "cli", "comparing", "drawing", "exchange", "explorer", "results", "studies", "until")
"""The rooms that have to do with results folders."""


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
"""The files opened so far; None while nobody asks, since a hook stays for good."""


def _hook(event, arguments):
    if _opened is not None and event == "open":
        _opened.append(arguments)


@pytest.fixture
def opened():
    """Lists the files that are opened from now on: path, mode, flags."""
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


@pytest.mark.parametrize("there", ["nothing", "a file", "a link", "a loose end"])
def test_a_file_that_the_user_names_is_replaced_as_a_whole(there, dumbbell, tmp_path):
    """A link is an error: its target may be any file of the user's."""
    (tmp_path / "s.yaml").write_text(SCENARIO)
    assert dumbbell("run", tmp_path / "s.yaml", "--out", tmp_path / "X").status == 0
    other, page = tmp_path / "thesis", tmp_path / "X" / "page.html"
    other.write_text("a thesis")
    if there == "a file":
        page.write_text("before")
    elif there != "nothing":
        page.symlink_to(other if there == "a link" else tmp_path / "none")
    answer = dumbbell("view", tmp_path / "X", "--export", page)
    if page.is_symlink():
        assert answer.status == 2
        assert answer.err.endswith(f"{page}: is a link; expected the file or folder itself\n")
    else:
        assert answer.status == 0
        assert page.read_text().startswith("<!doctype html>")
    assert other.read_text() == "a thesis"
    assert not (tmp_path / "none").exists()
    assert not list(page.parent.glob(".partial-*"))


def test_a_device_that_the_user_names_is_written_to(tmp_path):
    write_text(Path("/dev/null"), "anything")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(BadInput, match="cannot be written"):
        write_text(tmp_path, "a folder")


def test_a_file_that_cannot_be_finished_stays_as_it_was(tmp_path, monkeypatch):
    (tmp_path / "page").write_text("before")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentFault, match="No space left on device"):
        write_text(tmp_path / "page", "after")
    assert (tmp_path / "page").read_text() == "before"
    assert os.listdir(tmp_path) == ["page"]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "", ".", "a//b"])
def test_a_name_that_leads_elsewhere_is_none(name, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "x").write_text("another's")
    folder = SafeFolder(tmp_path / "a")
    for use in (lambda: folder.read(name, 99), lambda: folder.write(name, b""), lambda: folder.remove(name), lambda: folder.stat(name)):
        with pytest.raises((ValueError, OSError)):
            use()
    assert (tmp_path / "x").read_text() == "another's"
