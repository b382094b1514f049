"""The comparison of fingerprints: changes are found, and runs are distributed over the workers."""

from __future__ import annotations

import json
import sys

import pytest
from support import PATH

from benchmarks.digests import __main__ as digests
from dumbbell import Scenario
from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.running.prepare import prepare

PROGRAM = f"""\
#!{sys.executable}
import hashlib, os, sys
for line in sys.stdin:
    print(hashlib.sha256(line.encode()).hexdigest()[:16], flush=True)
    with open(os.path.dirname(sys.argv[0]) + "/seen", "a") as seen:
        seen.write(f"{{os.getpid()}} {{line}}")
"""
"""A substitute for the simulator: prints the hash of each network, and logs which process gets it."""


def runs(count, **more):
    rates = [f"{1 + i}mbit" for i in range(count)]
    settings = {"name": "few", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "1s", "sweep": {"path.bottleneck.rate": rates}, **more}
    return Scenario.model_validate(settings).expand()


@pytest.fixture
def program(tmp_path):
    """An executable with this program."""
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


@pytest.fixture
def recorded(program, tmp_path, monkeypatch):
    """The file with the recorded fingerprints of two sets of runs."""
    path = tmp_path / "recorded.json"

    def few(name):
        return lambda: ((f"{name}:{i}", run) for i, run in enumerate(runs(3)))

    monkeypatch.setattr(digests, "SETS", {"first": few("first"), "second": few("second")})
    monkeypatch.setattr(digests, "RECORDED", path)
    monkeypatch.setattr(digests, "build", lambda *_, **__: program)
    assert digests.main(["--record"]) == 0
    return path


def test_unchanged_fingerprints_are_accepted(recorded, capsys):
    before = recorded.read_text()
    capsys.readouterr()
    assert digests.main([]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name}: 3 runs, 0 differ from recorded.json" for name in ("first", "second")]
    assert recorded.read_text() == before


def test_a_changed_fingerprint_is_reported_by_name(recorded, capsys):
    values = json.loads(recorded.read_text())
    right, values["second"]["second:1"] = values["second"]["second:1"], "0" * 16
    del values["second"]["second:2"]
    recorded.write_text(json.dumps(values))
    capsys.readouterr()
    assert digests.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "first: 3 runs, 0 differ from recorded.json",
        "second: 3 runs, 2 differ from recorded.json",
        f"  second:1: {right}, recorded {'0' * 16}",
    ]
    assert lines[3].startswith("  second:2: ")
    assert lines[3].endswith(", recorded nothing")
    assert digests.main(["first"]) == 0


def test_an_unknown_set_is_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(digests, "build", lambda *_, **__: pytest.fail("nothing is to be built"))
    with pytest.raises(BadInput, match="unknown set 'scf'; expected one of sce, teacup, oracle, contract, random"):
        digests.main(["sce", "scf"])


def test_runs_are_distributed_one_by_one_the_most_expensive_first(program, tmp_path):
    asked, told = prepare(runs(12)), []
    found = digests.fingerprints(program, asked, 1, lambda done, total: told.append((done, total)))
    assert told == [(done, 12) for done in range(1, 13)]
    seen = [line.split(" ", 1) for line in (tmp_path / "seen").read_text().splitlines()]
    rates = [json.loads(network)["ports"][1]["shaper"]["rate_bps"] for _, network in seen]
    assert rates == sorted(rates, reverse=True)
    assert len(set(found)) == 12
    assert digests.fingerprints(program, asked, 3, lambda *_: None) == found
    pids = {pid for pid, _ in (line.split(" ", 1) for line in (tmp_path / "seen").read_text().splitlines())}
    assert 1 < len(pids) <= 1 + 3  # on a busy machine the first of three may have done all before the others are there


@pytest.mark.parametrize("body", ["echo 'no such qdisc' >&2; exit 1", "read network; echo 'no such qdisc' >&2; exit 1"])
def test_a_program_that_fails_ends_the_job(program, body):
    program.write_text(f"#!/bin/sh\n{body}\n")
    with pytest.raises(EnvironmentFault, match="failed: no such qdisc"):
        digests.fingerprints(program, prepare(runs(5)), 2, lambda *_: None)
