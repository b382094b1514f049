"""Paths that cannot be read or made, in every command: one line that names what is wrong, and status 2."""

import os

import pytest

from dumbbell.errors import printable

SCENARIO = """\
name: small
path: {rtt: 20ms, bottleneck: {rate: 1mbit, qdisc: {kind: pfifo, limit: 10p}}}
flows: [{cc: reno}]
duration: 100ms
"""
LONG = "n" * 300
"""More than a file name may have."""
NOT_UTF8 = os.fsdecode(b"\xff\xfe")
"""A file name that is not UTF-8, as Python has it."""
INPUTS = {
    "run": ("run", "{}"),
    "plan": ("plan", "{}"),
    "table": ("table", "{}"),
    "table --tidy": ("table", "{}", "--tidy"),
    "plot": ("plot", "{}"),
    "plot STUDY": ("plot", "sce", "{}"),
    "compare": ("compare", "{}", "sce"),
    "claims": ("claims", "sce", "{}"),
    "check": ("check", "{}"),
    "analyze": ("analyze", "{}"),
    "kernel build": ("kernel", "build", "--source", "{}"),
}
OUTPUTS = {
    "run": ("run", "FILE", "--out", "{}"),
    "plan": ("plan", "FILE", "--out", "{}"),
    "check": ("check", "FILE", "--out", "{}", "--repair"),
    "plot": ("plot", "RESULTS", "--out", "{}"),
    "reproduce": ("reproduce", "oracle", "--quick", "--no-figures", "--out", "{}"),
    "agree": ("agree", "smoke", "--out", "{}"),
    "analyze": ("analyze", "--pair", "NONE.pcap", "NONE.pcap", "--csv", "{}"),
}


@pytest.fixture
def file(tmp_path):
    """A scenario file."""
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


def one_line(answer, path):
    """Check that the command reported the error in a path in one line, and printed nothing else."""
    assert answer.status == 2, answer
    assert answer.out == ""
    assert answer.err.count("\n") == 1, answer.err
    assert printable(answer.err[:-1]) == answer.err[:-1]
    assert printable(str(path)) in answer.err
    assert "; expected " in answer.err


@pytest.mark.parametrize("command", INPUTS)
@pytest.mark.parametrize("name", ["none", LONG, f"{LONG}/below", "/".join(["deep"] * 1500), NOT_UTF8, "small.yaml/below", "a\x1b[31m\nb"])
def test_what_cannot_be_read(command, name, dumbbell, file, tmp_path):
    path = tmp_path / name
    one_line(dumbbell(*(word.replace("{}", str(path)) for word in INPUTS[command])), path)
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.parametrize("command", OUTPUTS)
@pytest.mark.parametrize(
    "name",
    [LONG, f"{LONG}/below", f"new/{LONG}", "/".join(["deep"] * 1500), NOT_UTF8, "small.yaml/below/deep", "/proc/none/x"],
)
def test_what_cannot_be_made(command, name, dumbbell, file, tmp_path):
    path = tmp_path / name
    words = (word.replace("{}", str(path)).replace("FILE", str(file)) for word in OUTPUTS[command])
    one_line(dumbbell(*words), path)
    assert os.listdir(tmp_path) == [file.name]
