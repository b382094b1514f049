"""Links, pipes and other things in a results folder of somebody else: nothing outside it is read or written, and nothing is waited for."""

import json
import os
import random
import shutil
import signal
import socket

import pytest
from attack.test_foreign import rewrite
from waiting import HANG_S

from dumbbell import Scenario, run
from dumbbell.results import Store
from dumbbell.results.storage.packing import pack

SCENARIO = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 1mbit, qdisc: {kind: pfifo, limit: 20p}}}
flows: [{cc: reno}]
capture: [hosts, bottleneck]
duration: 1s
sweep: {path.rtt: [20ms, 30ms]}
"""
COMMANDS = (
    ("table", "X"),
    ("table", "X", "--runs"),
    ("plot", "X", "--format", "svg"),
    ("view", "X", "--export", "page.html"),
    ("export", "X", "--format", "csv", "--out", "exported"),
    ("export", "X", "--format", "mahimahi-log", "--out", "exported"),
    ("check", "X"),
    ("check", "X", "--repair"),
    ("pack", "X"),
    ("run", "s.yaml", "--out", "X"),
    ("analyze", "X/KEY/left.pcap"),
)
PLACES = (
    "study.json",
    "index.jsonl",
    ".lock",
    ".claim-pack",
    ".claim-KEY",
    ".partial-0",
    "figures",
    "figures/summary.svg",
    "KEY",
    "KEY/run.json",
    "KEY/host.json",
    "KEY/series.parquet",
    "KEY/left.pcap",
    "packs",
    "packs/ID",
    "packs/ID/pack.json",
    "packs/ID/runs.parquet",
    "packs/ID/series.parquet",
)


def _socket(path, _):
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket has room for a hundred bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _device(path, _):
    os.mknod(path, 0o20666, os.makedev(1, 5))  # /dev/zero


KINDS = {
    "a link to a file": lambda path, outside: path.symlink_to(outside / "file"),
    "a link to a folder": lambda path, outside: path.symlink_to(outside / "folder"),
    "a relative link": lambda path, outside: path.symlink_to(os.path.relpath(outside / "file", path.parent)),
    "a link to what it was": lambda path, outside: path.symlink_to(outside / "same"),
    "a dangling link": lambda path, outside: path.symlink_to(outside / "none"),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a link to a device": lambda path, _: path.symlink_to("/dev/zero"),
    "a hard link": lambda path, outside: os.link(outside / "file", path),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a socket": _socket,
    "a device": _device,
    "a folder": lambda path, _: path.mkdir(),
    "a file": lambda path, _: path.write_bytes(b"{}"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A results folder, one of whose runs is in a pack."""
    folder = tmp_path_factory.mktemp("made") / "X"
    runs = run(Scenario.from_text(SCENARIO), out=folder)
    shutil.copytree(folder, folder.parent / "whole")
    pack(Store(folder))
    for left in (*folder.glob("*/left.pcap"), *folder.glob("*/right.pcap")):
        assert left.is_file()
    shutil.rmtree(folder / runs[0].key)
    shutil.copytree(folder.parent / "whole" / runs[0].key, folder / runs[0].key)
    (folder / "figures").mkdir()
    return folder, runs[0].key


