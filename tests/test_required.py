"""Tests of a missing tool are skipped, or fail if DUMBBELL_REQUIRE names it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from required import TOOLS, VARIABLE, missing, required


@pytest.mark.parametrize("value", [None, "", "flent", " , flent,tcptrace,"])
def test_a_missing_tool_skips(monkeypatch, value):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(pytest.skip.Exception, match=r"^no kernel here$"):
        missing("kernel", "no kernel here")


@pytest.mark.parametrize("value", ["kernel", "flent, kernel", ",".join(TOOLS)])
def test_a_missing_tool_that_is_required_fails(monkeypatch, value):
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(pytest.fail.Exception, match=r"^kernel is required: no kernel here$"):
        missing("kernel", OSError("no kernel here"))


def test_tools_outside_the_list_are_always_required(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(pytest.fail.Exception, match=r"^sim is required: no module$"):
        missing("sim", "no module")


def test_names_are_separated_by_commas(monkeypatch):
    monkeypatch.setenv(VARIABLE, "kernel, lab ,")
    assert required() == {"kernel", "lab"}


def test_an_unknown_name_stops_the_tests():
    command = [sys.executable, "-m", "pytest", "--collect-only", __file__]
    environment = os.environ | {VARIABLE: "kernel,kernal"}
    done = subprocess.run(command, env=environment, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "DUMBBELL_REQUIRE: kernal: unknown; expected names out of kernel, flent, tcptrace, browser, lab" in done.stderr
