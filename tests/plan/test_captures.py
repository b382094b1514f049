"""Places where packets are captured."""

import pytest
from support import PATH, planned

from dumbbell.engines.linux import SCRIPT, compile_plan, point_conflicts
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario, ScenarioError

WRITTEN = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 100p}}}
flows: [{cc: cubic}]
hosts: {left: {egress: {rate: 20mbit, qdisc: {kind: pfifo, limit: 100p}}}}
duration: 1s
capture: CAPTURE
"""
PORTS = "expected one of hosts, delay, bottleneck, delay-reverse, bottleneck-reverse"


def point_names(capture, **more):
    plan = planned("sim", capture=capture, **more).plan
    return [[plan.ports[port].id for port in ports] for ports in plan.captured_ports]


def test_a_point_is_a_port_with_the_one_that_mirrors_it():
    assert point_names(False) == point_names(True) == point_names(["hosts"]) == []
    assert point_names(["bottleneck"]) == [["bottleneck", "bottleneck-reverse"]]
    assert point_names(["hosts", "delay-reverse"]) == [["delay-reverse", "delay"]]
    assert point_names(["bottleneck"], path={**PATH, "reverse": "none"}) == [["bottleneck"]]


def test_only_what_is_asked_for_is_in_the_plan():
    assert "captured_ports" not in planned("sim", capture=True).plan.plain()
    plan = planned("sim", capture=["bottleneck"]).plan
    assert (plan.capture, plan.captures) == (False, True)


@pytest.mark.parametrize(
    ("capture", "told"),
    [
        ("[bottelneck]", f"a.yaml:6: capture.0: there is no port 'bottelneck' (did you mean 'bottleneck'?); {PORTS}"),
        ("[left-egress]", f"a.yaml:6: capture.0: there is no port 'left-egress'; {PORTS}"),
        (
            "[bottleneck, bottleneck-reverse]",
            "a.yaml:6: capture.1: the capture at 'bottleneck' has the packets of 'bottleneck-reverse' too; expected each of them once",
        ),
        (
            "bottleneck",
            "a.yaml:6: capture: 'bottleneck' is no place to capture at; expected true (the hosts), false, or a list of hosts and ports",
        ),
        ("[]", "a.yaml:6: capture: this is no place to capture at; expected true (the hosts), false, or a list of hosts and ports"),
    ],
)
def test_a_point_that_there_is_not_is_refused_with_its_line(capture, told):

    with pytest.raises(ScenarioError) as error:
        prepare(Scenario.from_text(WRITTEN.replace("CAPTURE", capture), "a.yaml").expand(), on="sim")
    assert str(error.value).splitlines() == [told]


def test_linux_captures_where_packets_come_out():
    compiled = compile_plan(planned("kernel", capture=["hosts", "bottleneck"]).plan)
    assert compiled.captures == ("left.pcap", "right.pcap", "port-bottleneck.pcap")
    ports = compiled.metadata["ports"]
    ends = [f"q{ports[name][1:]}" for name in ("bottleneck", "bottleneck-reverse")]
    assert f"capture net port-bottleneck.pcap {' '.join(ends)}\n" in compiled.files[SCRIPT]


def test_a_capture_before_an_outage_is_refused_by_linux():
    outage = [{"kind": "outage", "at": "1s", "for": "100ms"}]
    path = {**PATH, "impairments": outage}
    (refusal,) = point_conflicts(planned("kernel", capture=["bottleneck"], path=path).plan)
    assert refusal.field == "capture"
