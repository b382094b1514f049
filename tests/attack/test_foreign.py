"""A results folder from somebody else is data: its texts are shown as text, or are an error in a line."""

import json
import shutil

import pytest

from dumbbell import Scenario, run
from dumbbell.results.storage.checksums import seal

TEXTS = {
    "an escape sequence": "\x1b[2J\x1b[31mred",
    "a line break": "first\nsecond",
    "an unfinished formula": "$\\frac{",
    "a path": "../../../etc/passwd",
    "a format": "%s {0} {name!r}",
    "half a character": "\ud800",
    "a right-to-left mark": "\u202eabc",
    "a long text": "x" * 3000,
}

DRAWN = ("an escape sequence", "an unfinished formula", "half a character")
"""Texts that are tried in figures as well."""
SCENARIO = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 1mbit, qdisc: {kind: pfifo, limit: 20p}}}
flows: [{cc: reno}]
duration: 1s
sweep: {path.rtt: [20ms, 30ms]}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A results folder with two runs."""
    folder = tmp_path_factory.mktemp("made") / "results"
    run(Scenario.from_text(SCENARIO), out=folder)
    return folder


@pytest.fixture
def theirs(made, tmp_path):
    """A copy that somebody else may change."""
    return shutil.copytree(made, tmp_path / "theirs")


def rewrite(path, change):
    """Changes a sealed file as somebody can who knows how it is sealed."""
    content = json.loads(path.read_bytes())
    del content["sha256"]
    change(content)
    path.write_bytes(seal((json.dumps(content, indent=1) + "\n").encode()))


NAMES = ("an unfinished formula", "a path", "a format")
"""The texts that can be names."""
HELD = {"name": NAMES, "flow": NAMES, "cell": (*NAMES, "a long text"), "reasons": (*TEXTS,), "scenario": {*TEXTS} - {"half a character"}}
"""Texts that may stand in each place."""


@pytest.mark.parametrize("where", ["name", "cell", "flow", "reasons", "scenario"])
@pytest.mark.parametrize("what", TEXTS)
def test_texts_of_others_are_shown_as_text(what, where, theirs, dumbbell, tmp_path):
    text = TEXTS[what]

    def of_run(record):
        if where == "flow":
            record["flows"]["flow"] = [text] * len(record["flows"]["flow"])
        elif where == "reasons":
            record |= {"reasons": [text], "status": "warn"}
        elif where == "scenario":
            record["scenario"] = {"flows": [{"name": text, "cc": text}], text: text}
        else:
            record[where] = {"name": text, "cell": {"k": text}}[where]

    def of_study(study):
        for each in study["runs"]:
            each |= {"name": text} if where == "name" else {"cell": {"k": text}}

    for path in theirs.glob("*/run.json"):
        rewrite(path, of_run)
    if where in ("name", "cell"):
        rewrite(theirs / "study.json", of_study)
    commands = [("table", theirs), ("table", theirs, "--runs"), ("table", theirs, "--json"), ("table", theirs, "--format", "csv")]
    if (where == "name" and what in DRAWN) or (where == "scenario" and what == DRAWN[0]):
        figures = dumbbell("plot", theirs, "--list").out.splitlines()
        commands += [("plot", theirs, "--out", tmp_path / "figures", "--figure", figure) for figure in figures[:1]]
    for command in commands:
        answer = dumbbell(*command)
        if what not in HELD[where]:
            assert answer.status == (2 if where in ("name", "cell") else 1), answer
            assert len(answer.err.splitlines()) == (1 if where in ("name", "cell") else 2), answer
        else:
            assert answer.status == (2 if command[0] == "plot" and where == "scenario" else 0), answer
        assert all(line.isprintable() for line in (answer.out + answer.err).splitlines()), answer
    assert {path.name for path in tmp_path.iterdir()} <= {"figures", "theirs"}


@pytest.mark.parametrize("what", ["an escape sequence", "a line break", "half a character", "a right-to-left mark", "a long text"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda record, text: record["flows"].update(flow=[text]), id="flow"),
        pytest.param(lambda record, text: record["flows"].update(group=[text]), id="group"),
        pytest.param(lambda record, text: record["ports"]["port"].__setitem__(0, text), id="port"),
        pytest.param(lambda record, text: record.update(name=text), id="run"),
        pytest.param(lambda record, text: record.update(cell={text: 1}), id="coordinate"),
        pytest.param(lambda record, text: record["plan"]["ports"][0].update(id=text), id="port of the plan"),
        pytest.param(lambda record, text: record["plan"]["workloads"][0].update(id=text), id="workload of the plan"),
    ],
)
def test_a_run_with_a_name_that_nobody_can_give_is_damaged(change, what, theirs, dumbbell):
    """One line names it, and the other run is shown."""
    path = sorted(theirs.glob("*/run.json"))[0]
    rewrite(path, lambda record: change(record, TEXTS[what]))
    (theirs / "index.jsonl").unlink()
    answer = dumbbell("table", theirs, "--runs", "--json")
    assert answer.status == 1
    assert answer.err.startswith(f"{path}: ")
    damaged, *hints = answer.err.splitlines()
    assert damaged.endswith("it again)")
    assert all(" still rises by " in hint for hint in hints)
    assert len(json.loads(answer.out)["rows"]) == 1


ODD_RECORDS = {
    "an infinite number": lambda record: record["scenario"].update(seed=float("inf")),
    "a number that is none": lambda record: record["engine"].update(events=float("nan")),
    "an unknown kind of flow": lambda record: record["flows"].update(kind=["carrier pigeon"], transport=["udp"]),
    "a flow that ends before it begins": lambda record: record["flows"].update(start_ns=[5], end_ns=[4]),
    "a flow without an end": lambda record: record["flows"].update(end_ns=[None]),
    "a number beyond 64 bits": lambda record: record["flows"].update(rx_bytes=[2**64]),
    "an infinite duration": lambda record: record["flows"].update(cwnd_limited_ms=[float("inf")]),
    "a workload without an id": lambda record: record["plan"]["workloads"][0].pop("id"),
    "a port without an id": lambda record: record["plan"]["ports"][0].pop("id"),
    "a connection without a name": lambda record: record["plan"]["workloads"][0]["connections"][0].pop("name"),
    "a workload from nowhere": lambda record: record["plan"]["workloads"][0].update({"from": 7}),
    "a workload to half a host": lambda record: record["plan"]["workloads"][0].update(to=0.5),
    "a workload from a text": lambda record: record["plan"]["workloads"][0].update({"from": "left"}),
    "a path over no port": lambda record: record["plan"]["paths"][0].update(forward=[99]),
    "a host in the air": lambda record: record["plan"]["hosts"][0].update(side="above"),
    "a trace of nothing": lambda record: record["plan"]["ports"][1]["shaper"].update(at_ms=[0]),
    "a trace without an end": lambda record: record["plan"]["ports"][1]["shaper"].update(at_ms=[1] * 100_000),
    "a duration of nothing": lambda record: record["plan"].update(duration_ns=0),
    "a plan that is a list": lambda record: record.update(plan=[]),
    "an import without flows": lambda record: record["engine"].update(name="import"),
}


@pytest.mark.parametrize("what", ODD_RECORDS)
def test_an_odd_record_is_a_line(what, theirs, dumbbell, tmp_path, monkeypatch):
    """Anybody can make a seal: a file with a seal need not be one that dumbbell wrote."""
    monkeypatch.chdir(tmp_path)
    for path in theirs.glob("*/run.json"):
        rewrite(path, ODD_RECORDS[what])
    commands = (
        ("table", theirs),
        ("plot", theirs, "--format", "svg"),
        ("view", theirs, "--export", "page.html"),
        ("export", theirs, "--format", "flent", "--out", "out"),
        ("export", theirs, "--format", "iperf3", "--out", "out"),
        ("compare", theirs, theirs),
        ("check", theirs),
        ("pack", theirs),
    )
    (theirs / "index.jsonl").unlink()
    for command in commands:
        answer = dumbbell(*command)
        assert answer.status in (1, 2), (command, answer)
        assert all(line.isprintable() for line in answer.err.splitlines()), (command, answer)
    assert not (tmp_path / "page.html").exists() or b"carrier pigeon" not in (tmp_path / "page.html").read_bytes()
