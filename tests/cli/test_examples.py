"""Every example runs as it stands."""

import json
from pathlib import Path

import pytest
from required import missing

from dumbbell.engines import default
from dumbbell.engines import engine as find_engine
from dumbbell.errors import EnvironmentFault
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example(dumbbell, file, tmp_path):
    scenario = Scenario.from_file(file)
    engine = scenario.engine or default()
    try:
        find_engine(engine).require()
    except EnvironmentFault as fault:
        missing(engine, fault)
    (first, *_) = scenario.runs()
    try:
        find_engine(engine).require(prepare([first])[0].plan)
    except EnvironmentFault as fault:
        missing("netperf" if "netperf" in str(fault) else "applications", fault)
    allowed = ["--allow-program"] if first.settings.own_programs else []
    answer = dumbbell("run", file, "--out", tmp_path, "--json", *allowed)
    assert answer.status == 0
    found = json.loads(answer.out)
    assert found["name"] == file.stem
    assert found["ok"] == len(found["runs"])


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_planned_by_itself(dumbbell, file, tmp_path, monkeypatch):
    """In any folder, and without an engine that has to be built."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    answer = dumbbell("plan", file, "--json")
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    assert found["disk_bytes"] > 0
    assert found["missing"] == found["runs"] >= 1
    assert ("nobody knows which runs are in" in answer.err) == (Scenario.from_file(file).engine == "kernel")


def test_there_are_examples():
    assert len(EXAMPLES) >= 4
