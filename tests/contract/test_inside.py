"""State and columns on every engine: the same names with the same units, and nothing made up for what an engine does not know."""

import math

import numpy as np
import pytest

from dumbbell import catalogue
from dumbbell.results import schema
from dumbbell.results.rates import RATES, rates
from dumbbell.results.windowed import WHOLE, Window

STATE = {
    "bbr": {"bw_bps", "model_min_rtt_ms", "pacing_gain", "cwnd_gain"},
    "dctcp": {"alpha", "window_bytes", "window_ce_bytes"},
    "vegas": {"base_rtt_ms", "round_rtt_ms", "rtt_samples", "watched"},
    "yeah": {"base_rtt_ms", "round_rtt_ms", "rtt_samples", "watched"},
    "illinois": {"base_rtt_ms", "mean_rtt_ms", "rtt_samples"},
    "westwood": {"base_rtt_ms", "last_rtt_ms"},
    "nv": {"base_rtt_ms", "mean_rtt_ms"},
}
"""Variables that every engine tells of a congestion control."""
SENDER = {"pacing_bps", "rto_ms", "rttvar_ms", "sacked", "lost", "retrans_out", "reordering"}
QUEUES = {
    "codel": {"codel_count", "codel_last_count", "dropping"},
    "pie": {"probability", "qdelay_ms"},
    "fq_codel": {"queues", "dropping_queues", "codel_count"},
    "cake": {"queues", "dropping_queues", "codel_count", "probability", "bulk_flows"},
}
"""Variables that every engine tells of a queue discipline."""


def told(run, entity):
    """Name -> samples of each state variable of an entity."""
    known = schema().series[entity.partition("/")[0]]
    found = {}
    for block in run.samples:
        if block.entity == entity:
            found |= {name: values for name, values in zip(block.names, block.values, strict=True) if known[name].source == "state"}
    return found


@pytest.mark.parametrize("cc", sorted(STATE))
def test_congestion_controls_tell_their_state(run, cc):
    qdisc = {"kind": "codel", "ecn": True, "ce_threshold": "2ms"} if cc == "dctcp" else {"kind": "pfifo", "limit": "50p"}
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": qdisc}}
    made = run(path=path, flows=[{"cc": cc}], duration="4s", series=["control"], sample="20ms")
    found = told(made, f"flow/{cc}")
    declared = {each.name for each in (*catalogue.states("sender")["sender"], *catalogue.states("cc")[cc])}
    assert SENDER | STATE[cc] <= found.keys() <= declared
    assert np.nanmax(found["rto_ms"]) >= 200
    for name in found.keys() & {"base_rtt_ms", "model_min_rtt_ms"}:
        assert 19 < np.nanmedian(found[name]) < 30, name
    if cc == "dctcp":
        assert 0 < found["alpha"][-1] < 1
        assert np.nanmax(found["window_ce_bytes"]) <= np.nanmax(found["window_bytes"])
    if cc == "bbr":
        assert 9e6 < found["bw_bps"][-1] < 10e6


@pytest.mark.parametrize("kind", sorted(QUEUES))
def test_disciplines_tell_their_state(run, kind):
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": kind}}}
    made = run(path=path, flows=[{"cc": "cubic", "count": 3}], duration="4s", series=["queue"], sample="20ms")
    found = told(made, "port/bottleneck")
    declared = {each.name for each in catalogue.states("qdisc")[kind]}
    assert QUEUES[kind] <= found.keys() <= declared
    if "queues" in found:
        assert np.nanmax(found["queues"]) == 3
    if "dropping" in found:
        assert set(found["dropping"][np.isfinite(found["dropping"])]) == {0.0, 1.0}
    if kind == "pie":
        assert 0 < np.nanmax(found["probability"]) < 0.5


def test_state_changes_no_run(run):
    plain = run(duration="3s", flows=[{"cc": "bbr"}])
    more = run(duration="3s", flows=[{"cc": "bbr"}], series=["control", "queue"])
    assert plain.flows.rows() == more.flows.rows()
    assert plain.ports.rows() == more.ports.rows()


def test_names_choose_variables(run):
    made = run(duration="2s", flows=[{"cc": "bbr"}], series=["pacing_gain"])
    assert told(made, "flow/bbr").keys() == {"pacing_gain"}
    assert not told(made, "port/bottleneck")


def test_all_names_are_those_of_one_schema(run, engine):
    made = run(duration="3s", flows=[{"cc": "cubic", "count": 2}], series=["control", "queue"])
    known = schema()
    for block in made.samples:
        assert set(block.names) <= known.series[block.entity.partition("/")[0]].keys(), block.entity
    for kind in ("flow", "port"):
        wanted = set(known.sampled(kind, engine.name))
        names = {name for block in made.samples if block.entity.startswith(f"{kind}/") for name in block.names}
        assert wanted <= names
    for table in (made.flows, made.groups, made.ports, made.tins):
        assert set(table.frame.columns) <= known.table(table.name).keys()
    for quantity in known.flows.values():
        if quantity.of_every_engine and not quantity.optional:
            assert None not in made.flows.column(quantity.name), quantity.name
    for quantity in known.ports.values():
        if quantity.of_every_engine and not quantity.optional:
            assert None not in made.ports.column(quantity.name), quantity.name


def test_columns_of_tables_have_the_same_names_and_unknown_ones_no_value(run):
    made = run(duration="3s", flows=[{"cc": "cubic", "count": 2}])
    for per, names in RATES.items():
        for window in (WHOLE, Window(1, 3)):
            for row in rates(made, per, window).values():
                assert row.keys() == set(names)
                assert all(math.isnan(value) or value >= 0 for name, value in row.items() if name != "queue_delay_mean_ms")
    (flow, *_) = rates(made, "flow", WHOLE).values()
    assert flow["mark_rate"] == 0
    assert flow["retransmission_rate"] > 0
    assert rates(made, "port", WHOLE)["bottleneck"]["loss_rate"] > 0
