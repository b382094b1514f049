"""The goodput of groups and runs: what all their connections received in the window of the run, over its length."""

import math
import random

import numpy as np
import pytest

import dumbbell
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.observations import observations, sampled

RATE_MBIT = 20


def run_of(flows, duration_s=4, **more):
    path = {"rtt": "20ms", "bottleneck": {"rate": f"{RATE_MBIT}mbit", "qdisc": {"kind": "pfifo", "limit": "8bdp"}}}
    (run,) = dumbbell.run(
        dumbbell.Scenario.model_validate(
            {"name": "goodput", "path": path, "flows": flows, "duration": f"{duration_s}s", "sample": "50ms", **more}
        )
    )
    return run


def by_group(run):
    return {each.at["group"]: each.values for each in observations([RunSet("a", [run])], "group")}


def drawn(seed):
    """A few groups that begin and stop anywhere, of bulk flows, of sized ones, and of connections that come and go."""
    rng = random.Random(seed)
    flows = []
    for name in "abc"[: rng.randint(1, 3)]:
        flow = {"name": name, "cc": rng.choice(("cubic", "reno", "bbr")), "count": rng.randint(1, 4), "start": f"{rng.randint(0, 1500)}ms"}
        ends = rng.choice(({}, {"duration": f"{rng.randint(100, 3000)}ms"}, {"bytes": f"{rng.randint(10, 900)}kB"}))
        flows.append({**flow, **ends})
    web = {"kind": "transfers", "name": "web", "cc": "cubic", "size": "60kB", "arrivals": {"kind": "poisson", "every": "40ms"}}
    more = rng.choice(({}, {"background": [{**web, "rows": rng.random() < 0.5, "start": "300ms"}]}))
    return run_of(flows, seed=seed, **more)


@pytest.mark.parametrize("seed", range(20261124, 20261140))
def test_no_group_has_more_than_the_line_and_all_of_them_together_are_the_run(seed):
    run = drawn(seed)
    groups = [values["goodput_mbit"] for values in by_group(run).values()]
    assert all(0 < rate < RATE_MBIT for rate in groups)
    assert math.fsum(groups) == pytest.approx(run.summary.run["goodput_mbit"], rel=1e-12)
    assert run.summary.run["goodput_mbit"] < RATE_MBIT


def test_transfers_one_after_another_are_not_added_up_as_if_they_were_at_once():
    run = run_of([{"cc": "cubic", "count": 3, "bytes": "1MB", "start": {"every": "1s"}}])
    last_s = max(row["end_ns"] for row in run.flows.rows()) / 1e9
    assert sum(values["flow_goodput_mbit"] for values in run.summary.flows.values()) > 1.5 * RATE_MBIT
    assert run.summary.run["goodput_mbit"] == by_group(run)["cubic"]["goodput_mbit"] == pytest.approx(3 * 8 / last_s)


def test_of_one_flow_it_is_that_of_the_flow():
    run = run_of([{"cc": "cubic", "start": "500ms"}])
    (flow,) = run.summary.flows.values()
    assert by_group(run)["cubic"]["goodput_mbit"] == pytest.approx(flow["flow_goodput_mbit"], rel=1e-12)
    assert run.summary.run["goodput_mbit"] == pytest.approx(flow["flow_goodput_mbit"], rel=1e-12)


def test_what_arrives_after_a_flow_was_stopped_arrives_within_the_window():
    run = run_of([{"cc": "cubic", "duration": "300ms"}])
    (row,) = run.flows.rows()
    assert run.summary.run["goodput_mbit"] == pytest.approx(row["rx_bytes"] * 8 / 4e6)


@pytest.mark.parametrize("rows", [False, True])
def test_connections_that_come_and_go_are_part_of_the_run(rows):
    web = {
        "kind": "transfers",
        "name": "web",
        "cc": "reno",
        "size": "100kB",
        "arrivals": {"kind": "poisson", "every": "100ms"},
        "rows": rows,
    }
    run = run_of([{"cc": "cubic"}], background=[web])
    (group,), (bulk, *_) = run.groups.rows(), run.flows.rows()
    assert group["retransmits"] > 0
    found = run.summary.run
    assert found["flows"] == 1 + group["connections"]
    assert found["retransmits"] == bulk["retransmits"] + group["retransmits"]
    assert found["goodput_mbit"] == pytest.approx((bulk["rx_bytes"] + group["rx_bytes"]) * 8 / 4e6)
    assert run.summary.groups["web"]["goodput_mbit"] == pytest.approx(group["rx_bytes"] * 8 / 4e6)


def test_over_time_a_group_has_the_sum_of_its_flows():
    run = run_of([{"cc": "cubic", "count": 3, "start": {"jitter": "1s"}, "bytes": "600kB"}, {"cc": "reno"}])
    found, _ = sampled([RunSet("a", [run])], {"goodput": "group"}, 0.5)
    totals = {each.at["group"]: each.series for each in found["goodput"]}
    received = {group: sum(row["rx_bytes"] for row in run.flows.rows() if row["group"] == group) * 8 / 1e6 for group in ("cubic", "reno")}
    for group, (_, rates) in totals.items():
        assert 0.5 * rates.sum() == pytest.approx(received[group], rel=0.02)
    flows, _ = sampled([RunSet("a", [run])], {"flow_goodput": "flow"}, 0.5)
    (alone,) = [each.series for each in flows["flow_goodput"] if each.at["group"] == "reno"]
    np.testing.assert_allclose(totals["reno"][1][: len(alone[1])], alone[1])


def test_a_flow_that_lived_between_two_samples_counts_over_time():
    run = run_of([{"cc": "cubic", "count": 2, "bytes": "4kB", "start": {"first": "1080ms", "every": "40ms"}}], sample="100ms")
    assert ("flow/cubic-2", "rx_bytes") not in run.all_series("rx_bytes")
    found, _ = sampled([RunSet("a", [run])], {"goodput": "group"}, 1.0)
    ((_, rates),) = [each.series for each in found["goodput"]]
    assert rates.max() == pytest.approx(2 * 4000 * 8 / 1e6)
