"""The measures that are compared, on a synthetic run."""

from dataclasses import replace

import numpy as np
import pytest
from support import tables

import dumbbell
from dumbbell import Scenario
from dumbbell.agreement.measures import ALL, COMPLETED, DEFINITIONS, METRICS, QUEUES, measured, measures, scenario_flows
from dumbbell.results import Block, Run, Table

SECOND = 10**9


def flow(start_s, active_s, rx_bytes, **more):
    return {"start_ns": int(start_s * SECOND), "active_ns": int(active_s * SECOND), "rx_bytes": rx_bytes, "retransmits": 2, **more}


def port(**more):
    return {"dropped_overflow": 0, "dropped_aqm": 0, "arrived_packets": 9, "sent_packets": 9, "queued_packets": 0, **more}


def series(entity, srtt, cwnd, first_s=0):
    t_ns = (first_s + np.arange(len(srtt))) * SECOND
    return Block(entity, ("cwnd", "srtt_ms"), t_ns.astype(np.int64), np.array([cwnd, srtt], dtype=float))


@pytest.fixture
def run():
    """Two flows: reno from 0 to 4 s, cubic from 2 s to its completion at 3 s."""
    return Run(
        key="0",
        name="two",
        cell={},
        scenario={
            "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "10p"}}, "reverse": "none"},
            "flows": [{"cc": "reno"}, {"cc": "cubic", "bytes": "500kB"}],
            "duration": "4s",
        },
        plan={"ports": [{"kind": "link", "id": "delay"}, {"kind": "queue", "id": "bottleneck"}]},
        status="ok",
        reasons=(),
        **tables(
            {
                "flow/reno": flow(0, 4, 2_000_000),
                "flow/cubic": flow(2, 1, 500_000, completed_ns=3 * SECOND),
                "port/delay": port(dropped_overflow=3),
                "port/bottleneck": port(dropped_overflow=5, dropped_aqm=1, dropped_blue=1, dropped_impairment=100, ce_marks=7),
            }
        ),
        groups=Table.of_rows(
            "groups",
            [
                {"group": "web", "kind": "transfers", "completed": 9, "completion_median_ms": 50.0, "completion_p95_ms": 80.0},
                {"group": "web <10kB", "kind": "transfers", "sizes": "<10kB", "completed": 5, "completion_median_ms": 1.0},
                {"group": "ask", "kind": "exchange", "completed": 1, "completion_median_ms": 1.0, "completion_p95_ms": 1.0},
            ],
        ),
        digest="",
        samples=(
            series("flow/reno", [np.nan, 20, 30, 40, 50], [10, 20, 30, 40, 50]),
            series("flow/cubic", [60, 80, 1000], [10, 20, 1000], first_s=2),
            *(
                Block(f"port/{name}", ("backlog_packets",), np.arange(5) * SECOND, np.array([[0.0, 9, 9, 18, 9]]))
                for name in ("bottleneck", "delay")
            ),
            Block("port/bottleneck", ("srtt_ms",), np.array([0]), np.array([[5000.0]])),
        ),
    )


def test_every_metric_of_a_run(run):
    found = measures(run)
    rates = (2_000_000 * 8 / 4 / 1e6, 500_000 * 8 / 1 / 1e6)
    assert rates == (4.0, 4.0)
    expected = {
        (ALL, "goodput"): 2_500_000 * 8 / 4 / 1e6,
        (ALL, "rtt_mean"): np.mean([20, 30, 40, 50, 60, 80]),
        (ALL, "rtt_p95"): np.percentile([20, 30, 40, 50, 60, 80], 95),
        (ALL, "cwnd_mean"): np.mean([20, 30, 40, 50, 10, 20]),
        (ALL, "retransmits"): 4,
        (ALL, "jain"): 1.0,
        ("flow/reno", "share"): 0.5,
        ("flow/cubic", "share"): 0.5,
        ("flow/cubic", "completion"): 1.0,
        ("flow/cubic", COMPLETED): 1.0,
        ("port/delay", "drops"): 3,
        ("port/delay", "ce_marks"): 0,
        ("port/bottleneck", "drops"): 7,
        ("port/bottleneck", "ce_marks"): 7,
        # Little's law: nine packets wait on average, and nine leave in four seconds.
        ("port/bottleneck", "queue_delay"): 4000,
        ("port/bottleneck", QUEUES): 1,
        ("group/web", "transfers_median"): 50,
        ("group/web", "transfers_p95"): 80,
    }
    assert found == pytest.approx(expected)
    of_others = {"latency_median", "latency_p95", "transactions", "stalled", "probe_rtt"}
    assert {metric for _, metric in found} == {*METRICS, COMPLETED, QUEUES} - of_others


def test_probes_are_compared_by_their_mean_rtt(run):
    ping = {"flow": "ping", "kind": "ping", "transport": "icmp", "start_ns": 0, "end_ns": SECOND, "rtt_mean_ms": 21.5}
    flows = Table.of_rows("flows", [*run.flows.rows(), ping])
    assert measures(replace(run, flows=flows))["ping/ping", "probe_rtt"] == 21.5


def test_applications_are_measured_by_what_they_wait_for(run):
    row = {"group": "video", "transactions": 7, "latency_median_ms": 12.5, "latency_p95_ms": 40.0, "stalled_ms": 1500.0}
    found = measures(replace(run, groups=Table.of_rows("groups", [row, {"group": "web", "completed": 3}])))
    of_group = {metric: value for (entity, metric), value in found.items() if entity.startswith("group/")}
    assert of_group == {"latency_median": 12.5, "latency_p95": 40.0, "transactions": 7, "stalled": 1.5}
    assert METRICS.keys() == DEFINITIONS.keys()


def test_a_flow_alone_has_no_share(run):
    alone = {"flow/reno": run.counters["flow/reno"]}
    one = replace(
        run, scenario={**run.scenario, "flows": [{"cc": "reno"}]}, **tables(alone), groups=Table("groups", {}), samples=run.samples[:2]
    )
    assert {metric for _, metric in measures(one)} == {"goodput", "rtt_mean", "rtt_p95", "cwnd_mean", "retransmits"}


def test_without_samples_there_is_no_mean(run):
    found = measures(replace(run, samples=()))
    assert np.isnan(found[ALL, "rtt_mean"])
    assert np.isnan(found[ALL, "cwnd_mean"])
    assert found[ALL, "goodput"] == 5.0


def test_repeats_are_grouped(run):
    assert measured([run, run])[("two", ALL), "goodput"] == [5.0, 5.0]


def test_flows_are_named_as_the_engines_name_them(run):
    groups = scenario_flows(replace(run, scenario={"flows": [{"cc": "reno", "count": 2}, {"cc": "cubic"}]}))
    assert {entity: group.cc.kind for entity, group in groups.items()} == {
        "flow/reno-1": "reno",
        "flow/reno-2": "reno",
        "flow/cubic": "cubic",
    }


def test_a_run_of_probes_alone_is_measured_by_them():
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}}
    scenario = {"name": "p", "path": path, "background": [{"kind": "ping", "interval": "100ms"}], "duration": "2s"}
    (run,) = dumbbell.run(Scenario.model_validate(scenario))
    found = measures(run)
    assert ("ping/ping", "probe_rtt") in found
    assert (ALL, "goodput") not in found
    assert found["ping/ping", "probe_rtt"] == pytest.approx(20.0, abs=0.2)
