"""Plans that are odd whatever engine runs them."""

import pytest

import dumbbell
from dumbbell import Scenario


def reasons(path, **more):
    (run,) = dumbbell.run(Scenario(**{"name": "s", "path": path, "flows": [{"cc": "reno"}], "duration": "1s", **more}))
    assert run.status == ("warn" if run.reasons else "ok")
    return run.reasons


@pytest.mark.parametrize(
    ("qdisc", "rtt", "rate"),
    [
        ({"kind": "pfifo", "limit": "1bdp"}, "0ms", "10mbit"),
        ({"kind": "pfifo", "limit": "0.001bdp"}, "20ms", "10mbit"),
        ({"kind": "bfifo", "limit": "0.001bdp"}, "20ms", "10mbit"),
        ({"kind": "codel", "limit": "0.5bdp"}, "1ms", "10mbit"),
    ],
)
def test_a_limit_in_bdp_that_is_one_packet_is_pointed_out(qdisc, rtt, rate):
    (reason,) = reasons({"rtt": rtt, "bottleneck": {"rate": rate, "qdisc": qdisc}})
    assert reason == (
        f"port/bottleneck and port/bottleneck-reverse: path.bottleneck.qdisc.limit: {qdisc['limit']} is a queue of one packet here; "
        "expected a longer rtt, more bdp, or 1p if you mean it"
    )


@pytest.mark.parametrize("limit", ["1p", "1bdp"])
def test_one_packet_that_was_asked_for_and_two_of_them_are_not(limit):
    assert reasons({"rtt": "2ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": limit}}}) == ()


def test_each_stage_of_several_paths_is_looked_at():
    queue = {"rate": "10mbit", "delay": "5ms", "qdisc": {"kind": "pfifo", "limit": "20p"}}
    stages = {"a": queue, "b": {**queue, "qdisc": {"kind": "pfifo", "limit": "0.01bdp"}}}
    found = reasons({}, stages=stages, paths={"p": {"forward": ["a", "b"]}}, flows=[{"cc": "reno", "path": "p"}])
    assert [reason.partition(" is a")[0] for reason in found] == ["port/b and port/b-reverse: stages.b.qdisc.limit: 0.01bdp"]


def test_a_sweep_warns_of_the_cells_that_have_it():
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}
    runs = dumbbell.run(
        Scenario(name="s", path=path, flows=[{"cc": "reno"}], duration="1s", sweep={"path.bottleneck.qdisc.limit": ["1bdp", "0.001bdp"]})
    )
    assert [run.status for run in runs] == ["ok", "warn"]
