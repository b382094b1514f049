"""Sweeps and seeds: the runs of a scenario."""

import math
from fractions import Fraction

import pytest

from dumbbell.scenario import Range, Scenario, ScenarioError


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


SPACE = {
    "path.rtt": {"from": "10ms", "to": "300ms", "scale": "log"},
    "path.bottleneck.rate": {"from": "1mbit", "to": "100mbit", "scale": "log", "step": "100kbit"},
    "flows.0.cc": ["cubic", "bbr"],
    "path.bottleneck.qdisc.limit": {"from": "0.5bdp", "to": "4bdp"},
}


def cells(method, count, over=SPACE, **more):
    return [run.cell for run in scenario(sweep={"sample": {"method": method, "count": count, "over": over, **more}}).expand()]


def test_points_are_the_same_on_every_machine():
    """Written down, so that neither another library nor another processor changes them unseen."""
    assert list(cells("random", 1)[0].values()) == ["58.128526ms", "3.2mbit", "cubic", "2.57981bdp"]
    assert [list(cell.values()) for cell in cells("sobol", 2)] == [
        ["23.187139ms", "26.6mbit", "cubic", "0.626525bdp"],
        ["127.001194ms", "2.6mbit", "bbr", "2.37652bdp"],
    ]
    assert list(cells("latin", 16)[0].values()) == ["205.37759ms", "20.6mbit", "cubic", "1.48278bdp"]


@pytest.mark.parametrize("method", ["random", "sobol"])
def test_more_points_begin_with_the_same(method):
    assert cells(method, 100)[:37] == cells(method, 37)


@pytest.mark.parametrize("method", ["random", "sobol", "latin"])
def test_a_further_key_leaves_the_values_of_the_others(method):
    fewer = dict(list(SPACE.items())[:3])
    assert [{key: cell[key] for key in fewer} for cell in cells(method, 8)] == cells(method, 8, fewer)


@pytest.mark.parametrize("method", ["random", "sobol", "latin"])
def test_points_depend_on_the_seed(method):
    assert cells(method, 8, seed=1) == cells(method, 8) != cells(method, 8, seed=2)


@pytest.mark.parametrize("method", ["sobol", "latin"])
def test_each_key_has_a_value_in_each_part_of_its_range(method):
    """Each 64th of a range has one of 64 points, on the scale of the range. Each value of a list comes equally often."""
    found = cells(method, 64)
    for key, low, high in (("path.rtt", 10e6, 300e6), ("path.bottleneck.rate", 1e6, 100.1e6)):
        settings = scenario(sweep={"cells": found}).expand()
        values = [run.settings.path.rtt if key == "path.rtt" else run.settings.path.bottleneck.rate for run in settings]
        assert all(low <= value <= high for value in values)
        places = [64 * math.log(value / low) / math.log(high / low) for value in values]
        # The rate is rounded down to whole steps, so that a place may be one too low.
        assert all(abs(place - i) <= 2 for i, place in enumerate(sorted(places)))
    assert [cell["flows.0.cc"] for cell in found].count("bbr") == 32


def test_two_keys_of_sobol_are_even_together():
    """Each of 8 by 8 squares has one of 64 points. With random points some squares have several."""
    over = {"path.rtt": {"from": "0ms", "to": "80ms"}, "path.delay.extra": {"from": "0ms", "to": "80ms"}}
    squares = {
        tuple(value // 10**7 for value in (run.settings.path.rtt, run.settings.path.delay.extra))
        for run in scenario(sweep={"sample": {"method": "sobol", "count": 64, "over": over}}).expand()
    }
    assert len(squares) == 64


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ({"from": 1, "to": 4}, [1, 2, 3, 4]),
        ({"from": 1, "to": 8, "step": 3}, [1, 4, 7]),
        ({"from": "1kB", "to": "3kB", "step": "500B"}, ["1kB", "1.5kB", "2kB", "2.5kB", "3kB"]),
        ({"from": "998p", "to": "1000p", "scale": "log"}, ["998p", "999p", "1000p"]),
        ({"from": "0%", "to": "1%", "step": "0.5%"}, ["0%", "0.5%", "1%"]),
    ],
)
def test_values_are_whole_steps_from_the_first_to_the_last(written, known):
    values = Range.model_validate(written)
    assert values.steps == len(known)
    assert list(dict.fromkeys(values.at(Fraction(i, 100)) for i in range(100))) == known


def test_what_is_not_whole_has_six_digits():
    assert Range.model_validate({"from": 0, "to": 1.5}).at(Fraction(1, 7)) == 0.214286
    assert Range.model_validate({"from": "0.01%", "to": "1%", "scale": "log"}).at(Fraction(1, 2)) == "0.1%"
    assert Range.model_validate({"from": 1, "to": 2}).at(Fraction(99, 100)) == 2


def test_all_of_a_small_space_can_be_drawn():
    over = {"flows.0.cc": ["reno", "cubic"], "flows.1.count": {"from": 1, "to": 3}}
    for method in ("random", "sobol"):
        assert len({tuple(cell.values()) for cell in cells(method, 6, over)}) == 6
    with pytest.raises(ValueError, match="sample: 7 of 6 cells; expected a count of at most 6"):
        cells("sobol", 7, over)


def test_a_sample_is_read_back():
    first = scenario(sweep={"sample": {"method": "latin", "count": 4, "over": SPACE}})
    assert first.dump()["sweep"]["sample"]["over"] == SPACE
    assert Scenario.model_validate(first.dump()).expand() == first.expand()


def test_repeats_are_seeds():
    start = {"jitter": "100ms"}
    runs = scenario(flows=[{"cc": "reno", "start": start}], seed=7, repeat=3).expand()
    assert [run.cell for run in runs] == [{"seed": 7}, {"seed": 8}, {"seed": 9}]
    assert [run.seed for run in runs] == [7, 8, 9]


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
