"""The stages of a path: the order of delay, access line and queues."""

import pytest

from dumbbell.scenario import Scenario, flow_names, stages

QDISC = {"kind": "pfifo", "limit": "100p"}


def ways(path, flows=({"cc": "reno"},)):
    (run,) = Scenario.model_validate({"name": "s", "path": path, "flows": list(flows), "duration": "10s"}).expand()
    return [stages(run.settings.path, run.settings.flows, flow) for flow in run.settings.flows]


def layout(direction):
    return [(stage.name, int(stage.delay)) for stage in direction]


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
def test_the_position_of_the_delay(delay, forward, reverse):
    (way,) = ways(dumbbell(delay=delay))
    assert layout(way.forward) == forward
    assert layout(way.reverse) == reverse
    assert way.base_rtt_ns == 20_000_000


@pytest.mark.parametrize("where", ["before", "after", "ack-path"])
def test_the_delays_add_up_to_the_base_rtt_and_the_extra(where):
    (way,) = ways(dumbbell(rtt="20.000001ms", delay={"where": where, "extra": "300us"}))
    assert sum(int(stage.delay) for stage in way.forward + way.reverse) == 20_000_001 + 2 * 300_000


@pytest.mark.parametrize("where", ["before", "after", "ack-path"])
@pytest.mark.parametrize("limit", [None, "1000p"])
def test_the_access_line_is_the_first_thing_that_data_meets(where, limit):
    (way,) = ways(dumbbell(access={"rate": "1gbit"}, delay={"where": where, "limit": limit}))
    assert way.forward[0].rate == 10**9
    assert [stage.rate for stage in way.reverse if stage.name.startswith(("delay", "access"))] in ([None], [])


def test_no_reverse_bottleneck():
    (way,) = ways(dumbbell(reverse="none"))
    assert layout(way.reverse) == [("delay-reverse", 10_000_000)]


def test_the_mirror_has_the_same_queue():
    (way,) = ways(dumbbell())
    assert way.reverse[-1].qdisc == way.forward[-1].qdisc
    assert way.reverse[-1].rate == way.forward[-1].rate


def test_a_reverse_bottleneck_of_its_own():
    (way,) = ways(dumbbell(reverse={"rate": "1mbit", "qdisc": {"kind": "pfifo", "limit": "7p"}}))
    assert way.reverse[-1].rate == 10**6


def test_without_delay_there_is_no_delay_stage():
    (way,) = ways(dumbbell(rtt="0s"))
    assert layout(way.forward) == [("bottleneck", 0)]
    assert layout(way.reverse) == [("bottleneck-reverse", 0)]


@pytest.mark.parametrize("path", [dumbbell(rtt="0s", reverse="none"), {"forward": [{"rate": "1gbit"}], "reverse": "none"}])
def test_a_direction_without_anything_is_a_wire(path):
    (way,) = ways(path)
    assert layout(way.reverse) == [("delay-reverse", 0)]


def test_flows_with_another_rtt_share_the_access_line_and_the_bottleneck():
    own, other = ways(dumbbell(access={"rate": "1gbit"}), [{"cc": "reno"}, {"cc": "cubic", "rtt": "80ms"}])
    assert layout(own.forward) == [("access", 0), ("delay", 10_000_000), ("bottleneck", 0)]
    assert layout(other.forward) == [("access", 0), ("delay-80ms", 40_000_000), ("bottleneck", 0)]
    assert own.forward[0] == other.forward[0]
    assert own.forward[2] == other.forward[2]
    assert layout(other.reverse) == [("delay-80ms-reverse", 40_000_000), ("bottleneck-reverse", 0)]


def test_explicit_stages_are_not_changed():
    forward = [{"delay": "1ms", "rate": "1gbit"}, {"name": "q", "rate": "10mbit", "qdisc": QDISC, "delay": "4ms"}]
    (way,) = ways({"forward": forward, "reverse": [{"delay": "5ms"}]})
    assert layout(way.forward) == [("delay-1", 1_000_000), ("q", 4_000_000)]
    assert layout(way.reverse) == [("delay-1-reverse", 5_000_000)]
    assert way.base_rtt_ns == 10_000_000


def test_flows_with_the_same_name_are_numbered():
    flows = [{"cc": "reno", "count": 2}, {"cc": "cubic"}, {"cc": "reno"}, {"cc": "cubic", "name": "late"}]
    parsed = Scenario.model_validate({"name": "s", "path": dumbbell(), "flows": flows, "duration": "10s"}).flows
    assert flow_names(parsed) == [["reno-1", "reno-2"], ["cubic"], ["reno-3"], ["late"]]
