"""A results folder from somebody else is data: whatever its texts are, they are shown as text or refused in a line."""

import json
import shutil

import pytest

from dumbbell import Scenario, run
from dumbbell.results.checksums import seal

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
"""Those that are tried in figures as well."""
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
            record[where] = {"name": text, "cell": {text: text}}[where]

    def of_study(study):
        for each in study["runs"]:
            each |= {"name": text} if where == "name" else {"cell": {text: text}}

    for path in theirs.glob("*/run.json"):
        rewrite(path, of_run)
    if where in ("name", "cell"):
        rewrite(theirs / "study.json", of_study)
    commands = [("table", theirs), ("table", theirs, "--runs"), ("table", theirs, "--json")]
    if (where == "name" and what in DRAWN) or (where == "scenario" and what == DRAWN[0]):
        figures = dumbbell("plot", theirs, "--list").out.splitlines()
        commands.append(("plot", theirs, "--out", tmp_path / "figures", "--figure", figures[0]))
    for command in commands:
        answer = dumbbell(*command)
        refused = command[0] == "plot" and where == "scenario"
        assert answer.status == (2 if refused else 0), answer
        assert all(line.isprintable() for line in (answer.out + answer.err).splitlines()), answer
    assert {path.name for path in tmp_path.iterdir()} <= {"figures", "theirs"}
