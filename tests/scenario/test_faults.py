"""Scenarios of links that lose, delay unevenly, reorder, duplicate and corrupt packets."""

import pytest
from support import planned, resolved

from dumbbell.running.prepare import refuse
from dumbbell.scenario import Scenario, ScenarioError, Share
from dumbbell.scenario.check import is_random

QUEUE = {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "100p"}}
CERTAIN = (1 << 32) - 1


def ports(delay, **more):
    path = {"rtt": "20ms", "bottleneck": QUEUE, "reverse": "none", "delay": delay, **more}
    return planned(path=path).plan.ports


def stage(**faults):
    """The plan of the faults of a stage."""
    path = {"forward": [{"delay": "10ms", **faults}, QUEUE], "reverse": "none"}
    return planned(path=path).plan.ports[0].faults


def share(text):
    return Share.parse(text).planned


def test_shares_are_those_of_netem():
    assert [share(text) for text in ("0%", "100%", "50%", "0.00001%")] == [0, CERTAIN, 1 << 31, 429]
    assert [str(Share.parse(text)) for text in ("1%", " .25 % ", "1e-5%", "100.0%")] == ["1%", "0.25%", "0.00001%", "100%"]
    assert Share.parse("1%") == Share.parse("1.0%") != Share.parse("2%")


@pytest.mark.parametrize("text", ["1", 1, 0.01, "101%", "-1%", "nan%", "%", "1e-99999%", "one%", "1%%", None, True])
def test_what_is_no_share(text):
    with pytest.raises(ValueError, match="expected a share such as 1%"):
        Share.parse(text)


def test_the_plan_has_every_fault():
    own = {"share": share("1%"), "correlation": 0}
    assert stage() is None
    assert stage(loss="1%") == {"loss": {"kind": "random", **own}}
    correlated = {"rate": "1%", "correlation": "25%"}
    assert stage(loss=correlated) == {"loss": {"kind": "random", "share": share("1%"), "correlation": share("25%")}}
    assert stage(loss={"bit_error_rate": 1e-8}) == {"loss": {"kind": "bit-errors", "rate": 1e-8}}
    assert stage(duplicate="1%", corrupt="1%") == {"duplicate": own, "corrupt": own}
    assert stage(reorder={"share": "1%", "gap": 5}) == {"reorder": {**own, "gap": 5}}
    jitter = {"deviation_ns": 2_000_000, "correlation": 0, "keep_order": False, "shape": "normal"}
    assert stage(jitter={"normal": "2ms"}) == {"jitter": jitter}


def test_a_value_alone_is_enough():
    assert stage(reorder="1%") == stage(reorder={"share": "1%"})
    assert stage(jitter="2ms") == stage(jitter={"uniform": "2ms"})


def test_the_defaults_of_gilbert_are_those_of_tc():
    p, r = share("1%"), share("30%")
    assert stage(gilbert={"p": "1%"})["loss"] == {"kind": "gilbert", "p": p, "r": CERTAIN - p, "h": 0, "one_minus_k": 0}
    full = {"p": "1%", "r": "30%", "one_minus_h": "70%", "one_minus_k": "1%"}
    assert stage(gilbert=full)["loss"] == {"kind": "gilbert", "p": p, "r": r, "h": CERTAIN - share("70%"), "one_minus_k": p}


def test_a_table_is_read_beside_the_scenario(tmp_path):
    (tmp_path / "mine.dist").write_text("# ours\n -8192 0\n8192\n")
    shape = stage(jitter={"table": str(tmp_path / "mine.dist"), "deviation": "1ms"})["jitter"]["shape"]
    assert shape == {"table": [-8192, 0, 8192]}


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"loss": "1%", "gilbert": {"p": "1%"}}, "gilbert: cannot be combined with loss"),
        ({"loss": 0.01}, "loss: 0.01 is no share; expected a share such as 1%"),
        ({"jitter": {"normal": "1ms", "pareto": "1ms"}}, "jitter: normal and pareto; expected one of"),
        ({"jitter": {"correlation": "1%"}}, "jitter: no distribution; expected one of"),
        ({"jitter": {"normal": "3s"}}, "jitter: a jitter of 3s is too long; expected at most 2s"),
        ({"jitter": {"table": "nowhere"}}, "cannot read nowhere"),
        ({"jitter": {"normal": "1ms", "deviation": "1ms"}}, "a deviation with normal"),
        ({"jitter": {"normal": "1ms"}, "delay": "0s"}, "jitter: needs a delay, which is 0s"),
        ({"reorder": {"share": "1%"}, "delay": "0s"}, "reorder: needs a delay, which is 0s"),
        ({"reorder": {"share": "1%", "gap": 0}}, "reorder.gap"),
        ({"loss": {"bit_error_rate": 2}}, "bit_error_rate"),
    ],
)
def test_what_contradicts_itself(faults, message):
    path = {"forward": [{"delay": "10ms", **faults}, QUEUE], "reverse": "none"}
    with pytest.raises(ScenarioError, match=message):
        Scenario(name="s", path=path, flows=[{"cc": "cubic"}], duration="1s").expand()


@pytest.mark.parametrize("where", ["before", "after", "ack-path"])
@pytest.mark.parametrize("ways", ["forward", "reverse", "both"])
def test_faults_of_a_dumbbell_are_in_the_directions_named(where, ways):
    found = ports({"where": where, "loss": "1%", "faults_in": ways, "extra": "1ms"}, reverse="mirror")
    directions = {port.direction for port in found if getattr(port, "faults", None)}
    assert directions == ({"forward", "reverse"} if ways == "both" else {ways})
    assert sum(getattr(port, "faults", None) is not None for port in found) == len(directions)


def test_losses_need_no_delay():
    found = ports({"where": "ack-path", "loss": "1%"})
    assert [port.faults is not None for port in found if port.direction == "forward" and hasattr(port, "faults")] == [True]


def test_mirrored_stages_have_the_same_faults():
    path = {"forward": [{"delay": "10ms", "loss": "1%"}, QUEUE]}
    faulty = [port.id for port in planned(path=path).plan.ports if getattr(port, "faults", None)]
    assert faulty == ["delay-1", "delay-1-reverse"]


def test_a_run_with_faults_depends_on_the_seed():
    for delay, random in ({"loss": "1%"}, True), ({"where": "after"}, False):
        path = {"rtt": "20ms", "bottleneck": QUEUE, "reverse": "none", "delay": delay}
        assert is_random(resolved(path=path).settings) is random


def test_engines_without_a_fault_refuse_it_by_name():
    path = {"rtt": "20ms", "bottleneck": QUEUE, "reverse": "none", "delay": {"loss": {"bit_error_rate": 1e-8}}}
    with pytest.raises(ScenarioError, match=r"path.delay.loss: the engine kernel has no bit errors; expected engine: sim"):
        refuse([resolved(path=path, engine="kernel")])
