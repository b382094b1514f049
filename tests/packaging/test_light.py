"""An installation with only a worker's libraries, as docs/install.md says."""

import json
import sys

import pytest

from dumbbell import templates
from dumbbell.templates import examples


@pytest.fixture
def light(monkeypatch):
    """No libraries that draw or estimate."""
    for name in ("matplotlib", "scipy"):
        for loaded in [each for each in sys.modules if each.partition(".")[0] == name]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("light")
def test_runs_and_tables_need_none_that_draws(dumbbell, tmp_path):
    short = ("--set", "duration=2s", "--set", "flows.1.start=1s")
    jitter = ("--set", "repeat=2", "--set", "flows.0.start={jitter: 100ms}")
    several = dumbbell("run", examples.file("first"), *short, *jitter, "--out", tmp_path / "several")
    assert (several.status, "±" in several.out) == (0, True)
    assert dumbbell("table", tmp_path / "several").status == 0
    assert dumbbell("run", examples.file("first"), *short, "--out", tmp_path / "out").status == 0
    for command in (
        ("table", tmp_path / "out"),
        ("table", tmp_path / "out", "--runs"),
        ("check", tmp_path / "out"),
        ("plan", templates.file("rrul")),
    ):
        assert dumbbell(*command).status == 0


@pytest.mark.usefixtures("light")
def test_what_draws_says_what_is_missing(dumbbell, tmp_path):
    assert (
        dumbbell("run", examples.file("first"), "--set", "duration=1s", "--set", "flows.1.start=0s", "--out", tmp_path / "out").status == 0
    )
    answer = dumbbell("plot", tmp_path / "out")
    assert (answer.status, answer.out) == (3, "")
    assert "matplotlib is not installed, which this needs; expected the libraries of `pip install dumbbell`\n" in answer.err


def test_the_doctor_does_not_need_them(dumbbell, monkeypatch):
    from importlib.metadata import PackageNotFoundError, version

    from dumbbell.cli.maintain import doctor

    def lacking(name):
        if name in ("matplotlib", "scipy"):
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor, "version", lacking)
    found = json.loads(dumbbell("doctor", "--json").out)
    assert found["good"]
    assert {each["name"] for each in found["findings"] if not each["good"]} >= {"matplotlib", "scipy"}
