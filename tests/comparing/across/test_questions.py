"""dumbbell chooses what the user left open, and prints an error in a line if it cannot."""

from dataclasses import replace

import pytest
from across import outline, sweep

import dumbbell
from dumbbell import Scenario
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.measures import measured
from dumbbell.comparing.across.questions import Asked, settle, summary
from dumbbell.errors import BadInput

LIMITS = {"path.bottleneck.qdisc.limit": ("10p", "100p")}


def test_what_is_named_is_taken():
    found = settle(Asked(x="path.rtt", y=("goodput",), by=("flows.0.cc",)), [sweep()])
    assert (found.kind, found.x, found.y, found.by, found.panels, found.statistic) == (
        "lines",
        "path.rtt",
        ("goodput_mbit",),
        ("flows.0.cc",),
        "",
        "mean",
    )
    assert found.sentence() == "goodput_mbit over path.rtt by flows.0.cc"
    assert found.per == {"goodput_mbit": "run"}
    assert found.runs == 24


def test_the_former_name_of_goodput_is_accepted():
    assert settle(Asked(x="rtt", y=("throughput_mbit",)), [sweep()]).y == ("goodput_mbit",)


def test_keys_that_were_not_named_get_colours_then_panels_then_strokes():
    found = settle(Asked(x="rtt", y=("goodput",)), [sweep(**LIMITS, **{"flows.0.ecn": ("on", "off")})])
    assert (found.by, found.panels) == (("flows.0.cc", "flows.0.ecn"), "path.bottleneck.qdisc.limit")


def test_a_key_that_says_the_same_as_another_needs_no_place():
    runs = [
        outline({"path.rtt": rtt, "limit": limit, "seed": 1}, [("f", "f", "reno", "forward", 1.0)])
        for rtt, limit in zip("123", "456", strict=True)
    ]
    found = settle(Asked(y=("goodput",)), [RunSet("a", runs)])
    assert (found.x, found.by) == ("path.rtt", ())


def test_too_many_keys_are_refused_with_what_to_type():
    keys = {f"k{number}": tuple("12345") for number in range(3)}
    with pytest.raises(BadInput) as error:
        settle(Asked(x="rtt", y=("goodput",)), [sweep(repeats=1, **keys)])
    assert str(error.value) == (
        "k1 and k2 have several values, too; expected --by k1, --panels k1, --where k1=1, or --over k1 to take them together"
    )
    found = settle(Asked(x="rtt", y=("goodput",), over=("k1", "k2")), [sweep(repeats=1, **keys)])
    assert (found.statistic, found.pooled) == ("spread", ("k1", "k2"))


def test_a_label_of_flows_makes_values_those_of_flows():
    found = settle(Asked(x="rtt", y=("goodput",), by=("group",)), [sweep()])
    assert found.per == {"goodput_mbit": "group"}
    assert found.panels == "flows.0.cc"
    found = settle(Asked(x="rtt", y=("goodput",), by=("direction",), where=("flows.0.cc=cubic",)), [sweep()])
    assert (found.by, found.per) == (("direction",), {"flow_goodput_mbit": "flow"})
    assert {each.at["flows.0.cc"] for each in found.data["flow_goodput_mbit"]} == {"cubic"}


@pytest.mark.parametrize("more", [{}, {"kind": "box"}, {"kind": "cdf"}, {"kind": "scatter"}, {"per": "group"}])
def test_goodput_by_group_is_the_total_whatever_is_drawn(more):
    x = {} if more.get("kind") in ("cdf", "scatter") else {"x": "path.rtt"}
    found = settle(
        Asked(y=("goodput",), by=("group",), where=("flows.0.cc=cubic",), over=() if x else ("path.rtt",), **x, **more), [pair()]
    )
    (values,) = found.data.values()
    assert found.per == {"goodput_mbit": "group"}
    assert {each.at["group"]: each.values["goodput_mbit"] for each in values} == {"two": 6.0, "one": 5.0}


