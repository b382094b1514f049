"""Series of chosen entities, from the scenario to what the engines leave."""

import json

import numpy as np
import pytest
from matplotlib.text import Text
from support import plain_plan, resolved

from dumbbell.engines import engine
from dumbbell.engines.base import expected_samples
from dumbbell.executor import Threads
from dumbbell.native import native
from dumbbell.plan import make
from dumbbell.results import Store, schema
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario, ScenarioError, Series

FLOWS = [{"cc": "cubic", "count": 2}, {"cc": "reno", "name": "short", "bytes": "100kB"}, {"cc": "cubic", "start": {"first": "1s"}}]
"""The flows cubic-1, cubic-2 and cubic-3 of two entries, and short."""


def run(tmp_path=None, **series):
    (done,) = execute(prepare([resolved(flows=FLOWS, duration="3s", series=series)]), tmp_path and Store(tmp_path), Threads(1))
    return done


def entities(found):
    return list(dict.fromkeys(found.frame["entity"]))


def test_by_default_every_flow_and_port_has_series():
    assert plain_plan(flows=FLOWS)["series"] == {"flows": [0, 1, 2], "groups": [], "ports": [0, 1, 2, 3], "shares": []}
    ports = [f"port/{name}" for name in ("delay", "bottleneck", "delay-reverse", "bottleneck-reverse")]
    assert entities(run()) == ["flow/cubic-1", "flow/cubic-2", "flow/short", "flow/cubic-3", *ports]


def test_names_become_positions():
    chosen = {"flows": ["cubic"], "groups": ["short", "cubic", "short"], "ports": ["bottleneck-reverse"], "shares": "all"}
    assert plain_plan(flows=FLOWS, series=chosen)["series"] == {"flows": [0, 2], "groups": [0, 1, 2], "ports": [3], "shares": [0, 1, 2, 3]}
    assert plain_plan(flows=FLOWS, series={"flows": "none", "ports": []})["series"]["flows"] == []


def test_only_what_is_chosen_is_kept_and_nothing_else_changes(tmp_path):
    whole = run()
    some = run(tmp_path, flows=["short"], groups=["cubic"], ports=["bottleneck"], shares=["bottleneck"])
    shares = [f"share/bottleneck/{each}" for each in ("flow/short", "group/cubic", "group/cubic-2")]
    assert entities(some) == ["flow/short", "group/cubic", "group/cubic-2", "port/bottleneck", *shares]
    assert (some.flows, some.ports) == (whole.flows, whole.ports)
    for name in ("cwnd", "srtt_ms"):
        for ours, theirs in zip(some.series("flow/short", name), whole.series("flow/short", name), strict=True):
            assert np.array_equal(ours, theirs)
    assert some.series("group/cubic", "rx_bytes")[1][-1] == sum(whole.counters[f"flow/cubic-{i}"]["rx_bytes"] for i in (1, 2))
    # Data are read half a round trip after they left the bottleneck, headers are counted too, and the sender starts with ten segments.
    sent, read = some.series(shares[0], "sent_bytes"), some.series("flow/short", "rx_bytes")
    assert np.array_equal(sent[0], read[0])
    assert (sent[1] >= read[1]).all()
    assert sent[1][-1] > 10 * 1514
    with pytest.raises(KeyError):
        some.series("flow/cubic-1", "cwnd")
    kinds = ("flow", "group", "port", "share")
    assert {kind: tuple(names) for kind, names in some.sampled.items()} == {kind: schema().sampled(kind, "sim") for kind in kinds}


def test_metrics_of_flows_without_series_are_those_of_the_tables():
    whole, some = run().summary, run(flows=["short"]).summary
    assert some.flows["short"] == pytest.approx(whole.flows["short"], nan_ok=True)
    assert np.isnan(some.flows["cubic-1"]["srtt_mean_ms"])
    assert some.flows["cubic-1"]["flow_goodput_mbit"] == whole.flows["cubic-1"]["flow_goodput_mbit"]
    assert np.isnan(some.run["srtt_mean_ms"]), "the mean of some is not that of all"
    assert np.isnan(some.run["srtt_p95_ms"])
    assert some.run["goodput_mbit"] == whole.run["goodput_mbit"]
    assert run(flows=["short", "cubic"]).summary == whole


