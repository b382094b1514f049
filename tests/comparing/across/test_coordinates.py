"""Runs of several folders have the same coordinates, whichever folder sweeps them."""

import pytest
from across import outline, sweep

from dumbbell.comparing.across.coordinates import RunSet, completed
from dumbbell.comparing.across.questions import Asked, settle
from dumbbell.comparing.across.tables import repeats_table
from dumbbell.errors import DamagedRun, DamagedRunWarning

FLOWS = [("a", "a", "reno", "forward", 5.0)]


class Whole:
    """The part of a run that is looked at."""

    def __init__(self, scenario):
        self.scenario = scenario


def folder(label, *runs, engine="sim"):
    """Runs from (cell, scenario)."""
    outlines = [outline({**cell, "seed": seed}, FLOWS, engine=engine) for seed, (cell, _) in enumerate(runs)]
    whole = {id(each): Whole(scenario) for each, (_, scenario) in zip(outlines, runs, strict=True)}
    return RunSet(label, outlines, lambda each: whole[id(each)])


def of_queue(label, *queues):
    return folder(label, *((({"qdisc": name} if name else {}), {"qdisc": scenario}) for name, scenario in queues))


def values(sources, key):
    return [cell[key] for source in completed(sources) for cell in source.cells]


def test_a_key_that_one_folder_sweeps_is_of_the_scenario_in_another():
    swept = folder("a", *(({"path.rtt": rtt}, {"path": {"rtt": rtt}}) for rtt in ("10ms", "20ms")))
    fixed = folder("b", ({}, {"path": {"rtt": "80ms"}}), ({}, {"path": {"rtt": "80ms"}}))
    found = settle(Asked(x="rtt", y=("goodput",)), [swept, fixed])
    assert found.keys["path.rtt"] == ["10ms", "20ms", "80ms"]
    assert found.by == ("folder",)
    assert [row[1] for row in repeats_table([swept, fixed], "t").fields] == ["10ms", "20ms", "80ms"]


def test_scenarios_are_only_read_where_a_key_lacks():
    def nobody(_):
        raise AssertionError("a run was read")

    assert completed([RunSet("a", sweep().runs, nobody), RunSet("b", sweep().runs, nobody)])


def test_equal_quantities_are_one_value():
    sources = [folder("a", ({"rtt": "20ms"}, {})), folder("b", ({"rtt": "0.02s"}, {})), folder("c", ({}, {"rtt": "20000us"}))]
    assert values(sources, "rtt") == ["20ms", "20ms", "20ms"]
    assert values([folder("a", ({"version": "6.1"}, {}), ({"version": "6.10"}, {}))], "version") == ["6.1", "6.10"]


def test_a_queue_is_called_as_the_sweep_calls_it():
    codel = {"kind": "fq_codel", "limit": "10240p", "target": "5ms"}
    pfifo = {"kind": "pfifo", "limit": "100p"}
    swept = of_queue("a", ("fq_codel", codel), ("pfifo limit=100p", pfifo))
    assert values([swept, of_queue("b", ("", codel))], "qdisc")[2:] == ["fq_codel"]
    assert values([swept, of_queue("b", ("", {**codel, "target": "1ms"}))], "qdisc")[2:] == ["fq_codel target=1ms"]
    assert values([swept, of_queue("b", ("", {"kind": "pie", "limit": "1000p"}))], "qdisc")[2:] == ["pie"]


@pytest.mark.parametrize(
    ("key", "scenario", "engine", "value"),
    [
        ("flows.1.cc", {"flows": [{"cc": "reno"}]}, "sim", "none"),
        ("flows.1.cc", {"flows": [{"flow": "a"}]}, "import", "unknown"),
        ("flows.*.cc", {"flows": [{"cc": "reno"}, {"cc": "reno"}]}, "sim", "reno"),
        ("flows.*.cc", {"flows": [{"cc": "reno"}, {"cc": "cubic"}]}, "sim", "reno cubic"),
        ("flows.0.ecn", {"flows": [{"ecn": None}]}, "sim", "none"),
        ("flows.0.count", {"flows": [{"count": 3}]}, "sim", 3),
    ],
)
def test_what_a_scenario_has_at_a_key(key, scenario, engine, value):
    assert values([folder("a", ({key: "x"}, {})), folder("b", ({}, scenario), engine=engine)], key)[1] == value


def test_the_coordinate_of_a_damaged_run_is_unknown():
    def damaged(_):
        raise DamagedRun("run.json: cannot be read", "0")

    sources = [folder("a", ({"rtt": "1ms"}, {"rtt": "1ms"})), RunSet("b", [outline({}, FLOWS)], damaged)]
    with pytest.warns(DamagedRunWarning):
        assert values(sources, "rtt") == ["1ms", "unknown"]
