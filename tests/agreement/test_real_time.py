"""Comparisons with an engine in real time: the scenarios, the metrics that are left out, and the messages about them."""

import pytest
from engines.testbed.recorded import HOSTS

from dumbbell.agreement.real_time import for_machines, in_real_time
from dumbbell.agreement.sets import ScenarioSet
from dumbbell.agreement.tables import real_time
from dumbbell.errors import BadInput
from dumbbell.scenario import Scenario

FIFO = {"kind": "pfifo", "limit": "100p"}
KERNEL = ("kernel", "testbed")


def made(*bottlenecks, **more):
    paths = [{"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": FIFO, **each}} for each in bottlenecks]
    scenarios = [{"name": f"s{i}", "path": path, "flows": [{"cc": "cubic"}], "duration": "8s", **more} for i, path in enumerate(paths)]
    return ScenarioSet("random", (1,), 2, tuple(map(Scenario.model_validate, scenarios)))


def buckets(scenario_set):
    return [(each.path.bottleneck.shaper_kind, each.path.bottleneck.burst) for each in scenario_set.scenarios]


@pytest.fixture(autouse=True)
def hosts(tmp_path, monkeypatch):
    """Machines of which nothing is asked."""
    for name, content in {"known_hosts": "", "key": "", "hosts.yaml": HOSTS}.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setenv("DUMBBELL_HOSTS", str(tmp_path / "hosts.yaml"))


def test_both_engines_have_buckets_for_timers_that_are_late():
    cake = {"shaper": "cake", "qdisc": {"kind": "cake"}}
    found, left_out = for_machines(made({}, {"shaper": "tbf"}, {"shaper": "htb", "burst": "64kB"}, {"rate": "500kbit"}, cake), KERNEL)
    assert buckets(found) == [("tbf", 12_500), ("tbf", 12_500), ("htb", 64_000), ("tbf", 1514), ("cake", None)]
    assert left_out == []


def test_the_command_takes_the_machines_and_lists_what_it_would_run(dumbbell, tmp_path):
    given = ("agree", "random", "--cc", "cubic", "--seed", "4", "--count", "1", "--engines", "kernel,testbed", "--list")
    listed = dumbbell(*given, "--hosts", str(tmp_path / "hosts.yaml"))
    assert (listed.status, listed.err) == (0, "")
    assert "burst: 1900B" in listed.out
    missing = dumbbell(*given, "--hosts", str(tmp_path / "none.yaml"))
    assert (missing.status, missing.err) == (2, f"--hosts: {tmp_path}/none.yaml: no such file; expected a hosts file (docs/testbed.md)\n")


def test_what_is_said_of_runs_in_real_time():
    said = real_time({"in_real_time": in_real_time(KERNEL)})
    assert said.startswith("Runs of testbed are in real time: no two are the same. ")
    assert "Buckets of both engines last 10 ms at least" in said


def test_other_engines_have_the_set_as_it_is():
    given = made({})
    assert for_machines(given, ("kernel", "sim")) == (given, [])
    assert in_real_time(("kernel", "sim")) == []


def test_what_the_machines_cannot_have_is_left_out_with_the_reason():
    fits, other = made({}), made({}, path={"rtt": "20ms", "mtu": 9000, "bottleneck": {"rate": "10mbit", "qdisc": FIFO}})
    both = ScenarioSet("random", (1,), 2, (*fits.scenarios, *other.scenarios))
    found, (line,) = for_machines(both, KERNEL)
    assert [each.path.mtu for each in found.scenarios] == [1500]
    assert line == (
        "1 scenario is left out: path.mtu: is an MTU of 9000, and data devices of machines have 1500, expected 1500, or machines: local"
    )
    with pytest.raises(BadInput, match=r"^the engine testbed can run no scenario of the set random: 1 scenario is left out: "):
        for_machines(other, KERNEL)