def test_a_choice_of_all_is_no_other_scenario():
    usual, same = resolved(flows=FLOWS), resolved(flows=FLOWS, series={"flows": "all"})
    assert usual.dump() == same.dump()
    assert "series" not in usual.dump()
    other = resolved(flows=FLOWS, series={"ports": "none"}).dump()
    assert Series.model_validate(other["series"]) == Series(ports="none")


@pytest.mark.parametrize("series", [{}, {"flows": "none"}, {"groups": "all", "shares": ["bottleneck"]}, {"ports": []}])
def test_the_number_of_samples_is_known_before(series):
    (prepared,) = prepare([resolved(flows=[{"cc": "cubic", "count": 2}], duration="3s", series=series)])
    (done,) = execute([prepared], executor=Threads(1))
    values = sum(block.values.size for block in done.samples)
    assert values == expected_samples(prepared.plan, "sim")


WRITTEN = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 100p}}}
flows: [{cc: cubic}]
duration: 1s
series:
  SERIES
"""


@pytest.mark.parametrize(
    ("series", "told"),
    [
        ("flows: [cubci]", "a.yaml:6: series.flows.0: there are no flows 'cubci' (did you mean 'cubic'?); expected cubic"),
        ("groups: [a]", "a.yaml:6: series.groups.0: there are no flows 'a'; expected cubic"),
        ("flows: some", "a.yaml:6: series.flows: 'some' chooses nothing; expected all, none or a list of names"),
        ("ports: [3]", "a.yaml:6: series.ports: this chooses nothing; expected all, none or a list of names"),
        ("ports: {}", "a.yaml:6: series.ports: this chooses nothing; expected all, none or a list of names"),
        ("port: all", "a.yaml:6: series.port: unknown key (did you mean 'ports'?); expected one of flows, groups, ports, shares, state"),
        (
            "{shares: [bottleneck], flows: none}",
            "a.yaml:6: series.shares: no flows and no groups have series; expected series.flows or series.groups too",
        ),
        (
            "shares: [bottelneck]",
            "a.yaml:6: series.shares.0: there is no port 'bottelneck' (did you mean 'bottleneck'?); "
            "expected one of delay, bottleneck, delay-reverse, bottleneck-reverse",
        ),
    ],
)
def test_a_choice_of_what_there_is_not_is_refused_with_its_line(series, told):
    with pytest.raises(ScenarioError) as error:
        prepare(Scenario.from_text(WRITTEN.replace("SERIES", series), "a.yaml").expand())
    assert str(error.value).splitlines() == [told]


@pytest.mark.parametrize(
    ("series", "lacks"),
    [
        ({"groups": "all"}, "series.groups: the engine kernel has no series of groups"),
        ({"shares": "all"}, "series.shares: the engine kernel has no shares of ports"),
    ],
)
def test_the_kernel_refuses_what_it_has_not(series, lacks):
    with pytest.raises(ScenarioError) as error:
        prepare([resolved(engine="kernel", series=series)])
    assert str(error.value) == f"{lacks}; expected engine: sim"


def test_what_the_kernel_is_told_does_not_depend_on_the_choice():
    found = [engine("kernel").compile(prepare_plan(series)).files for series in ({}, {"flows": "none", "ports": ["bottleneck"]})]
    assert found[0] == found[1]


def prepare_plan(series):
    return make(resolved(flows=FLOWS, series=series), engine("kernel").capabilities()).plan


def test_a_plan_without_a_choice_has_every_series():
    plan = plain_plan(flows=FLOWS, duration="2s")
    del plan["series"]
    tables = native().simulate(json.dumps(plan))["tables"]
    assert [table["entity"] for table in tables][:5] == ["flow/cubic-1", "flow/cubic-2", "flow/short", "flow/cubic-3", "port/delay"]


def test_a_figure_shows_what_has_series():
    from dumbbell.drawing.run_figure import run_figure

    figure = run_figure(run(flows=["cubic"], ports="none"), "screen")
    shown = {text.get_text() for text in figure.findobj(Text)}
    assert {"cubic-1", "cubic-3", "queue length (packets)"} <= shown
    assert not [text for text in shown if "short" in text]
