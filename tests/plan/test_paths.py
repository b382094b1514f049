"""Paths: the places of delay, access link and queues, and their ids."""

import pytest
from support import PATH, planned

QDISC = {"kind": "pfifo", "limit": "100p"}


def ways(path, flows=({"cc": "reno"},)):
    """Return for each flow's path: base RTT, the ports forward and the ports back."""
    plan = planned(path=path, flows=list(flows)).plan
    paths = [plan.paths[workload.path] for workload in plan.tcp]
    return [(way.base_rtt_ns, *([plan.ports[i] for i in ports] for ports in (way.forward, way.reverse))) for way in paths]


def layout(ports):
    return [(port.id, port.delay_ns) for port in ports]


def rate(port):
    return port.rate_bps if hasattr(port, "rate_bps") else port.shaper["rate_bps"]


def dumbbell(**more):
    return {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": QDISC}, **more}


@pytest.mark.parametrize(
    ("delay", "forward", "reverse"),
    [
        (
            {"where": "before"},
            [("delay", 10_000_000), ("bottleneck", 0)],
            [("delay-reverse", 10_000_000), ("bottleneck-reverse", 0)],
        ),
        ({"where": "after"}, [("bottleneck", 10_000_000)], [("bottleneck-reverse", 10_000_000)]),
        (
            {"where": "ack-path"},
            [("bottleneck", 0)],
            [("delay-reverse", 20_000_000), ("bottleneck-reverse", 0)],
        ),
        (
            {"where": "before", "extra": "300us"},
            [("delay", 10_300_000), ("bottleneck", 0)],
            [("delay-reverse", 10_300_000), ("bottleneck-reverse", 0)],
        ),
        (
            {"where": "ack-path", "extra": "300us"},
            [("bottleneck", 300_000)],
            [("delay-reverse", 20_300_000), ("bottleneck-reverse", 0)],
        ),
        (
            {"where": "after", "limit": "1000p"},
            [("bottleneck", 0), ("delay", 10_000_000)],
            [("bottleneck-reverse", 0), ("delay-reverse", 10_000_000)],
        ),
    ],
)
def test_where_the_delay_stands(delay, forward, reverse):
    ((base_rtt_ns, there, back),) = ways(dumbbell(delay=delay))
    assert layout(there) == forward
    assert layout(back) == reverse
    assert base_rtt_ns == 20_000_000
    assert {port.direction for port in there} == {"forward"}
    assert {port.direction for port in back} == {"reverse"}


@pytest.mark.parametrize("where", ["before", "after", "ack-path"])
def test_the_delays_add_up_to_the_base_rtt_and_the_extra(where):
    ((_, there, back),) = ways(dumbbell(rtt="20.000001ms", delay={"where": where, "extra": "300us"}))
    assert sum(port.delay_ns for port in there + back) == 20_000_001 + 2 * 300_000


@pytest.mark.parametrize("where", ["before", "after", "ack-path"])
@pytest.mark.parametrize("limit", [None, "1000p"])
def test_the_access_line_is_the_first_thing_that_data_meets(where, limit):
    ((_, there, back),) = ways(dumbbell(access={"rate": "1gbit"}, delay={"where": where, "limit": limit}))
    assert rate(there[0]) == 10**9
    assert [rate(port) for port in back if port.name in ("delay", "access")] in ([None], [])


def test_no_reverse_bottleneck():
    ((_, _, back),) = ways(dumbbell(reverse="none"))
    assert layout(back) == [("delay-reverse", 10_000_000)]


def test_the_mirror_has_the_same_queue():
    ((_, there, back),) = ways(dumbbell())
    assert (back[-1].qdisc, back[-1].shaper, back[-1].name) == (there[-1].qdisc, there[-1].shaper, there[-1].name)


def test_a_reverse_bottleneck_of_its_own():
    ((_, _, back),) = ways(dumbbell(reverse={"rate": "1mbit", "qdisc": {"kind": "pfifo", "limit": "7p"}}))
    assert rate(back[-1]) == 10**6


def test_no_delay_is_no_stage():
    ((_, there, back),) = ways(dumbbell(rtt="0s"))
    assert layout(there) == [("bottleneck", 0)]
    assert layout(back) == [("bottleneck-reverse", 0)]


@pytest.mark.parametrize("path", [dumbbell(rtt="0s", reverse="none"), {"forward": [{"rate": "1gbit"}], "reverse": "none"}])
def test_a_direction_without_anything_is_a_wire(path):
    ((_, _, back),) = ways(path)
    assert layout(back) == [("delay-reverse", 0)]


def test_flows_of_other_rtts_share_the_access_line_and_the_bottleneck():
    flows = [{"cc": "reno"}, {"cc": "cubic", "rtt": "80ms"}, {"cc": "cubic", "name": "as-the-first"}]
    plan = planned(path=dumbbell(access={"rate": "1gbit"}), flows=flows).plan
    assert [path.id for path in plan.paths] == ["path", "path-80ms"]
    assert [workload.path for workload in plan.workloads] == [0, 1, 0]
    (_, there, _), (_, other_there, other_back), _ = ways(dumbbell(access={"rate": "1gbit"}), flows)
    assert layout(there) == [("access", 0), ("delay", 10_000_000), ("bottleneck", 0)]
    assert layout(other_there) == [("access", 0), ("delay-80ms", 40_000_000), ("bottleneck", 0)]
    assert layout(other_back) == [("delay-80ms-reverse", 40_000_000), ("bottleneck-reverse", 0)]


def test_a_flow_without_any_delay_does_not_use_the_delay_of_the_others():
    (_, _, back), (_, _, own_back) = ways(dumbbell(reverse="none"), [{"cc": "reno"}, {"cc": "cubic", "rtt": "0s"}])
    assert layout(back) == [("delay-reverse", 10_000_000)]
    assert layout(own_back) == [("delay-0s-reverse", 0)]


def test_explicit_stages_are_taken_as_they_are():
    forward = [{"delay": "1ms", "rate": "1gbit"}, {"name": "q", "rate": "10mbit", "qdisc": QDISC, "delay": "4ms"}]
    ((base_rtt_ns, there, back),) = ways({"forward": forward, "reverse": [{"delay": "5ms"}]})
    assert layout(there) == [("delay-1", 1_000_000), ("q", 4_000_000)]
    assert layout(back) == [("delay-1-reverse", 5_000_000)]
    assert base_rtt_ns == 10_000_000


def stage(name, **more):
    return {"name": name, "rate": "10mbit", "qdisc": QDISC, **more}


@pytest.mark.parametrize(
    ("path", "forward", "reverse"),
    [
        # A stage may be called what a mirrored one would be.
        ({"forward": [stage("a"), stage("a-reverse")]}, ["a", "a-reverse"], ["a-reverse-2", "a-reverse-reverse"]),
        (
            {"forward": [stage("a"), stage("a-reverse"), stage("a-reverse-2")]},
            ["a", "a-reverse", "a-reverse-2"],
            ["a-reverse-3", "a-reverse-reverse", "a-reverse-2-reverse"],
        ),
        ({"forward": [stage("a-reverse")], "reverse": [stage("a")]}, ["a-reverse"], ["a-reverse-2"]),
        ({"forward": [stage("delay-reverse")], "reverse": "none"}, ["delay-reverse"], ["delay-reverse-2"]),
        # Stages with a name keep it; those without get what is left.
        ({"forward": [{"delay": "1ms"}, stage("delay-1")]}, ["delay-1-2", "delay-1"], ["delay-1-2-reverse", "delay-1-reverse"]),
    ],
)
def test_every_stage_has_an_id_of_its_own(path, forward, reverse):
    ((_, there, back),) = ways(path)
    assert [port.id for port in there] == forward
    assert [port.id for port in back] == reverse


def test_a_mirrored_stage_is_a_port_of_its_own():
    """ACKs pass a queue of their own, even if the data's queue already has the name of its mirror."""
    ((_, there, back),) = ways({"forward": [stage("a", qdisc={"kind": "pfifo", "limit": "7p"}), stage("a-reverse")]})
    assert not {id(port) for port in there} & {id(port) for port in back}
    assert [port.qdisc["limit_packets"] for port in back] == [7, 100]
    assert [port.name for port in back] == ["a", "a-reverse"]
    assert {port.direction for port in back} == {"reverse"}


def changed(path, **impairment):
    plan = planned(path={**path, "impairments": [{"kind": "outage", "at": "4s", "for": "100ms", **impairment}]}).plan
    return [plan.ports[change.port].id for change in plan.schedule]


@pytest.mark.parametrize(
    ("direction", "there", "mirrored"),
    [
        ("forward", ["a-reverse"], ["b"]),
        ("reverse", ["a-reverse-reverse"], ["b-reverse-2"]),
        ("both", ["a-reverse", "a-reverse-reverse"], ["b", "b-reverse-2"]),
    ],
)
def test_what_befalls_a_stage_is_found_by_the_stage(direction, there, mirrored):
    assert changed({"forward": [{"delay": "10ms"}, stage("a-reverse")]}, direction=direction) == there
    assert changed({"forward": [stage("b"), stage("b-reverse")]}, direction=direction, stage="b") == mirrored


def test_what_befalls_a_dumbbell_befalls_its_bottleneck():
    own = {"rate": "1mbit", "qdisc": QDISC}
    for path in (PATH, {**PATH, "reverse": own}):
        assert changed(path, direction="both") == ["bottleneck", "bottleneck-reverse"]
