"""Sizes of segments and packets in a plan."""

from itertools import pairwise

import pytest
from pydantic import ValidationError
from support import PATH, plain_plan, planned

from dumbbell.engines.linux import SCRIPT, compile_plan
from dumbbell.scenario import Scenario


def jumbo(**bottleneck):
    return {"rtt": "20ms", "mtu": 9000, "bottleneck": {"rate": "100mbit", "qdisc": "fq_codel", **bottleneck}}


@pytest.mark.parametrize(
    ("mtu", "mss", "payload"), [(1500, None, 1448), (1500, 536, 524), (1500, 8960, 1448), (9000, None, 8948), (9000, 1460, 1448)]
)
def test_a_segment_is_what_path_and_connection_allow(mtu, mss, payload):
    for flows, background in (([{"cc": "cubic", "mss": mss}], []), ([], [exchange(mss)])):
        plan = planned(path={**PATH, "mtu": mtu}, flows=flows, background=background).plan
        ((_, _, tcp),) = plan.over_tcp
        assert (plan.mtu_bytes, plan.frame_bytes, tcp.segment_bytes) == (mtu, mtu + 14, payload)


def exchange(mss=None):
    return {"kind": "exchange", "cc": "cubic", "request": "1kB", "response": "100kB", "mss": mss}


def test_what_is_usual_is_not_in_the_plan():
    assert "sack" not in plain_plan()["workloads"][0]
    assert plain_plan(flows=[{"cc": "cubic", "sack": "off"}])["workloads"][0]["sack"] is False
    plain = plain_plan()
    assert "mtu_bytes" not in plain
    assert "segment_bytes" not in plain["workloads"][0]
    plain = plain_plan(path=jumbo())
    assert (plain["mtu_bytes"], plain["workloads"][0]["segment_bytes"]) == (9000, 8948)


@pytest.mark.parametrize(
    ("qdisc", "field", "expected"),
    [
        ({"kind": "fq_codel"}, "queues.quantum_bytes", 9014),
        ({"kind": "fq_codel", "quantum": "300B"}, "queues.quantum_bytes", 300),
        ({"kind": "fq_pie"}, "queues.quantum_bytes", 9014),
        ({"kind": "sfq"}, "quantum_bytes", 9014),
        ({"kind": "fq"}, "quantum_bytes", 18_028),
        ({"kind": "fq"}, "initial_quantum_bytes", 90_140),
        ({"kind": "pfifo", "limit": "1bdp"}, "limit_packets", 28),
        ({"kind": "bfifo", "limit": "1bdp"}, "limit_bytes", 28 * 9014),
    ],
)
def test_queues_count_in_the_largest_frame(qdisc, field, expected):
    found = plain_plan(path=jumbo(qdisc=qdisc))["ports"][1]["qdisc"]
    for part in field.split("."):
        found = found[part]
    assert found == expected


@pytest.mark.parametrize(("shaper", "burst"), [("tbf", 9040), ("htb", 9100)])
def test_a_bucket_holds_the_largest_frame(shaper, burst):
    assert plain_plan(path=jumbo(shaper=shaper))["ports"][1]["shaper"]["burst_bytes"] == burst


def test_more_requests_than_segments_can_count_are_counted_in_the_flows_own():
    ordinary, small = (plain_plan(flows=[], background=[exchange(mss)])["workloads"][0]["count"] for mss in (None, 88))
    assert ordinary / small == pytest.approx(1448 / 76, rel=0.02)


def test_linux_is_told_where_it_would_do_otherwise():
    compiled = compile_plan(planned("kernel", path=jumbo(), flows=[{"cc": "cubic"}, {"cc": "reno", "mss": 536}]).plan)
    script = compiled.files[SCRIPT].splitlines()
    options = [(before.split()[9], line) for before, line in pairwise(script) if line.startswith("option")]
    assert options == [("reno", "option mss 536")]
    devices = compiled.files["net.ip"].splitlines()
    ups = [line for line in devices if line.endswith(" up")]
    assert ups
    assert all("mtu 9000" in line for line in ups)
    assert "link set eth0 mtu 9000 gso_max_segs 1 arp off up" in compiled.files["l0.ip"]
    usual = compile_plan(planned("kernel").plan)
    assert not any("mtu" in text or "option" in text for text in usual.files.values())


@pytest.mark.parametrize(("path", "flow"), [({"mtu": 1499}, {}), ({"mtu": 9001}, {}), ({}, {"mss": 87}), ({}, {"mss": 8961})])
def test_sizes_that_there_are_not_are_refused(path, flow):
    with pytest.raises(ValidationError, match=r"mtu|mss"):
        Scenario.model_validate({"name": "s", "path": {**PATH, **path}, "flows": [{"cc": "cubic", **flow}], "duration": "1s"})
