"""Promises of every engine about requests and responses, and of the simulator about connections that come and go."""

import json

import numpy as np
import pytest
from matplotlib.text import Text
from support import PATH

from dumbbell.drawing.run_figure import run_figure
from dumbbell.engines.base import expected_packets
from dumbbell.executor import Threads
from dumbbell.results import Store, load
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

EXCHANGE = {"kind": "exchange", "cc": "cubic", "request": "2kB", "response": "50kB", "think": "100ms"}
TRANSFERS = {"kind": "transfers", "cc": "cubic", "size": "15kB", "arrivals": {"kind": "poisson", "every": "100ms"}}


def prepared(engine="sim", **more):
    settings = {"name": "traffic", "path": PATH, "duration": "5s", "engine": engine, **more}
    return prepare(Scenario.model_validate(settings).expand())


def group(found, name="exchange"):
    return next(row for row in found.groups.rows() if row["group"] == name)


def test_requests_are_answered_and_the_latency_of_each_is_known(run):
    found = run(flows=[], background=[{**EXCHANGE, "connections": 2, "count": 10}], duration="8s")
    assert (found.status, found.flows.names) == ("ok", ["exchange-1", "exchange-2"])
    row = group(found)
    assert (row["kind"], row["cc"], row["connections"], row["completed"], row["transactions"]) == ("exchange", "cubic", 2, 2, 20)
    assert row["rx_bytes"] == 20 * 52_000
    latencies = np.concatenate([found.series(f"flow/{name}", "latency_ms")[1] for name in found.flows.names])
    assert len(latencies) == 20
    figures = [latencies.mean(), np.median(latencies), np.percentile(latencies, 95), latencies.max()]
    assert [row[f"latency_{name}_ms"] for name in ("mean", "median", "p95", "max")] == pytest.approx(figures)
    # Two round trips for what the first window does not hold, and twice the time on the line if both ask at once.
    assert 20 + 50_000 * 8 / 10_000 < latencies.min() < latencies.max() < 200
    for each in found.flows.rows():
        t_s, _ = found.series(f"flow/{each['flow']}", "latency_ms")
        assert each["completed_ns"] / 1e9 == pytest.approx(t_s[-1], abs=1e-5)
        assert (each["rx_bytes"], each["end_ns"]) == (10 * 52_000, each["completed_ns"])


def test_an_exchange_goes_on_until_it_is_stopped(run):
    found = run(flows=[], background=[{**EXCHANGE, "direction": "reverse", "start": {"first": "1s"}, "duration": "2s"}], duration="5s")
    (row,), (flow,) = found.groups.rows(), found.flows.rows()
    assert (row["connections"], row["completed"], "completion_mean_ms" in row) == (1, 0, False)
    assert (flow["start_ns"], flow["end_ns"], "completed_ns" in flow) == (10**9, 3 * 10**9, False)
    times, _ = found.series("flow/exchange", "latency_ms")
    assert 8 <= row["transactions"] == len(times)
    assert 1 < times[0] < times[-1] <= 3


def test_requests_beside_a_bulk_flow_and_datagrams_take_longer(run):
    alone = run(flows=[], background=[EXCHANGE], duration="5s")
    both = run(background=[{"rate": "1mbit"}, EXCHANGE], duration="5s")
    assert both.flows.names == ["cubic", "udp", "exchange"]
    assert both.flows.column("transport") == ["tcp", "udp", "tcp"]
    assert group(both)["latency_median_ms"] > 1.2 * group(alone)["latency_median_ms"]
    assert both.status == "ok"


def test_the_row_of_transfers_is_that_of_their_connections():
    (found,) = execute(prepared(flows=[], background=[{**TRANSFERS, "rows": True, "duration": "4s"}]), None, Threads(1))
    (row,) = found.groups.rows()
    flows = found.flows.rows()
    assert found.status == "ok"
    assert 20 < row["connections"] == row["completed"] == len(flows) < 70
    assert [flow["flow"] for flow in flows] == [f"transfers-{i + 1}" for i in range(len(flows))]
    assert {(flow["group"], flow["cc"], flow["transport"]) for flow in flows} == {("transfers", "cubic", "tcp")}
    taken_ms = np.array([flow["completed_ns"] - flow["start_ns"] for flow in flows]) / 1e6
    figures = [taken_ms.mean(), np.median(taken_ms), np.percentile(taken_ms, 95), taken_ms.max()]
    assert [row[f"completion_{name}_ms"] for name in ("mean", "median", "p95", "max")] == pytest.approx(figures)
    assert row["rx_bytes"] == sum(flow["rx_bytes"] for flow in flows) == 15_000 * len(flows)
    assert row["sent_packets"] == sum(flow["sent_packets"] for flow in flows)
    assert "transactions" not in row


def test_rows_change_nothing_but_the_table_and_the_seed_changes_the_arrivals():
    def sums(seed, **more):
        (found,) = execute(prepared(seed=seed, background=[{**TRANSFERS, **more}], flows=[{"cc": "cubic"}]), None, Threads(1))
        return found.groups, len(found.flows), found.status

    groups, flows, status = sums(1)
    assert (flows, status) == (1, "ok")
    assert sums(1, rows=True)[0] == groups
    assert sums(2)[0] != groups