@pytest.mark.parametrize(("by", "column"), [("group", "flow_goodput"), ("flow", "goodput"), ("cc", "goodput")])
def test_the_goodput_of_flows_has_a_name_of_its_own(by, column):
    found = settle(Asked(x="path.rtt", y=(column,), by=(by,), per="flow", where=("path.rtt=10ms",)), [pair()])
    (values,) = found.data.values()
    assert found.y == ("flow_goodput_mbit",)
    assert sorted(each.values["flow_goodput_mbit"] for each in values) == [2.0, 4.0, 5.0]


def pair():
    """A group of two flows next to one of one flow."""
    flows = [("a", "two", "cubic", "forward", 2.0), ("b", "two", "cubic", "forward", 4.0), ("c", "one", "cubic", "forward", 5.0)]
    return RunSet("a", [outline({"path.rtt": rtt, "flows.0.cc": "cubic"}, flows) for rtt in ("10ms", "20ms")])


def test_of_two_folders_engines_are_told_apart_if_each_has_its_own():
    both = [sweep("a"), sweep("b", engine="kernel")]
    assert settle(Asked(x="rtt", y=("goodput",), by=("flows.0.cc",)), both).by == ("flows.0.cc", "engine")
    assert settle(Asked(x="rtt", y=("goodput",), by=("flows.0.cc", "folder")), both).panels == ""
    alike = [sweep("a"), sweep("b")]
    assert settle(Asked(x="rtt", y=("goodput",), by=("flows.0.cc",)), alike).by == ("flows.0.cc", "folder")


def test_the_summary_of_a_sweep_has_the_main_columns_that_say_something():
    found = summary([sweep()])
    ways = ("forward.goodput_mbit", "reverse.goodput_mbit")
    assert (found.x, found.by, found.y) == ("path.rtt", ("flows.0.cc",), (*ways, "srtt_mean_ms"))


TWO_WAYS = """
name: home
path: {rtt: 20ms, bottleneck: {rate: 20mbit, qdisc: fq_codel}, reverse: {rate: 5mbit, qdisc: fq_codel}}
flows: [{name: download, cc: cubic}, {name: upload, cc: cubic, direction: reverse}]
background: [{kind: ping}, {kind: voip}]
sweep:
  zip: {path.bottleneck.qdisc: [fq_codel, cake], path.reverse.qdisc: [fq_codel, cake]}
duration: 3s
"""


@pytest.fixture(scope="module")
def two_ways():
    """Flows in both directions with a call, through two queues at both ends."""
    return RunSet("home", dumbbell.run(Scenario.from_text(TWO_WAYS)).runs)


def test_the_summary_of_two_directions_has_the_numbers_of_run_and_no_sum_of_both(two_ways):
    found = summary([two_ways])
    titles = ["download goodput (Mbit/s)", "upload goodput (Mbit/s)", "ping (ms)", "MOS"]
    assert [found.titles[y] for y in found.y] == titles
    shown = {y: [each.values[y] for each in found.data[y]] for y in found.y}
    measures = [{measure.column: value for measure, value in measured(run.summary).items()} for run in two_ways.runs]
    assert shown == {y: [values[y] for values in measures] for y in found.y}
    assert max(shown["forward.goodput_mbit"]) < 20


def test_a_word_that_ends_two_keys_with_equal_values_means_the_first(two_ways):
    assert settle(Asked(y=("goodput",), by=("qdisc",)), [two_ways]).by == ("path.bottleneck.qdisc",)
    cells = [{**run.cell, "path.reverse.qdisc": "fq_codel" if i else "cake"} for i, run in enumerate(two_ways.runs)]
    apart = RunSet("home", [replace(run, cell=cell) for run, cell in zip(two_ways.runs, cells, strict=True)])
    with pytest.raises(BadInput, match="'qdisc' is ambiguous"):
        settle(Asked(y=("goodput",), by=("qdisc",)), [apart])


