"""Impairments that choose packets: losses of some, and packets that are late."""

import pytest

from dumbbell.engines import engine
from dumbbell.errors import BadInput
from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import Scenario

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "400p"}}}


def scenario(impairments, **more):
    described = {"name": "s", "path": {**PATH, "impairments": impairments}, "flows": [{"cc": "bbr"}], "duration": "6s"}
    (resolved,) = Scenario.model_validate(described | {"events": ["losses"]} | more).expand()
    return resolved


def test_one_packet_in_so_many_is_lost():
    run = compute(scenario([{"kind": "drop", "at": "3s", "packets": "4p", "every": 7}]))
    drops = run.events.filter((run.events["kind"] == "drop") & run.events["reason"].str.contains("on the link"))
    first, *rest = drops["sequence"].to_list()
    assert rest == [first + 7, first + 14, first + 21]
    assert 3e9 <= drops["t_ns"][0] < 3.001e9
    (row,) = [row for row in run.ports.rows() if row["port"] == "bottleneck"]
    assert row["dropped_impairment"] == 4


def test_a_packet_that_is_late_is_a_needless_retransmission():
    run = compute(scenario([{"kind": "hold", "at": "3s", "for": "60ms", "packets": "1p"}]))
    row = run.flows.rows()[0]
    assert (row["retransmits"], row["undos"], row["dropped_packets"]) == (1, 1, 0)


def test_a_link_that_stalls_makes_a_timeout_that_is_undone():
    run = compute(scenario([{"kind": "hold", "at": "3s", "for": "900ms"}]))
    row = run.flows.rows()[0]
    assert row["rto_timeouts"] >= 1
    assert row["undos"] >= 1
    assert row["dropped_packets"] == 0


def test_packets_that_are_set_aside_at_the_end_are_accounted_for():
    run = compute(scenario([{"kind": "hold", "at": "5s", "for": "10s"}]))
    assert not run.reasons
    assert run.flows.rows()[0]["in_flight_packets"] > 20


def test_only_the_simulator_chooses_packets():
    wrong = {"kind": "hold", "at": "3s", "for": "0s"}
    with pytest.raises(BadInput, match="0s is no time at all"):
        scenario([wrong])
    assert "losses and delays of chosen packets" not in engine("kernel").capabilities().feature
    with pytest.raises(BadInput, match="losses and delays of chosen packets"):
        prepare([scenario([{"kind": "drop", "at": "3s", "packets": "1p"}])], on="kernel")


def test_regular_losses_are_in_the_plan():
    (prepared,) = prepare([scenario([], path={**PATH, "delay": {"loss": {"regular": "25%"}}})])
    faults = [port.faults for port in prepared.plan.ports if getattr(port, "faults", None)]
    assert faults == [{"loss": {"kind": "regular", "share": 2**30}}]


def test_an_application_gets_series_and_events_if_it_is_named():
    source = {"kind": "onoff", "name": "app", "cc": "bbr3", "rate": "4mbit"}
    run = compute(scenario([], flows=[], background=[source], series={"flows": ["app"], "state": ["control"]}, events=["acks", "state"]))
    assert len(run.series("flow/app", "cwnd")[0]) > 50
    assert len(run.series("flow/app", "max_bw_bps")[0]) > 50
    assert run.events["reason"].str.contains("mode none -> startup").any()
    without = compute(scenario([], flows=[], background=[source], events=[]))
    assert without.flows.rows() == run.flows.rows()
