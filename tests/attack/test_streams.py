"""Standard streams that are closed, full, or read by nobody; file names that cannot be; corrupt JSON."""

import json
import os
import subprocess
import sys

import pytest

from dumbbell import cli

COMMAND = f"{sys.executable} -m dumbbell"
SCENARIO = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic}]
duration: 2s
"""


def shell(command):
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("redirection", "status", "err"),
    [
        (">&-", 0, ""),
        (">/dev/full", 3, "standard output: No space left on device\n"),
        ("<&- >&- 2>&-", 0, ""),
        (">/dev/full 2>/dev/full", 3, ""),
    ],
)
def test_a_stream_that_cannot_be_written_ends_a_command_cleanly(redirection, status, err):
    answer = shell(f"{COMMAND} list cc {redirection}")
    assert (answer.returncode, answer.stderr) == (status, err)


def test_a_reader_that_goes_away_is_no_error():
    answer = shell(f"{{ {COMMAND} list cc --json; echo $? >&2; }} | true")
    assert answer.stderr == "141\n"


def test_an_error_keeps_its_status_without_stderr(tmp_path):
    for redirection in ("2>&-", "2>/dev/full"):
        assert shell(f"{COMMAND} run {tmp_path}/none.yaml {redirection}").returncode == 2


def test_runs_are_stored_where_nobody_listens(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO)
    assert shell(f"{COMMAND} run {tmp_path}/s.yaml --out {tmp_path}/out <&- >&- 2>&-").returncode == 0
    (run,) = (path for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert json.loads((run / "run.json").read_bytes())["status"] == "ok"


UNUSABLE = {
    "a name of 300 letters": "x" * 300,
    "a path of 5,000 letters": "a/" * 2500 + "b",
    "a place where nothing can be created": "/proc/none/x",
    "a name below a device": "/dev/null/x",
    "bytes that are not UTF-8": os.fsdecode(b"/dev/null/\xff\xfe"),
    "a line break and an escape sequence": "/dev/null/a\n\x1b[31mb",
}
COMMANDS = [
    ("run", "PATH"),
    ("plan", "PATH"),
    ("run", "SCENARIO", "--out", "PATH"),
    ("table", "PATH"),
    ("plot", "PATH"),
    ("compare", "PATH", "sce"),
    ("claims", "sce", "PATH"),
    ("analyze", "PATH"),
    ("reproduce", "sce", "--quick", "--out", "PATH"),
    ("agree", "smoke", "--engines", "sim,sim2", "--out", "PATH"),
    ("kernel", "build", "--source", "PATH"),
]


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_path_that_cannot_be_used_is_reported_in_one_line(command, name, dumbbell, tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO)
    places = {"PATH": UNUSABLE[name], "SCENARIO": tmp_path / "s.yaml"}
    answer = dumbbell(*(places.get(word, word) for word in command))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert answer.err[:-1].isprintable()


JSON = {
    "empty": b"",
    "cut off": b'{"format": 2, "runs": [',
    "a million levels": b"[" * 1_000_000,
    "a million levels of mappings": b'{"a": ' * 1_000_000,
    "a number of 100,000 digits": b'{"format": ' + b"9" * 100_000 + b"}",
    "not UTF-8": b'{"format": "\xff"}',
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "runs of numbers": b'{"format": 1, "runs": [1, 2]}',
    "not a number": b'{"format": NaN}',
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A results folder of one run."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "s.yaml").write_text(SCENARIO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["dumbbell", "run", str(folder / "s.yaml"), "--out", str(folder / "out")])
        with pytest.raises(SystemExit):
            cli.main()
    return folder / "out"


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("file", ["study.json", "run.json"])
def test_corrupt_json_is_reported_in_one_line(file, name, stored, dumbbell):
    (path,) = stored.rglob(file)
    good = path.read_bytes()
    path.write_bytes(JSON[name])
    try:
        for command in (("table",), ("plot",), ("claims", "sce")):
            answer = dumbbell(*command, stored)
            # If a run is damaged, the folder's other runs are shown. If the list of runs is damaged, nothing is shown.
            assert answer.status in ((1, 2) if file == "run.json" else (2,))
            assert file == "run.json" or (answer.out == "" and answer.err.count("\n") == 1)
            assert answer.err.startswith(f"{path}: ")
            assert answer.err.count(str(path)) == 1
    finally:
        path.write_bytes(good)


@pytest.mark.parametrize("file", ["study.json", "run.json"])
def test_a_special_file_in_a_results_folder_is_refused(file, stored, dumbbell):
    (path,) = stored.rglob(file)
    good = path.read_bytes()
    path.unlink()
    os.mkfifo(path)
    try:
        answer = dumbbell("table", stored)
        assert answer.status == (1 if file == "run.json" else 2)
        assert answer.err.startswith(f"{path}: ")
        assert "is not a regular file" in answer.err
    finally:
        path.unlink()
        path.write_bytes(good)
