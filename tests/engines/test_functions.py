"""Congestion controls written in Python, called once a round trip."""

import traceback

import pytest

import dumbbell
from dumbbell import Scenario
from dumbbell.errors import BadInput, ControlFailed
from dumbbell.executor.processes import Processes
from dumbbell.scenario import ScenarioError
from dumbbell.scenario.function import control

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}


def scenario(cc, **more):
    return Scenario(**{"name": "rounds", "path": PATH, "flows": [{"name": "f", "cc": cc}], "duration": "5s", **more})


def only(cc, **more):
    (found,) = dumbbell.run(scenario(cc, **more), workers=1)
    return found


def test_a_constant_window_gives_its_rate():
    run = only(control(lambda _: 20), path={"rtt": "100ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "100p"}}})
    (row,) = run.flows.rows()
    assert run.status == "ok"
    assert row["rx_bytes"] / 5 == pytest.approx(20 * 1448 / 0.1, rel=0.06)


def test_additive_increase_from_rounds_fills_the_bottleneck_and_answers_to_losses():
    rounds = []

    @control
    def aimd(r):
        rounds.append(r)
        return max(r.cwnd / 2, 2) if r.lost else r.cwnd + 1

    run = only(aimd, duration="30s")
    (row,) = run.flows.rows()
    assert row["cc"] == "aimd.py"
    assert row["rx_bytes"] * 8 / 30e6 > 0.8 * 20 * 1448 / 1514
    assert sum(r.lost for r in rounds) >= row["retransmits"] > 0
    assert sum(r.delivered for r in rounds) == pytest.approx(row["delivered"], rel=0.01)
    # Once a round trip: each takes as long as its RTT, which is the path's or more.
    assert all(r.elapsed_s >= 0.039 for r in rounds[2:])
    assert 30 / 0.085 < len(rounds) < 30 / 0.039
    assert {"open", "recovery"} <= {r.state for r in rounds}
    assert all(0.039 < r.min_rtt_s <= (r.rtt_s or 1) for r in rounds[2:])


def test_each_connection_has_its_own_object_and_marks_are_told():
    made = []

    @control
    class Marks:
        def __init__(self):
            self.marked = 0
            made.append(self)

        def __call__(self, r):
            self.marked += r.marked
            return max(r.cwnd * 0.8, 2) if r.marked else r.cwnd + 1

    codel = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "codel", "ecn": True}}}
    run = only(Marks, path=codel, flows=[{"cc": Marks, "ecn": True, "count": 2}])
    assert run.status == "ok"
    marked = [each.marked for each in made if each.marked]
    assert len(marked) == 2
    assert sum(marked) <= sum(row["delivered_ce"] for row in run.flows.rows())


def test_a_rate_paces_and_needs_to_be_announced():
    @control(paced=True, name="rate")
    def paced(_):
        return 1000, 8e6

    (row,) = only(paced).flows.rows()
    assert row["rx_bytes"] * 8 / 5 == pytest.approx(8e6 * 1448 / 1514, rel=0.05)
    with pytest.raises(ControlFailed) as error:
        only(control(name="silent")(lambda _: (10, 8e6)))
    reason = str(error.value)
    assert reason.startswith("the congestion control silent.py returned a rate of 8000000 bit/s at 0.")
    assert "expected none, or dumbbell.control(paced=True)" in reason


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda _: 0, "returned a window of 0 segments"),
        (lambda _: -3.5, "returned a window of -3.5 segments"),
        (lambda _: float("nan"), "returned a window of NaN segments"),
        (lambda _: 1e9, "returned a window of 1000000000 segments"),
        (lambda _: "wide", "raised TypeError"),
        (lambda _: (1, 2, 3), "raised ValueError"),
    ],
)
def test_nonsense_is_one_clear_error_that_says_where_the_function_is(answer, what):
    with pytest.raises(ControlFailed) as error:
        only(control(answer))
    reason = str(error.value)
    assert reason.startswith(f"the congestion control lambda.py {what}"), reason
    assert " s (connection 0); expected " in reason
    assert reason.endswith(f"(defined at {__file__}:{answer.__code__.co_firstlineno})")
    assert "\n" not in reason


def test_what_a_function_raises_is_raised_with_its_own_traceback():
    @control
    def divides(r):
        return r.cwnd / (r.lost - r.lost)

    with pytest.raises(ControlFailed) as error:
        only(divides)
    line = divides.make().__code__.co_firstlineno + 2
    assert str(error.value) == f"the congestion control divides.py raised ZeroDivisionError: division by zero ({__file__}, line {line})"
    last = traceback.extract_tb(error.value.__cause__.__traceback__)[-1]
    assert (last.filename, last.lineno, last.name) == (__file__, line, "divides")


def test_what_making_an_object_raises_is_raised_too_and_the_cell_is_named():
    @control
    class Broken:
        def __init__(self):
            raise RuntimeError("no such table")

        def __call__(self, r):
            return r.cwnd

    with pytest.raises(
        ControlFailed, match=r"^flows.0.cc: Broken.py: the congestion control Broken.py raised RuntimeError: no such table \("
    ) as error:
        dumbbell.run(scenario("cubic", sweep={"flows.0.cc": ["cubic", Broken]}))
    assert isinstance(error.value.__cause__, RuntimeError)


def test_none_leaves_the_window():
    seen = []
    run = only(control(lambda r: seen.append(r.cwnd)))
    assert run.status == "ok"
    assert set(seen) == {10}


def test_runs_are_not_stored_and_two_of_a_name_are_two(tmp_path):
    first, second = control(lambda _: 10), control(lambda _: 20)
    with pytest.raises(BadInput, match=r"lambda\.py: runs with congestion controls in Python are not stored"):
        dumbbell.run(scenario(first), out=tmp_path / "out")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").rglob("run.json"))
    swept = scenario(first, sweep={"flows.0.cc": [first, second, "cubic"]})
    runs = dumbbell.run(swept)
    assert len({run.key for run in runs}) == 3
    windows = [run.series("flow/f", "cwnd")[1][-1] for run in runs]
    assert windows[:2] == [10, 20]
    assert [run.cell["flows.0.cc"] for run in runs] == ["lambda.py 1", "lambda.py 2", "cubic"]
    named = scenario(first, sweep={"flows.0.cc": [control(name="ten")(lambda _: 10), "cubic"]})
    assert [run.cell["flows.0.cc"] for run in dumbbell.run(named)] == ["ten.py", "cubic"]


def test_what_cannot_call_it_says_so():
    own = control(lambda _: 10)
    with pytest.raises(BadInput, match="not of this process"):
        dumbbell.run(scenario(own), executor=Processes(1))
    with pytest.raises(ScenarioError, match="the engine kernel has no congestion controls of one's own; expected engine: sim"):
        dumbbell.run(scenario(own, engine="kernel"))
    with pytest.raises(ScenarioError, match="the function is not of this process"):
        Scenario.from_text(
            "name: x\npath: {rtt: 1ms, bottleneck: {rate: 1mbit, qdisc: pfifo}}\nflows: [{cc: {function: 99999}}]\nduration: 1s\n"
        )
    with pytest.raises(TypeError, match="cannot be called"):
        control(3)
