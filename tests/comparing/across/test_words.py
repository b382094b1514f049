"""Meanings of words. A word that could mean two things, or that would do nothing, is an error."""

import numpy as np
import pytest
from across import outline, sweep

from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.questions import Asked, settle
from dumbbell.comparing.across.tables import repeats_table
from dumbbell.comparing.across.words import PYTHON
from dumbbell.errors import BadInput

RTT = {"x": "rtt", "y": ("goodput",)}


def refused(asked, *sources, **more):
    with pytest.raises(BadInput) as error:
        settle(Asked(**asked), sources or [sweep()], **more)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_word_for_a_key_and_for_a_label_of_several_flows_is_refused_with_both():
    assert refused({**RTT, "by": ("cc",)}) == (
        "--by 'cc' is ambiguous: the sweep has flows.0.cc, and each flow has a cc; expected --by flows.0.cc, or --by cc --per flow for "
        "that of the flows"
    )
    assert refused({**RTT, "by": ("group",), "where": ("cc=reno",)}).endswith(
        "expected --where flows.0.cc=reno, or --where cc=reno --per flow for that of the flows"
    )
    with pytest.raises(BadInput, match=r"expected --where flows.0.cc=reno, or --where cc=reno --groups for that of the flows"):
        repeats_table([sweep()], "t", where=("cc=reno",))


def test_what_values_are_of_decides():
    of_flows = settle(Asked(**RTT, by=("cc",), per="flow", panels="flows.0.cc"), [sweep()])
    assert (of_flows.by, of_flows.per) == (("cc",), {"flow_goodput_mbit": "flow"})
    assert settle(Asked(**RTT, by=("cc",), per="run"), [sweep()]).by == ("flows.0.cc",)
    rows = repeats_table([sweep()], "t", per="group", where=("cc=cubic",)).fields
    assert {row[2] for row in rows} == {"a"}
    rows = repeats_table([sweep()], "t", per="run", where=("cc=cubic",)).fields
    assert len(rows) == 3


def test_a_key_that_says_the_same_as_the_label_is_meant():
    runs = [
        outline({"path.rtt": rtt, "flows.*.cc": cc, "seed": 1}, [(name, name, cc, "forward", 1.0) for name in "ab"])
        for rtt in ("10ms", "20ms")
        for cc in ("reno", "cubic")
    ]
    found = settle(Asked(**RTT, by=("cc",)), [RunSet("a", runs)])
    assert (found.by, found.per) == (("flows.*.cc",), {"goodput_mbit": "run"})


def test_of_keys_that_end_alike_that_with_several_values_is_meant():
    assert settle(Asked(**RTT, by=("limit",)), [sweep(**{"a.limit": ("1p", "2p"), "b.limit": ("1p",)})]).by == ("a.limit",)


@pytest.mark.parametrize("condition", ["path.rtt=0.02s", "rtt=20000us", "rtt=20 ms", "rtt=20ms"])
def test_conditions_are_on_quantities(condition):
    found = settle(Asked(where=(condition,)), [sweep(**{"path.bottleneck.rate": ("10mbit", "20mbit")})])
    assert {each.at["path.rtt"] for each in found.data["goodput_mbit"]} == {"20ms"}


@pytest.mark.parametrize("condition", ["rate=10Mbit/s", "rate=10000 kbit", "rate=0.01Gbit", "rate=10mbit"])
def test_rates_are_quantities_however_they_are_spelled(condition):
    found = settle(Asked(where=(condition,)), [sweep(**{"path.bottleneck.rate": ("10mbit", "20mbit")})])
    assert {each.at["path.bottleneck.rate"] for each in found.data["goodput_mbit"]} == {"10mbit"}


def test_a_number_without_a_unit_is_no_quantity():
    assert refused({"where": ("rtt=20",)}).startswith("--where 'rtt=20': path.rtt is never '20'; expected one of 20ms, 80ms, 160ms")