def test_a_group_of_transfers_has_series():
    more = {"flows": [], "background": [{**TRANSFERS, "name": "web"}], "series": {"groups": ["web"]}, "sample": "10ms"}
    (found,) = execute(prepared(**more), None, Threads(1))
    row = group(found, "web")
    t_s, alive = found.series("group/web", "flows")
    _, read = found.series("group/web", "rx_bytes")
    assert (len(t_s), alive.min(), read[-1]) == (501, 0, row["rx_bytes"])
    assert 1 <= alive.max() <= row["connections"]
    assert (np.diff(read) >= 0).all()
    # Little's law: the mean number that are open is their rate times how long each takes.
    expected = row["completed"] / 5 * row["completion_mean_ms"] / 1e3
    assert alive.mean() == pytest.approx(expected, rel=0.15)


def test_shares_of_bulk_flows_and_transfers_are_what_the_port_handed_on():
    series = {"flows": "none", "groups": ["cubic", "small", "many"], "ports": ["bottleneck"], "shares": ["bottleneck"]}
    often = {**TRANSFERS, "arrivals": {"kind": "regular", "every": "3ms"}, "size": "3kB"}
    background = [{**TRANSFERS, "name": "small"}, {**often, "name": "many"}]
    more = {"flows": [{"cc": "cubic"}], "background": background, "duration": "4s", "sample": "100ms", "series": series}
    (found,) = execute(prepared(**more), None, Threads(1))
    t_s, whole = found.series("port/bottleneck", "sent_bytes")
    shares = [found.series(f"share/bottleneck/group/{name}", "sent_bytes") for name in series["groups"]]
    assert all(np.array_equal(times, t_s) for times, _ in shares)
    assert np.array_equal(sum(values for _, values in shares), whole)
    assert min(values[-1] for _, values in shares) > 400_000


def test_a_store_keeps_groups_and_tables_show_them(dumbbell, tmp_path):
    scenario = {"name": "kept", "path": PATH, "duration": "3s", "background": [EXCHANGE, {**TRANSFERS, "rows": True}]}
    (tmp_path / "kept.yaml").write_text(json.dumps(scenario))
    out = tmp_path / "out"
    told = dumbbell("run", tmp_path / "kept.yaml", "--out", out, "--rows")
    assert (told.status, "latency median ms" in told.out) == (0, True)
    (kept,) = load(out)
    (again,) = Store(out).runs()
    assert kept.groups.names == ["exchange", "transfers"]
    assert kept.groups == again.groups
    assert load(out).groups["group"].to_list() == ["exchange", "transfers"]
    listed = json.loads(dumbbell("table", out, "--groups", "--json").out)["rows"]
    assert [row["group"] for row in listed] == ["exchange", "transfers"]
    assert float(listed[0]["latency_median_ms"]) == pytest.approx(group(kept)["latency_median_ms"], rel=1e-5)
    assert "completion_median_ms" in dumbbell("table", out).out


def test_a_figure_shows_latencies_and_groups():
    background = [EXCHANGE, {**TRANSFERS, "name": "web"}]
    (found,) = execute(prepared(flows=[], background=background, series={"groups": ["web"]}), None, Threads(1))
    shown = {text.get_text() for text in run_figure(found, "screen").findobj(Text)}
    assert {"latency of\nrequests (ms)", "congestion window\n(packets)", "exchange", "web", "bottleneck"} <= shown
    (found,) = execute(prepared(flows=[], background=[EXCHANGE]), None, Threads(1))
    assert "congestion window\n(packets)" not in {text.get_text() for text in run_figure(found, "screen").findobj(Text)}


def test_a_plan_costs_what_its_traffic_sends():
    def packets(*background):
        (run,) = prepared(flows=[], background=list(background))
        return expected_packets(run.plan)

    assert packets({**EXCHANGE, "count": 10, "connections": 2}) == 20 * (2 + 35)
    assert packets({**EXCHANGE, "think": "1s"}) == 6 * (2 + 35)
    assert packets({**TRANSFERS, "count": 7}) == 7 * 11
    onoff = {"kind": "onoff", "cc": "cubic", "rate": "2mbit"}
    assert packets(onoff) == 126 * 7
    assert packets({**onoff, "on": "400ms", "off": "600ms"}) == 6 * 10 * 7
    assert packets({"kind": "onoff", "cc": "cubic", "burst": "1MB", "off": "2s"}) == 3 * 691
    page = {"kind": "page", "cc": "cubic", "size": "15kB", "objects": 10, "first": "1kB"}
    assert packets({**page, "pages": 3, "clients": 2}) == 6 * (2 + 10 * 12)
    assert packets({"kind": "streaming", "cc": "cubic", "bitrate": "1mbit", "chunks": 2, "connections": 3}) == 6 * (1 + 346)
    assert packets({**TRANSFERS, "duration": "1s"}) == 11 * 11
    both = 2 * 10_000_000 * 5 // (8 * 1514)
    assert packets({**EXCHANGE, "think": "0s"}) == both
    assert packets({**EXCHANGE, "think": "0s"}, {"rate": "1mbit"}) == both + 5 * 10**9 // (1514 * 8 * 1000) + 1
