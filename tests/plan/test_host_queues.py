"""Queues that hosts have of their own."""

import pytest
from support import PATH, plain_plan, resolved

from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario, ScenarioError

EGRESS = {"rate": "5mbit", "qdisc": {"kind": "pfifo", "limit": "10p"}}
FLOWS = [{"cc": "cubic"}, {"name": "other", "cc": "cubic", "src": "alice"}]


def test_what_leaves_a_host_passes_its_queue_first_and_other_hosts_do_not():
    plan = plain_plan(hosts={"left": {"egress": EGRESS}}, flows=[*FLOWS, {"name": "back", "cc": "reno", "direction": "reverse"}])
    ids = [port["id"] for port in plan["ports"]]
    assert [(host["id"], host["egress"]) for host in plan["hosts"]] == [
        ("left", ids.index("left-egress")),
        ("right", None),
        ("alice", None),
    ]
    ways = [[ids[port] for port in path["forward"]] for path in plan["paths"]]
    assert ways == [["left-egress", "delay", "bottleneck"], ["delay", "bottleneck"]]
    assert [(workload["id"], workload["path"]) for workload in plan["workloads"]] == [("cubic", 0), ("other", 1), ("back", 0)]


def test_a_host_on_the_right_sends_its_acks_through_its_queue():
    plan = plain_plan(hosts={"bob": {"egress": EGRESS}}, flows=[{"cc": "cubic", "dst": "bob"}])
    ids = [port["id"] for port in plan["ports"]]
    (path,) = plan["paths"]
    assert [ids[port] for port in path["reverse"]] == ["bob-egress", "delay-reverse", "bottleneck-reverse"]
    assert plan["ports"][ids.index("bob-egress")]["direction"] == "reverse"


def test_an_impairment_is_of_the_bottleneck_whatever_hosts_have():
    outage = {"kind": "outage", "at": "1s", "for": "100ms"}
    plan = plain_plan(hosts={"left": {"egress": EGRESS}}, path={**PATH, "impairments": [outage]})
    (change,) = plan["schedule"]
    assert plan["ports"][change["port"]]["id"] == "bottleneck"


def test_tcp_is_told_of_drops_in_its_hosts_queue_and_flows_share_it():
    scenario = {
        # Each may have two packets there.
        "hosts": {"left": {"egress": {**EGRESS, "qdisc": {"kind": "pfifo", "limit": "3p"}}}},
        "flows": [{"count": 2, "cc": "cubic"}, {"name": "other", "cc": "cubic", "src": "alice"}],
    }
    # Behind fq_codel the two lose nothing to the flow of the other host.
    path = {"rtt": "20ms", "bottleneck": {**PATH["bottleneck"], "qdisc": {"kind": "fq_codel"}}}
    run = compute(resolved(**scenario, path=path, duration="10s"), on="sim")
    one, other = (run.counters[f"flow/cubic-{i}"] for i in (1, 2))
    assert run.counters["port/left-egress"]["dropped_overflow"] > 0
    # A drop there fails the transmission: nothing is lost on the way that would have to be retransmitted.
    assert one["retransmits"] == other["retransmits"] == 0
    assert 3.5e6 < (one["rx_bytes"] + other["rx_bytes"]) * 8 / 10 < 5e6, "the two share 5 Mbit/s"


@pytest.mark.parametrize(
    ("hosts", "flows", "wrong"),
    [
        ({"bob": {"egress": EGRESS}}, FLOWS, "hosts.bob: 'bob' is named by no flow; expected one of alice, left, right"),
        (
            {"alice": {"egress": EGRESS}},
            [*FLOWS, {"name": "to", "cc": "cubic", "dst": "alice"}],
            "hosts.alice: 'alice' is on both sides of the path; expected a host of one side",
        ),
        ({"left": {"egress": {**EGRESS, "rate": "2000gbit"}}}, FLOWS, "hosts.left.egress.rate: 2000gbit is too fast"),
    ],
)
def test_a_queue_of_a_host_that_cannot_be_is_refused(hosts, flows, wrong):
    with pytest.raises(ScenarioError) as caught:
        Scenario.model_validate({"name": "x", "path": PATH, "duration": "10s", "hosts": hosts, "flows": flows}).expand()
    assert wrong in str(caught.value)