def test_conditions_of_one_key_are_alternatives_and_of_several_go_together():
    where = ("rtt=20ms", "rtt=0.08s", "flows.0.cc=reno", "seed=2", "group=a")
    (found,) = settle(Asked(where=where, y=("goodput",)), [sweep()]).data.values()
    assert [(each.at["path.rtt"], each.at["seed"], each.at["group"]) for each in found] == [("20ms", 2, "a"), ("80ms", 2, "a")]
    runs = [outline({"a": "1", "b": "2"}, []), outline({"a": "2", "b": "1"}, [])]
    line = "--where 'a=1' --where 'b=1': no run has all of these; expected values that occur together"
    assert refused({"where": ("a=1", "b=1")}, RunSet("a", runs)) == line


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({**RTT, "window_s": 2.0}, "--window 2 was given, and no goodput over time is drawn; expected --x time --y goodput with it"),
        ({"x": "time", "y": ("cwnd",), "window_s": 2.0}, "--window 2 was given, and no goodput over time is drawn"),
        ({**RTT, "samples": True}, "--samples was given with --kind lines; expected --kind cdf or --kind box"),
        ({"x": "time", "samples": True}, "--samples was given with --x time; expected --kind cdf or --kind box"),
        (
            {"kind": "box", "statistic": "median"},
            "--statistic median was given with --kind box, which shows all values; expected --kind lines",
        ),
        ({"kind": "scatter", "statistic": "mean"}, "--statistic mean was given with --kind scatter, which shows means with their ellipses"),
        ({"kind": "heat", "by": ("flows.0.cc", "group")}, "--by was given twice with --kind heat; expected one key, that of the rows"),
        (
            {**RTT, "by": ("flows.0.cc",), "panels": "flows.0.cc"},
            "--by flows.0.cc and --panels flows.0.cc were both given; expected one of",
        ),
        ({**RTT, "by": ("flows.0.cc",), "over": ("flows.0.cc",)}, "--by flows.0.cc and --over flows.0.cc were both given; expected one of"),
        (
            {"x": "srtt_mean", "kind": "box"},
            "--x 'srtt_mean' is a column, and was given with --kind box; expected --kind scatter, or a key",
        ),
        ({**RTT, "per": "run", "by": ("group",)}, "--by 'group': a run has no group; expected --per flow"),
        (
            {**RTT, "by": ("grop",)},
            "--by 'grop' is unknown (did you mean 'group'?); expected one of path.rtt, flows.0.cc, group, cc, direction",
        ),
    ],
)
def test_what_would_do_nothing_is_refused(asked, line):
    assert refused(asked).startswith(line)


def test_what_is_to_be_typed_is_quoted_for_a_shell():
    keys = {"k": ("pfifo limit=1p", "fq"), **{f"k{number}": tuple("12345") for number in range(3)}}
    asked = {**RTT, "by": ("k0",), "panels": "k1", "over": ("k2",)}
    assert "--where 'k=pfifo limit=1p', or --over k to take" in refused(asked, sweep(repeats=1, **keys))
    assert refused({"x": "time", "y": ("backlog_packets",), "by": ("group",)}) == (
        "--y 'backlog_packets' is a series of a port, and another option names what a group has; expected keys of the sweep alone"
    )


def test_what_may_be_named_has_folders_and_engines_if_there_are_several():
    assert refused({**RTT, "by": ("fold",)}, sweep("a"), sweep("b", engine="kernel")).endswith(
        "expected one of path.rtt, flows.0.cc, engine, folder, group, cc, direction, flow"
    )


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"y": ("srtt",)}, "y='srtt' is a series; expected x='time', kind='cdf' or kind='box' with it, or srtt_mean_ms or srtt_p95_ms"),
        (
            {"by": ("cc",)},
            "by='cc' is ambiguous: the sweep has flows.0.cc, and each flow has a cc; expected by='flows.0.cc', or by='cc', per='flow'",
        ),
        ({"where": ("rtt=1ms",)}, "where='rtt=1ms': path.rtt is never '1ms'"),
        ({"kind": "pie"}, "kind='pie' is unknown"),
        ({**RTT, "window_s": 2.5}, "window_s=2.5 was given, and no goodput over time is drawn; expected x='time', y='goodput' with it"),
    ],
)
def test_functions_speak_of_their_arguments(asked, line):
    assert refused(asked, manner=PYTHON).startswith(line)


def test_runs_that_were_not_asked_for_are_not_read():
    class Whole:
        plan = None

        def __init__(self):
            self.counters = {"flow/a": {"start_ns": 0, "active_ns": 10**9, "rx_bytes": 4}, "flow/b": {"start_ns": 0, "active_ns": 10**9}}

        def all_series(self, *names):
            return {("flow/a", name): (np.arange(5.0), np.arange(5.0)) for name in names}

    read, told = [], []

    def opened(run):
        read.append(run.cell["path.rtt"])
        return Whole()

    source = RunSet("a", sweep().runs, opened)
    where = ("rtt=20ms", "flows.0.cc=reno", "group=a")
    settle(Asked(x="time", y=("goodput", "cwnd"), where=where), [source], lambda *numbers: told.append(numbers))
    assert read == ["20ms"] * 4
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
