"""Queues of few packets have rows of their own, and stay among all."""

from dataclasses import replace

import pytest
from support import make_run

from dumbbell.agreement.comparison import Comparison
from dumbbell.agreement.measures import ALL, FORMAT
from dumbbell.agreement.sets import ScenarioSet
from dumbbell.agreement.statement import room, shallow, statement
from dumbbell.agreement.tables import statement_table
from dumbbell.comparing.difference import difference
from dumbbell.comparing.reference import ReferenceValue
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario


def planned(name="s", mtu=1500, reverse="mirror", **qdisc):
    """A run without results, with the plan of a path with this queue."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": qdisc}, "mtu": mtu, "reverse": reverse}
    (resolved,) = Scenario.model_validate({"name": name, "path": path, "flows": [{"cc": "reno"}], "duration": "8s"}).expand()
    (prepared,) = prepare([resolved.on("sim")], keyed=False)
    return replace(make_run(name=name), scenario=prepared.scenario, plan=prepared.plan.plain())


@pytest.mark.parametrize(
    ("of", "packets"),
    [
        ({"kind": "pfifo", "limit": "3p"}, 3),
        ({"kind": "bfifo", "limit": "7000B"}, 4),
        ({"kind": "bfifo", "limit": "40000B", "mtu": 9000}, 4),
        ({"kind": "fq_codel", "limit": "9p"}, 9),
        ({"kind": "cake"}, None),
        ({"kind": "pfifo", "limit": "90p", "reverse": {"rate": "1mbit", "qdisc": {"kind": "pfifo", "limit": "2p"}}}, 2),
    ],
)
def test_the_room_of_the_smallest_queue(of, packets):
    assert room(planned(**of)) == packets


def test_shallow_scenarios_are_named_once():
    runs = [planned("a", kind="pfifo", limit="4p"), planned("b", kind="pfifo", limit="5p"), planned("c", kind="cake")]
    assert shallow([*runs, *runs]) == ["a"]


def test_their_rows_stand_beside_that_of_all():
    runs = tuple(planned(name, kind="pfifo", limit=limit) for name, limit in (("small", "2p"), ("large", "90p"), ("larger", "99p")))
    goodputs = {"small": 5.0, "large": 10.0, "larger": 9.9}
    ours = {((name, ALL), "goodput"): [value] for name, value in goodputs.items()}
    found = difference(ours, [ReferenceValue((name, ALL), "goodput", 10.0, 0, None) for name in goodputs], FORMAT)
    document = statement(Comparison(ScenarioSet("random", (7,), 1, ()), ("kernel", "sim"), runs, runs, "2026-01-02"), found)
    assert document["shallow"]["scenarios"] == ["small"]
    rows = [list(row) for row in statement_table(document).fields]
    assert [row[:4] for row in rows] == [
        ["goodput (Mbit/s)", "3", "1.00 % (≤ 0.5 %, missed)", "45.10 % (≤ 4 %, missed)"],
        ["of these, queues of at most 4 packets", "1", "50.00 %", "50.00 %"],
        ["of these, longer queues", "2", "0.50 %", "0.95 %"],
    ]
    without = statement(Comparison(ScenarioSet("random", (7,), 1, ()), ("kernel", "sim"), runs[1:], runs[1:], "2026-01-02"), found)
    assert len(statement_table(without).fields) == 1
