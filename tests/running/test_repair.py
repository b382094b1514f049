"""A stored run is rerun from the scenario that it keeps, for every kind of scenario."""

from pathlib import Path

import pytest

from dumbbell.results import Store
from dumbbell.results.storage.json_files import to_json
from dumbbell.running.prepare import prepare
from dumbbell.running.repair import prepare_again
from dumbbell.scenario import Scenario
from dumbbell.study import Request, find_part

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def kept(store, prepared, name, content=None):
    """Writes the file of a run that says what was asked for."""
    asked = {"name": prepared.resolved.name, "cell": prepared.resolved.cell, "scenario": prepared.scenario}
    (store.path / prepared.key).mkdir(parents=True, exist_ok=True)
    (store.path / prepared.key / name).write_bytes(to_json(asked) if content is None else content)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_every_example(file, tmp_path):
    store = Store(tmp_path)
    for prepared in prepare(Scenario.from_file(file).sample_runs(count=3)):
        kept(store, prepared, "run.json")
        again = prepare_again(store, prepared.key)
        if prepared.resolved.settings.own_programs:
            # A run keeps the content of given files as hashes, not where they lay, as it does with libraries.
            assert again is None
            continue
        assert (again.key, again.resolved.cell, again.resolved.name) == (prepared.key, prepared.resolved.cell, prepared.resolved.name)
        assert again.plan == prepared.plan


@pytest.mark.parametrize(("study", "part"), [("sce", "one-flow"), ("sce", "two-flow"), ("teacup", None), ("oracle", None)])
def test_every_study(study, part, tmp_path):
    store = Store(tmp_path)
    for prepared in prepare(find_part(study, part)[1].scenarios(Request(quick=True, seeds=1))[:5]):
        kept(store, prepared, "host.json")
        assert prepare_again(store, prepared.key).key == prepared.key


@pytest.mark.parametrize(
    "wrong", [b"", b"{", b"[]", b"\xff", b'{"name": 3, "cell": 3, "scenario": 3}', b'{"name": "s", "cell": {}, "scenario": {"path": {}}}']
)
def test_the_second_file_helps_if_the_first_is_damaged(wrong, tmp_path):
    store = Store(tmp_path)
    (prepared,) = prepare(Scenario.from_file(EXAMPLES[0]).sample_runs(count=1))
    kept(store, prepared, "host.json")
    kept(store, prepared, "run.json", wrong)
    assert prepare_again(store, prepared.key).key == prepared.key
    kept(store, prepared, "host.json", wrong)
    assert prepare_again(store, prepared.key) is None


def test_a_scenario_of_another_key_is_not_taken(tmp_path):
    store = Store(tmp_path)
    (prepared,) = prepare(Scenario.from_file(EXAMPLES[0]).sample_runs(count=1))
    kept(store, prepared, "run.json", to_json({"name": "s", "cell": {}, "scenario": {**prepared.scenario, "seed": 77}}))
    assert prepare_again(store, prepared.key) is None