@pytest.fixture
def planted(made, tmp_path, monkeypatch):
    """A function that puts something in a place of a copy; the second argument is a function (path, outside)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    folder, key = made

    def plant(place, thing, folder=folder):
        for left in ("X", "exported", "outside"):
            shutil.rmtree(tmp_path / left, ignore_errors=True)
        shutil.copytree(folder, tmp_path / "X")
        (outside := tmp_path / "outside").mkdir()
        (outside / "folder").mkdir()
        for name in ("file", "folder/file", "folder/summary.svg", "folder/left.pcap"):
            (outside / name).write_text("a thesis\n")
        (identity,) = os.listdir(made[0] / "packs")
        path = tmp_path / "X" / place.replace("KEY", key).replace("ID", identity)
        if path.is_dir():
            shutil.copytree(path, outside / "same")
            shutil.rmtree(path)
        elif path.exists():
            shutil.copy(path, outside / "same")
            path.unlink()
        try:
            thing(path, outside)
        except PermissionError:
            pytest.skip("making a device needs root")
        return path, key

    return plant


def snapshot(folder):
    """All that is in a folder: kinds, contents and times."""
    found = {}
    for path in sorted((folder, *folder.rglob("*"))):
        stat = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path)] = stat.st_mode, stat.st_ino, stat.st_mtime_ns, content
    return found


@pytest.fixture
def ends(dumbbell):
    """A function that runs a command, which must not wait for anything, and must end with a status."""

    def too_long(*_):
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, too_long)

    def call(*command):
        signal.alarm(HANG_S)
        try:
            answer = dumbbell(*command)
        finally:
            signal.alarm(0)
        assert answer.status in (0, 1, 2), (command, answer)
        assert all(line.isprintable() for line in answer.err.splitlines()), (command, answer)
        return answer

    yield call
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outside_is_touched(kind, planted, ends, request, tmp_path):
    folders, seed = request.config.getoption("folders"), request.config.getoption("seed")
    for place in PLACES:
        rng = random.Random(f"{seed} {kind} {place}")
        _, key = planted(place, KINDS[kind])
        before = snapshot(tmp_path / "outside")
        for command in rng.sample(COMMANDS, min(max(1, folders // 40), len(COMMANDS))):
            ends(*(word.replace("KEY", key) for word in command))
            assert snapshot(tmp_path / "outside") == before, (kind, place, command)
        assert {path.name for path in tmp_path.iterdir()} <= {"X", "outside", "exported", "page.html", "s.yaml"}


@pytest.mark.parametrize(
    ("place", "command"),
    [
        ("index.jsonl", ("table", "X")),
        (".lock", ("pack", "X")),
        (".claim-pack", ("pack", "X")),
        ("packs", ("pack", "X")),
        ("packs", ("table", "X")),
        ("figures", ("plot", "X", "--format", "svg")),
        ("study.json", ("run", "s.yaml", "--out", "X")),
        ("study.json", ("table", "X")),
    ],
)
@pytest.mark.parametrize("kind", ["a link to a file", "a link to a folder", "a link to what it was", "a dangling link", "a pipe"])
def test_what_is_no_file_of_ours_is_refused_by_name(place, command, kind, planted, ends, tmp_path):
    path, _ = planted(place, KINDS[kind])
    if place in ("packs", "figures") and kind == "a pipe":
        pytest.skip("no folder, as a file of that name")
    before = snapshot(tmp_path / "outside")
    answer = ends(*command)
    assert answer.status == 2
    assert (
        f"{path.relative_to(tmp_path)}: is {'a link' if 'link' in kind else 'not a regular file'}; expected the file or folder itself\n"
        in answer.err
    )
    assert snapshot(tmp_path / "outside") == before


@pytest.mark.parametrize("place", ["KEY", "KEY/run.json", "KEY/series.parquet", "KEY/left.pcap"])
@pytest.mark.parametrize("kind", ["a link to what it was", "a dangling link", "a pipe"])
def test_a_run_that_is_a_link_is_damaged_and_left_out(place, kind, planted, ends, made):
    """An error even if the link's target is as it was written: it may be another user's file."""
    if place == "KEY" and kind == "a pipe":
        pytest.skip("no folder, and so no run")
    path, key = planted(place, KINDS[kind], made[0].parent / "whole")
    (path.parents[place.count("/")] / "index.jsonl").unlink()
    answer = ends("table", "X", "--runs", "--json")
    assert answer.status == 1
    assert len(json.loads(answer.out)["rows"]) == 1
    where = f"its folder {key} " if place == "KEY" else ""
    assert (
        f"{path.name if not where else 'run.json'}: {where}is {'a link' if 'link' in kind else 'not a regular file'}; expected"
        in answer.err
    )


def test_an_index_with_a_hard_link_does_not_change_the_other_file(planted, ends, tmp_path):
    path, _ = planted("index.jsonl", KINDS["a hard link"])
    before = snapshot(tmp_path / "outside")
    assert ends("table", "X").status == 0
    assert snapshot(tmp_path / "outside") == before
    assert path.stat().st_nlink == 1
    assert path.read_bytes().startswith(b"a thesis\n")
    assert len(path.read_bytes().splitlines()) == 2


def test_a_command_in_the_name_of_a_flow_gets_nowhere(made, ends, tmp_path, monkeypatch):
    """The attack that ran code: the index is a link to .bashrc, and a flow has a command as its name."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made[0].parent / "whole", tmp_path / "X")
    for path in tmp_path.glob("X/*/run.json"):
        rewrite(path, lambda record: record["flows"].update(flow=["$(touch PWNED)\n"]))
    bashrc = tmp_path / "bashrc"
    bashrc.write_text("alias ll='ls -l'\n")
    (tmp_path / "X" / "index.jsonl").unlink(missing_ok=True)
    (tmp_path / "X" / "index.jsonl").symlink_to(bashrc)
    assert ends("table", "X").status == 2
    (tmp_path / "X" / "index.jsonl").unlink()
    assert ends("table", "X").status in (1, 2)
    assert bashrc.read_text() == "alias ll='ls -l'\n"
    assert not (tmp_path / "X" / "index.jsonl").exists()
