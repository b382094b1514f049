"""The sentence about a sweep: what it says, and when it says nothing."""

import pytest

from dumbbell.api import run
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.measures import Measure
from dumbbell.comparing.across.sentence import axes, sentence, sentence_of
from dumbbell.scenario import Scenario

PING = Measure("ping_median_ms", "ping", "ms")
MOS = Measure("mos", "MOS", "", more_is_better=True)
GOODPUT = Measure("goodput_mbit", "goodput", "Mbit/s", more_is_better=True)
QDISC = {"pfifo limit=1000p": [318.2, 319.1, 320.0], "fq_codel": [31.0, 31.1, 31.2], "cake": [30.9, 31.0, 31.1]}


def over(key, values, **others):
    """The values of one key as cells."""
    return {((key, value), *others.items()): repeats for value, repeats in values.items()}


def test_it_names_two_groups_and_what_each_has():
    found = sentence({PING: over("path.bottleneck.qdisc", QDISC)})
    assert found == "fq_codel and cake keep the ping at 31 ms; pfifo has 319 ms."


def test_a_second_measure_that_splits_alike_is_told_too_and_one_that_is_worse_with_but():
    mos = over("qdisc", {"pfifo limit=1000p": [1.0, 1.0, 1.0], "fq_codel": [4.36, 4.35, 4.36], "cake": [4.36, 4.36, 4.36]})
    goodput = over("qdisc", {"pfifo limit=1000p": [47.9, 48.0, 48.1], "fq_codel": [45.0, 45.1, 45.0], "cake": [45.1, 45.0, 45.1]})
    ping = over("qdisc", QDISC)
    assert sentence({PING: ping, MOS: mos, GOODPUT: goodput}) == (
        "fq_codel and cake keep the ping at 31 ms and the MOS at 4.36; pfifo has 319 ms and 1."
    )
    assert sentence({PING: ping, GOODPUT: goodput}) == (
        "fq_codel and cake keep the ping at 31 ms, but the goodput at 45 Mbit/s; pfifo has 319 ms and 48 Mbit/s."
    )


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"a": [10.0], "b": [20.0]}, id="one repeat"),
        pytest.param({"a": [10.0, 20.0, 30.0], "b": [15.0, 25.0, 35.0]}, id="within chance"),
        pytest.param({"a": [10.0, 10.0], "b": [20.0, 20.0]}, id="nothing is drawn"),
        pytest.param({"a": [10.001, 10.002, 10.003], "b": [10.011, 10.012, 10.013]}, id="no difference in print"),
        pytest.param({"a": [10.0, 11.0, 12.0]}, id="one cell"),
    ],
)
def test_it_says_nothing_of_what_may_be_chance(values):
    assert sentence({PING: over("cc", values)}) is None


def test_a_difference_holds_whatever_the_other_keys_are():
    both = {**over("cc", {"cubic": [90.0, 91.0, 92.0], "bbr": [30.0, 31.0, 32.0]}, rtt="20ms")}
    both |= over("cc", {"cubic": [190.0, 191.0, 192.0], "bbr": [80.0, 81.0, 82.0]}, rtt="80ms")
    assert sentence({PING: both}) == "bbr keeps the ping at 31 to 81 ms at every rtt; cubic has 91 to 191 ms."
    both |= over("cc", {"bbr": [190.0, 191.0, 192.0], "cubic": [80.0, 81.0, 82.0]}, rtt="160ms")
    assert sentence({PING: both}) is None


def test_keys_that_go_together_are_one_axis():
    cells = [(("down", a), ("up", a), ("rtt", b)) for a in ("pfifo", "cake") for b in ("20ms", "40ms")]
    assert axes(cells) == [("down", "up"), ("rtt",)]
    assert sentence({PING: {(("down", a), ("up", a)): repeats for a, repeats in QDISC.items()}}) is not None


def test_names_come_before_quantities_and_a_quantity_has_its_key():
    found = sentence({PING: over("path.rtt", {"20ms": [20.1, 20.2, 20.3], "40ms": [40.1, 40.2, 40.3]})})
    assert found is None  # a longer path takes longer
    found = sentence({PING: over("path.bottleneck.qdisc.limit", {"1bdp": [20.1, 20.2, 20.3], "4bdp": [40.1, 40.2, 40.3]})})
    assert found == "limit 1bdp keeps the ping at 20.2 ms; limit 4bdp has 40.2 ms."


def test_runs_have_the_measures_of_their_traffic():
    results = run(
        Scenario.model_validate(
            {
                "name": "short",
                "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}},
                "flows": [{"cc": "cubic", "start": {"jitter": "100ms"}}, {"cc": "cubic", "direction": "reverse"}],
                "background": [{"kind": "ping", "interval": "100ms"}, {"kind": "voip", "direction": "both"}],
                "duration": "3s",
                "repeat": 3,
                "sweep": {"path.bottleneck.qdisc": ["fq_codel", {"kind": "pfifo", "limit": "200p"}]},
            }
        )
    )
    found = sentence_of([RunSet("short", tuple(results.runs))])
    assert found is not None
    assert found.startswith("fq_codel keeps the ping at ")
    assert "pfifo has " in found


def test_ranges_of_a_quantity_that_overlap_say_nothing():
    ping = {
        (("limit", limit), ("rtt", rtt)): [base + queue, base + queue + 1, base + queue + 2]
        for limit, queue in (("1bdp", 10.0), ("8bdp", 100.0))
        for rtt, base in (("10ms", 10.0), ("40ms", 40.0))
    }
    only_rtt = {tuple(key for key in cell): values for cell, values in ping.items()}
    found = sentence({PING: only_rtt})
    assert found is not None
    assert found.startswith("limit 1bdp keeps")  # 21 to 51 ms, and 111 to 141 ms
    assert "rtt 10ms" not in found
