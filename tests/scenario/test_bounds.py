"""Bounds of what a scenario may hold, and that wrong entries by the thousand are said once and soon."""

import pytest

from dumbbell.plan.addresses import OWN_COMING_EACH, address, coming_ports
from dumbbell.scenario import Scenario, ScenarioError
from dumbbell.scenario.check import MOST_COMING, MOST_HOSTS

BASE = {
    "name": "a",
    "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "180p"}}},
    "duration": "2s",
}


def refused(**given):
    """The lines of the refusal."""
    with pytest.raises(ScenarioError) as error:
        Scenario(**BASE, **given).expand()
    return str(error.value).splitlines()


def test_hosts_have_addresses_of_their_own_up_to_the_bound():
    flows = [{"cc": "reno", "name": f"f{i}", "src": f"s{i}"} for i in range(MOST_HOSTS + 1)]
    assert refused(flows=flows) == [f"flows: name {MOST_HOSTS + 1} hosts; expected at most {MOST_HOSTS}"]
    assert len({address("left", number) for number in range(1, MOST_HOSTS + 3)}) == MOST_HOSTS + 2


def test_what_makes_connections_has_ports_of_its_own_up_to_the_bound():
    entry = {"kind": "transfers", "cc": "reno", "size": "1kB", "arrivals": {"kind": "regular", "every": "1s"}}
    several = [{**entry, "name": f"t{i}"} for i in range(MOST_COMING + 1)]
    assert refused(background=several) == [
        f"background: has {MOST_COMING + 1} entries whose connections come and go; expected at most {MOST_COMING}"
    ]
    assert coming_ports("shared", MOST_COMING, "forward")["ports"][1] < 1 << 16
    assert coming_ports("own", 20, "forward")["ports"][1] + OWN_COMING_EACH < 1 << 16


def test_of_many_problems_the_first_are_told_and_the_rest_counted():
    lines = refused(flows=[{"cc": "reno", "name": "same"}] * 1000)
    assert len(lines) == 101
    assert lines[0] == "flows.0.name: 'same' is given twice; expected names that differ"
    assert lines[-1] == "and 900 more problems"


def test_of_many_names_the_first_are_listed():
    flows = [{"cc": "reno", "name": f"f{i}"} for i in range(1000)]
    (line,) = refused(flows=flows, series={"flows": ["f0x"]})
    assert line.startswith("series.flows.0: there are no flows 'f0x' (did you mean 'f0'?); expected one of f0, f1, ")
    assert line.endswith(", f199 and 800 more")


def test_a_value_is_quoted_up_to_a_length():
    (line,) = refused(flows=[{"cc": "reno"}], background=[{"kind": {f"k{i}": 0 for i in range(5000)}}])
    assert len(line) < 3000
    assert "...; expected " in line
