"""The engine on this machine, as far as it needs no machine."""

import platform

import pytest
from support import resolved

from dumbbell.engines import engine
from dumbbell.running.cost import estimate
from dumbbell.running.prepare import prepare
from dumbbell.scenario import ScenarioError

OWN = [{"cc": "cubic", "stack": {"base": "host"}}]


@pytest.fixture
def testbed():
    return engine("testbed")


def test_it_is_not_the_same_twice_and_takes_as_long_as_it_lasts(testbed):
    assert testbed.in_real_time
    runs = prepare([resolved(flows=OWN, duration="10s"), resolved(flows=OWN, duration="20s")], on=testbed.name)
    assert estimate(runs, workers=4).wall_s == pytest.approx(36, abs=0.1)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"flows": [{"cc": "cubic", "stack": "linux-2.6"}]}, "flows.0.stack.base: the engine testbed has no stack 'linux-2.6'"),
        ({"flows": OWN, "sample": "5ms"}, "sample: 5ms is shorter than a machine keeps; expected at least 10ms"),
        ({"flows": [{"cc": "fast", "stack": {"base": "host"}}]}, "flows.0.cc.kind: the engine testbed has no cc 'fast'"),
    ],
)
def test_what_a_machine_cannot_be_is_refused_by_name(testbed, more, told):
    with pytest.raises(ScenarioError) as error:
        prepare([resolved(**more)], on=testbed.name)
    assert told in str(error.value)


def test_the_stack_is_that_of_the_machine(testbed, monkeypatch):
    monkeypatch.setattr(platform, "release", lambda: "6.18.5-generic")
    with pytest.raises(ScenarioError) as error:
        prepare([resolved(flows=[{"cc": "cubic"}])], on=testbed.name)
    what = "'linux-6.12' is not the stack of this machine, whose kernel is 6.18.5-generic"
    assert f"{what}; expected stack: {{base: host}}, or engine: sim" in str(error.value)
    monkeypatch.setattr(platform, "release", lambda: "6.12.117")
    prepare([resolved(flows=[{"cc": "cubic"}])], on=testbed.name)


def test_the_script_keeps_what_is_of_the_whole_machine(testbed):
    (run,) = prepare([resolved(flows=OWN)], on=testbed.name)
    script = run.compiled.files["script"]
    assert "sysctl init" not in script
    ends = [line for line in script.splitlines() if line.startswith("end ")]
    assert [line.split()[1] for line in ends] == ["l0", "r0"]
    assert all(line.endswith("egress protocol ip prio 65535 flower ip_proto tcp action drop") for line in ends)
