"""Stability of high-speed flows: the drawn scenarios, the metrics, and the rule of agreement."""

from dataclasses import replace

import numpy as np
import pytest
from support import tables as run_tables

from dumbbell.agreement.comparison import Comparison
from dumbbell.agreement.highspeed import HIGH_SPEED
from dumbbell.agreement.sets import ScenarioSet, find_set
from dumbbell.agreement.shared import Shared
from dumbbell.agreement.stability import Mean, measured, stability
from dumbbell.agreement.statement import statement
from dumbbell.agreement.tables import below_bar, definitions_table, stability_list, statement_tables, steadiness
from dumbbell.catalogue.feature import Feature
from dumbbell.comparing.difference import Difference
from dumbbell.errors import BadInput
from dumbbell.results import Block, Run
from dumbbell.running.prepare import refuse
from dumbbell.scenario import Scenario

_NS = 10**9
RATE_MBIT, SEGMENT_BITS = 100, 1514 * 8


@pytest.fixture
def shared(tables):
    return Shared.of(*tables)


def scenario(name="reno-1-000"):
    flows = [{"name": f"{HIGH_SPEED}-{half}", "cc": "reno"} for half in "ab"]
    path = {"rtt": "20ms", "bottleneck": {"rate": f"{RATE_MBIT}mbit", "qdisc": {"kind": "pfifo", "limit": "99p"}}}
    settings = {
        "name": name,
        "path": path,
        "flows": [*flows, {"name": "reverse", "cc": "reno", "direction": "reverse"}],
        "duration": "60s",
    }
    return Scenario.model_validate(settings)


def run(segments, name="reno-1-000", used=0.5):
    """Return a run in which both high-speed flows deliver this many segments in each of 60 s, and the queue sends that share of its
    rate."""
    t_ns = np.arange(61) * _NS
    delivered = np.concatenate([[0.0], np.cumsum(segments)])
    sent_bytes = np.arange(61) * used * RATE_MBIT * 1e6 / 8
    flows = [Block(f"flow/{HIGH_SPEED}-{half}", ("delivered",), t_ns, delivered[np.newaxis]) for half in "ab"]
    against = Block("flow/reverse", ("delivered",), t_ns, (np.arange(61.0) ** 3)[np.newaxis])
    port = Block("port/bottleneck", ("sent_bytes",), t_ns, sent_bytes[np.newaxis])
    plan = {
        "duration_ns": 60 * _NS,
        "schedule": [],
        "ports": [{"id": "bottleneck", "kind": "queue", "shaper": {"rate_bps": RATE_MBIT * 10**6}, "qdisc": {"kind": "pfifo"}}],
    }
    counters = {block.entity: {"start_ns": 0, "active_ns": 60 * _NS, "rx_bytes": 1, "retransmits": 0} for block in (*flows, against)}
    written = scenario(name).expand()[0].settings.model_dump(mode="json")
    samples = (*flows, against, port)
    known = {"scenario": written, "plan": plan, "engine": {"name": "sim"}, "samples": samples}
    return Run(key="0", name=name, cell={}, status="ok", reasons=(), **run_tables(counters), digest="", **known)


def varied(cov):
    """Segments of 60 s with this coefficient of variation over the last 50."""
    return np.resize([100 * (1 - cov), 100 * (1 + cov)], 60)


def test_the_draw_is_of_high_speed_flows_with_background(shared):
    scenarios = find_set("stability", shared, seeds=[1], count=30).scenarios
    assert [each.name for each in scenarios] == [each.name for each in find_set("stability", shared, seeds=[1], count=40).scenarios][:30]
    for each in scenarios:
        queue, flows = each.path.bottleneck, each.flows
        assert 100e6 <= int(queue.rate) <= 400e6
        assert queue.qdisc.kind in ("pfifo", "bfifo")
        assert 20e6 <= int(each.path.rtt) <= 320e6
        assert [flow.direction for flow in flows] == ["forward", "forward", "reverse", "reverse"]
        assert flows[0].cc == flows[1].cc
        assert sum(flow.count for flow in flows[:2]) in (2, 4, 8, 16)
        assert all(10e6 <= int(flow.rtt) <= 600e6 for flow in flows[2:])
        (web,) = each.background
        assert (web.direction, web.arrivals.load) == ("both", 0.175)
        assert (int(each.duration), each.repeat, int(each.sample)) == (60 * _NS, 5, _NS)
    assert len({each.flows[0].cc.kind for each in scenarios}) > 8
    assert not {each.flows[0].cc.kind for each in scenarios} & (shared.needs_ecn | shared.wants_sce)
    assert {each.path.bottleneck.shaper for each in scenarios} >= {"link", "tbf", "htb"}


