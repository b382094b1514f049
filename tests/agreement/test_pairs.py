"""Mixed pairs: the rule that decides if they share alike."""

import pytest
from support import tables

from dumbbell.agreement.comparison import Comparison
from dumbbell.agreement.pairs import is_mixed_pair, mixed_pair
from dumbbell.agreement.sets import ScenarioSet
from dumbbell.agreement.statement import statement
from dumbbell.agreement.tables import below_bar, pairs_list, statement_tables
from dumbbell.comparing.difference import Difference
from dumbbell.results import Run
from dumbbell.scenario import Scenario

PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "10p"}}}


def scenario(name="s", flows=({"cc": "bic"}, {"cc": "reno"}), repeat=10):
    jittered = [{"start": {"jitter": "1s"}, **flow} for flow in flows]
    settings = {"name": name, "path": PATH, "flows": jittered, "duration": "8s", "repeat": repeat}
    return Scenario.model_validate(settings)


def runs(shares, name="s"):
    """A run for each start, in which the flow of bic has this share."""
    made = []
    for share in shares:
        received = {"bic": round(share * 1_000_000), "reno": round((1 - share) * 1_000_000)}
        counters = {
            f"flow/{flow}": {"start_ns": 0, "active_ns": 8 * 10**9, "rx_bytes": count, "retransmits": 0} for flow, count in received.items()
        }
        known = {"scenario": scenario(name).expand()[0].settings.model_dump(mode="json"), "plan": {"ports": []}, "engine": {"name": "sim"}}
        made.append(Run(key="0", name=name, cell={}, status="ok", reasons=(), **tables(counters), digest="", samples=(), **known))
    return made


def pair(theirs, ours):
    return mixed_pair("s", list(zip(runs(theirs), runs(ours), strict=True)))


def test_a_small_difference_agrees_however_certain_it_is():
    found = pair([0.5, 0.6, 0.7], [0.52, 0.62, 0.72])
    assert (found.controls, found.starts) == (("bic", "reno"), 3)
    assert found.reference == pytest.approx(0.6)
    assert found.difference == pytest.approx(0.02)
    assert found.low == pytest.approx(found.high)
    assert found.near
    assert found.agrees


def test_a_larger_one_agrees_if_it_may_be_none():
    chance = pair([0.2, 0.8, 0.5, 0.3], [0.8, 0.2, 0.6, 0.4])
    # Differences 0.6, -0.6, 0.1, 0.1: mean 0.05, standard error 0.2466, t(0.975, 3) = 3.182.
    assert (chance.low, chance.high) == pytest.approx((0.05 - 0.7849, 0.05 + 0.7849), abs=1e-3)
    assert chance.agrees
    assert not chance.near
    sure = pair([0.5, 0.5, 0.5, 0.5], [0.55, 0.56, 0.54, 0.55])
    assert sure.low > 0
    assert not sure.agrees
    assert not pair([0.5, 0.5], [0.6, 0.6]).agrees


def test_starts_in_which_nothing_arrives_are_left_out():
    silent = runs([0.5])[0]
    idle = Run(**{**vars(silent), **tables({name: {**values, "rx_bytes": 0} for name, values in silent.counters.items()})})
    two = list(zip(runs([0.5, 0.5]), runs([0.5, 0.5]), strict=True))
    assert mixed_pair("s", [*two, (idle, silent)]).starts == 2
    assert mixed_pair("s", [two[0], (idle, silent)]) is None


def test_what_is_a_mixed_pair():
    assert is_mixed_pair(scenario())
    assert not is_mixed_pair(scenario(repeat=1))
    assert not is_mixed_pair(scenario(flows=[{"cc": "bic"}, {"cc": "bic", "name": "other"}]))
    assert not is_mixed_pair(scenario(flows=[{"cc": "bic"}, {"cc": "reno", "count": 2}]))
    assert not is_mixed_pair(scenario(flows=[{"cc": "bic"}]))


def test_the_statement_says_how_many_agree():
    scenarios = (scenario("alike"), scenario("apart"))
    theirs = (*runs([0.5] * 10, "alike"), *runs([0.5] * 10, "apart"))
    ours = (*runs([0.52] * 10, "alike"), *runs([0.7] * 10, "apart"))
    document = statement(
        Comparison(ScenarioSet("pairs", (7,), 10, scenarios), ("kernel", "sim"), theirs, ours, "2026-01-02"), Difference({})
    )
    assert below_bar(document) == ["mixed pairs, shares alike: 50.00 %, the target is 90.00 %"]
    _, table = statement_tables(document)
    assert table.columns[0] == "difference of the first flow's mean share over 10 starts (2 mixed pairs)"
    assert [row[1] for row in table.fields] == ["50.00 % (≥ 90 %, missed)", "50.00 %", "0.1100", "0.1910", "0.0000"]
    assert [list(row) for row in pairs_list(document).fields] == [
        ["alike", "bic", "reno", "10", "0.5", "0.52", "0.02", "0.02", "0.02", "true"],
        ["apart", "bic", "reno", "10", "0.5", "0.7", "0.2", "0.2", "0.2", "false"],
    ]
