"""A run is prepared once: planned, compiled, checked by its engine, and given its key."""

import copy
import pickle

import pytest
from support import PATH, resolved

from dumbbell.engines import sim
from dumbbell.plan import Place, Refusal
from dumbbell.running.prepare import prepare, refuse
from dumbbell.scenario import Scenario, ScenarioError


def key(**more):
    (prepared,) = prepare([resolved(**more)])
    return prepared.key


def test_what_the_key_depends_on():
    assert key() == key(name="other")
    others = [key(seed=2), key(sample="10ms"), key(duration="11s"), key(flows=[{"cc": "reno"}]), key(path={**PATH, "rtt": "21ms"})]
    assert len({key(), *others}) == 6


def test_the_default_engine_may_be_named():
    assert key() == key(engine="sim") != key(engine="sim", seed=2)


def test_every_unknown_engine_is_told(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\npath: {rtt: 2ms, bottleneck: {rate: 10mbit, qdisc: {kind: codel}}}\nflows: [{cc: cubik}]\nduration: 1s\n"
        "sweep:\n  engine: [sim, sum, ns3]\n"
    )
    with pytest.raises(ScenarioError) as error:
        prepare(Scenario.from_file(file).expand())
    lines = [str(problem) for problem in error.value.problems]
    assert len(lines) == 3
    assert lines[0].startswith(f"{file}:3: flows.0.cc: unknown cc 'cubik' (did you mean 'cubic'?)")
    expected = "expected one of sim, kernel, testbed"
    assert lines[1] == f"{file}:6: sweep.engine: 'sum' is unknown (did you mean 'sim'?); {expected} (in the cell engine: sum)"
    assert lines[2] == f"{file}:6: sweep.engine: 'ns3' is unknown; expected one of sim, kernel, testbed (in the cell engine: ns3)"


def test_the_key_depends_on_the_sources(monkeypatch):
    before = key()
    monkeypatch.setattr(sim.native(), "SOURCE_HASH", "0" * 64)
    assert key() != before


def test_a_run_is_planned_and_checked_once(monkeypatch):
    real, calls = sim.native().check, []
    monkeypatch.setattr(sim.native(), "check", lambda network: calls.append(network) or real(network))
    (prepared,) = prepare([resolved(duration="1s")])
    run = prepared.produce()
    assert calls == [prepared.compiled.text]
    assert run.plan == prepared.plan.plain()


def test_a_prepared_run_can_be_computed_by_another_process(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("name: s\npath: {forward: [{rate: 10mbit, qdisc: {kind: codel}, delay: 1ms}]}\nflows: [{cc: cubic}]\nduration: 1s\n")
    (prepared,) = prepare(Scenario.from_file(file).expand())
    copied = pickle.loads(pickle.dumps(prepared))
    assert copied.key == prepared.key
    assert copied.produce().digest == prepared.produce().digest
    refusal = Refusal(Place("port", 1), "qdisc.limit_packets", "0 packets", "at least 1")
    assert str(copied.planned.problem(copied.resolved, refusal)) == f"{file}:2: path.forward.0.qdisc: 0 packets; expected at least 1"


def test_the_kernel_engine_refuses_other_kernels():
    path = copy.deepcopy(PATH)
    path["bottleneck"]["qdisc"] = {"kind": "codel", "variant": "linux-3.10"}
    line = r"path\.bottleneck\.qdisc\.variant: the engine kernel has no qdiscs of other kernels; expected engine: sim"
    with pytest.raises(ScenarioError, match=line):
        refuse([resolved(path=path, engine="kernel")])


RED = {"kind": "red", "limit": "120kB", "min": "30kB", "max": "90kB"}


@pytest.mark.parametrize(
    ("qdisc", "key", "what"),
    [
        ({**RED, "adaptive": True}, "adaptive", "adaptive RED"),
        ({**RED, "gentle": True}, "gentle", "gentle RED"),
        ({"kind": "fq", "ce_threshold": "5ms"}, "ce_threshold", "ce_threshold of fq"),
        ({"kind": "netem", "delay": "5ms", "tick": "1ms"}, "tick", "tick of netem"),
    ],
)
def test_the_kernel_engine_refuses_what_would_not_be_what_is_asked_for(qdisc, key, what):
    path = copy.deepcopy(PATH)
    path["bottleneck"]["qdisc"] = qdisc
    with pytest.raises(ScenarioError, match=rf"qdisc\.{key}: the engine kernel has no {what}; expected engine: sim"):
        refuse([resolved(path=path, engine="kernel")])


def test_thresholds_that_the_kernel_cannot_count_are_refused():
    path = copy.deepcopy(PATH)
    path["bottleneck"]["qdisc"] = {**RED, "max": "5MB", "burst": "2000p"}
    line = r"path\.bottleneck\.qdisc\.max: 5000000 bytes with a burst of 2000 packets; expected at most \d+$"
    with pytest.raises(ScenarioError, match=line):
        refuse([resolved(path=path)])


def test_more_flows_than_a_guest_has_room_for_are_refused():
    with pytest.raises(ScenarioError, match=r"^flows: are 1001; expected at most 1000 in the engine kernel$"):
        refuse([resolved(flows=[{"cc": "cubic", "count": 1001}], engine="kernel")])


def test_a_cached_ssthresh_is_refused():
    flows = [{"cc": "cubic", "host": {"cached_ssthresh": "5p"}}]
    with pytest.raises(ScenarioError, match=r"flows\.0\.host\.cached_ssthresh: the engine kernel has no .*expected engine: sim"):
        refuse([resolved(flows=flows, engine="kernel")])


@pytest.mark.parametrize("name", ["sim", "kernel"])
def test_an_engine_prepares_what_names_another(name):
    assert prepare([resolved(engine=name)], on="sim")[0].engine == "sim"