def test_both_engines_accept_the_scenarios(shared):
    for each in find_set("stability", shared, seeds=[3], count=4, ccs=["bic", "htcp"], starts=2).scenarios:
        assert each.flows[0].cc.kind in ("bic", "htcp")
        for one in each.expand():
            refuse([one.on("sim"), one.on("kernel")])


def test_what_the_engines_do_not_share_is_told(shared):
    with pytest.raises(BadInput, match=r"^the engines share no pfifo or bfifo; expected engines and --qdisc"):
        find_set("stability", shared.with_qdiscs(["red"]))
    with pytest.raises(BadInput, match=rf"^the engines share no {Feature.REVERSE_FLOWS}; expected"):
        find_set("stability", replace(shared, feature=shared.feature - {Feature.REVERSE_FLOWS}))


def test_the_measures_are_of_the_window():
    segments = varied(0.2)
    segments[:10] = 10_000
    used, variation = measured(run(segments, used=0.8))
    assert used == pytest.approx(0.8)
    assert variation == pytest.approx(0.2)


def test_a_mean_has_its_error_and_its_bar():
    found = Mean.of([0.5, 0.6, 0.7], [0.52, 0.61, 0.70], 0.01)
    assert found.difference == pytest.approx(0.01)
    # Differences 0.02, 0.01, 0.00: standard deviation 0.01.
    assert found.error == pytest.approx(0.01 / 3**0.5)
    assert found.scatter == pytest.approx(0.1)
    # P(|t| <= 1.732) with two degrees of freedom.
    assert found.equal == pytest.approx(0.7746, abs=1e-3)
    assert Mean.of([1.0, 1.0], [1.2, 1.2], 0.15, relative=True).near is False
    assert Mean.of([2.0, 2.0], [2.2, 2.4], 0.15, relative=True).near is True
    assert Mean.of([1.0, 1.0], [1.0, 1.0], 0.01).equal == 1


def test_both_measures_are_to_agree():
    pairs = [(run(varied(0.2), used=0.8), run(varied(0.22), used=0.805))] * 2
    found = stability("s", pairs)
    assert (found.control, found.utilisation.starts) == ("reno", 2)
    assert found.agrees
    assert not stability("s", [(run(varied(0.2)), run(varied(0.24)))] * 2).agrees
    assert not stability("s", [(run(varied(0.2), used=0.8), run(varied(0.2), used=0.812))] * 2).agrees


def test_the_statement_says_in_how_many_scenarios_both_agree():
    scenarios = (scenario("alike"), scenario("apart"))
    theirs = [run(varied(0.2), each.name) for each in scenarios for _ in range(5)]
    ours = [run(varied(0.2), "alike")] * 5 + [run(varied(0.3), "apart", used=0.505)] * 5
    compared = Comparison(ScenarioSet("stability", (7,), 5, scenarios), ("kernel", "sim"), tuple(theirs), tuple(ours), "2026-01-02")
    document = statement(compared, Difference({}))
    assert below_bar(document) == ["link utilisation and CoV-PTA, scenarios in which both agree: 50.00 %, the target is 90.00 %"]
    _, over_all, by_scenario = statement_tables(document)
    assert [row[1:] for row in over_all.fields[:3]] == [
        ["50.00 % (≥ 90 %, missed)", ""],
        ["100.00 %", "100.00 %"],
        ["50.00 %", "100.00 %"],
    ]
    assert [(row[0], row[3], row[6], row[7]) for row in by_scenario.fields] == [
        ("alike", "+0.0000 ± 0.0000", "+0.0 % ± 0.0 %", "both"),
        ("apart", "+0.0050 ± 0.0000", "+50.0 % ± 0.0 %", "utilisation"),
    ]
    assert [list(row[:4]) for row in stability_list(document).fields] == [
        [name, "reno", "5", measure] for name in ("alike", "apart") for measure in ("utilisation", "variation")
    ]
    assert steadiness(document).startswith("Set stability, seed 7: 2 scenarios, 10 runs on each engine")
    assert {"CoV-PTA", "±"} <= {row[0] for row in definitions_table(document).fields}
    assert not statement(replace(compared, scenario_set=replace(compared.scenario_set, starts=4)), Difference({}))["bars"]
    other = replace(compared, scenario_set=replace(compared.scenario_set, name="random"))
    assert statement(other, Difference({}))["stability"] == {"scenarios": 0, "each": []}
