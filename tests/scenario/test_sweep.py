"""Sweeps and repeats: the runs of a scenario."""

import pytest

from dumbbell.scenario import Scenario, ScenarioError


def scenario(**more):
    return Scenario.model_validate(
        {
            "name": "s",
            "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
            "flows": [{"cc": "reno"}, {"cc": "cubic"}],
            "duration": "10s",
            **more,
        }
    )


def test_without_a_sweep_there_is_one_run():
    (run,) = scenario().expand()
    assert run.cell == {}
    assert run.seed == 1


def test_a_grid_is_the_product_with_the_first_key_slowest():
    runs = scenario(sweep={"path.rtt": ["10ms", "20ms"], "flows.0.cc": ["reno", "cubic", "dctcp"]}).expand()
    assert [tuple(run.cell.values()) for run in runs] == [
        ("10ms", "reno"),
        ("10ms", "cubic"),
        ("10ms", "dctcp"),
        ("20ms", "reno"),
        ("20ms", "cubic"),
        ("20ms", "dctcp"),
    ]
    assert [run.settings.path.rtt for run in runs] == [10_000_000] * 3 + [20_000_000] * 3
    assert [run.settings.flows[0].cc.kind for run in runs] == ["reno", "cubic", "dctcp"] * 2


def test_a_star_means_every_entry():
    (run,) = scenario(sweep={"flows.*.cc": ["dctcp"]}).expand()
    assert [flow.cc.kind for flow in run.settings.flows] == ["dctcp", "dctcp"]


def test_zip_walks_side_by_side():
    runs = scenario(sweep={"zip": {"path.rtt": ["10ms", "20ms"], "seed": [3, 4]}}).expand()
    assert [tuple(run.cell.values()) for run in runs] == [("10ms", 3), ("20ms", 4)]
    assert [run.seed for run in runs] == [3, 4]


def test_cells_are_not_multiplied():
    runs = scenario(sweep={"cells": [{"path.rtt": "5ms"}, {"flows.0.cc": "dctcp", "path.rtt": "7ms"}]}).expand()
    assert [run.cell for run in runs] == [{"path.rtt": "5ms"}, {"flows.0.cc": "dctcp", "path.rtt": "7ms"}]


def test_forms_multiply():
    runs = scenario(sweep={"path.rtt": ["1ms", "2ms"], "cells": [{"seed": 5}, {"seed": 6}], "zip": {"sample": ["1s", "2s"]}}).expand()
    assert len(runs) == 8


def test_samples_differ_and_depend_on_the_seed_alone():
    over = {"path.rtt": [f"{n}ms" for n in range(1, 40)], "flows.0.cc": ["reno", "cubic", "dctcp"]}

    def drawn(**sample):
        return [tuple(run.cell.values()) for run in scenario(sweep={"sample": {"over": over, **sample}}).expand()]

    assert len(set(drawn(count=20, seed=1))) == 20
    assert drawn(count=20, seed=1)[:10] == drawn(count=10, seed=1)
    assert drawn(count=20, seed=1) != drawn(count=20, seed=2)
    assert set(drawn(count=117, seed=1)) == {(rtt, cc) for rtt in over["path.rtt"] for cc in over["flows.0.cc"]}


def test_another_sampled_key_does_not_shift_the_draws():
    rtts = [f"{n}ms" for n in range(1, 1000)]
    alone = scenario(sweep={"sample": {"count": 20, "over": {"path.rtt": rtts}}}).expand()
    beside = scenario(sweep={"sample": {"count": 20, "over": {"path.rtt": rtts, "seed": [1, 2, 3]}}}).expand()
    assert [run.cell["path.rtt"] for run in alone] == [run.cell["path.rtt"] for run in beside]


def test_repeats_are_seeds():
    start = {"jitter": "100ms"}
    runs = scenario(flows=[{"cc": "reno", "start": start}], seed=7, repeat=3).expand()
    assert [run.cell for run in runs] == [{"seed": 7}, {"seed": 8}, {"seed": 9}]
    assert [run.seed for run in runs] == [7, 8, 9]


def test_repeats_that_could_not_differ_are_refused():
    with pytest.raises(ScenarioError, match=r"repeat: 3 runs would be identical; expected start.jitter"):
        scenario(repeat=3).expand()


def test_cells_that_are_the_same_run_are_refused():
    with pytest.raises(ScenarioError, match="are the same run"):
        scenario(sweep={"path.rtt": ["1s", "1000ms"]}).expand()


def test_a_swept_mapping_makes_a_readable_coordinate():
    qdiscs = [{"kind": "pfifo", "limit": "180p"}, {"kind": "cake", "sce": True}]
    runs = scenario(sweep={"path.bottleneck.qdisc": qdiscs}).expand()
    assert [run.cell["path.bottleneck.qdisc"] for run in runs] == ["pfifo limit=180p", "cake sce=true"]


def test_a_sweep_may_set_a_field_that_the_file_leaves_out():
    (run,) = scenario(sweep={"path.delay.extra": ["300us"]}).expand()
    assert run.settings.path.delay.extra == 300_000


def test_a_written_scenario_is_read_back():
    first = scenario(sweep={"path.rtt": ["1ms", "2ms"], "zip": {"seed": [1, 2]}}, sample="50ms")
    again = Scenario.model_validate(first.dump())
    assert again.expand() == first.expand()
    assert again.dump() == first.dump()


def test_a_stack_with_options_is_read_back():
    first = scenario(flows=[{"cc": "reno", "stack": {"base": "linux-6.12", "initial_window": 4}}])
    assert first.flows[0].stack.options == {"initial_window": 4}
    assert Scenario.model_validate(first.dump()).expand() == first.expand()