def test_the_summary_of_repeats_alone_has_boxes_by_group():
    runs = [outline({"seed": seed}, [("a-1", "a", "reno", "forward", seed), ("b", "b", "cubic", "forward", 3.0)]) for seed in (1, 2, 3)]
    found = summary([RunSet("a", runs)])
    assert (found.kind, found.x, found.per["flow_goodput_mbit"]) == ("box", "group", "flow")


def test_the_summary_of_a_large_sweep_takes_together_what_has_no_place():
    keys = {f"k{number}": tuple("12345") for number in range(3)}
    found = summary([sweep(repeats=1, **keys)])
    assert (found.statistic, len(found.pooled)) == ("spread", 2)


def test_a_scatter_plot_has_a_delay_on_its_x_axis():
    assert settle(Asked(kind="scatter"), [sweep()]).x == "srtt_mean_ms"
    assert settle(Asked(x="srtt_mean", y=("goodput",)), [sweep()]).kind == "scatter"


def test_a_heat_map_takes_two_keys():
    found = settle(Asked(kind="heat", where=("flows.0.cc=reno",)), [sweep(**LIMITS)])
    assert (found.x, found.by) == ("path.rtt", ("path.bottleneck.qdisc.limit",))
    with pytest.raises(BadInput, match=r"--kind heat: there is path\.rtt; expected two keys with several values"):
        settle(Asked(kind="heat", where=("flows.0.cc=reno",)), [sweep()])


def test_columns_may_be_of_different_tables():
    runs = [
        outline({"path.rtt": rtt, "seed": 1}, [("f", "f", "reno", "forward", 1.0)], groups=[("web", 50.0)], streams=[("ping", 30.0)])
        for rtt in ("10ms", "20ms")
    ]
    found = settle(Asked(y=("goodput", "latency_median", "rtt_median")), [RunSet("a", runs)])
    assert found.per == {"goodput_mbit": "run", "latency_median_ms": "group", "rtt_median_ms": "stream"}


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"kind": "pie"}, "--kind 'pie' is unknown; expected one of lines, box, cdf, ccdf, scatter, heat"),
        ({"statistic": "mode"}, "--statistic 'mode' is unknown; expected one of mean, median, spread"),
        ({"per": "packet"}, "--per 'packet' is unknown; expected one of run, flow, group, stream, port"),
        ({"by": ("a", "b", "c")}, "--by was given 3 times; expected at most two keys, one for colours and one for styles of lines"),
        ({"y": ("srtt",)}, "--y 'srtt' is a series; expected --x time, --kind cdf or --kind box with it, or srtt_mean_ms or srtt_p95_ms"),
        ({"y": ("goodputs",)}, "--y 'goodputs' is unknown (did you mean 'goodput'?); expected one of flows, goodput_mbit"),
        ({"x": "rt"}, "--x 'rt' is unknown (did you mean 'rtt'?); expected one of path.rtt, flows.0.cc"),
        ({"x": "time", "kind": "box"}, "--x time was given with --kind box; expected --kind lines"),
        ({"kind": "cdf", "x": "rtt"}, "--x was given with --kind cdf, whose x axis has the values of --y; expected one of the two"),
        ({"kind": "scatter", "y": ("goodput",), "x": "delay"}, "--x 'delay' is unknown; expected one of flows"),
        ({"where": ("rtt",)}, "--where 'rtt' has no =; expected KEY=VALUE"),
        ({"where": ("rtt=1ms",)}, "--where 'rtt=1ms': path.rtt is never '1ms'; expected one of 20ms, 80ms, 160ms"),
        ({"y": ("mos",)}, "--y mos: no run has a value of it; expected a column that `dumbbell table` shows values of"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_line(asked, line):
    with pytest.raises(BadInput) as error:
        settle(Asked(**asked), [sweep()])
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_without_runs_there_is_nothing_to_draw():
    with pytest.raises(BadInput, match="no valid runs"):
        settle(Asked(), [RunSet("a", [])])
