"""Metrics over a part of a run: every number of a windowed table is computed here a second time, from the rows of the series themselves."""

import math
import random

import numpy as np
import pytest

from dumbbell.errors import BadInput
from dumbbell.results.summary import (
    DATAGRAM_METRICS,
    FLOW_METRICS,
    GROUP_METRICS,
    RUN_METRICS,
    summarise,
    summarise_window,
)
from dumbbell.results.windowed import Window, measured_window, window_of
from dumbbell.running.execute import execute
from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import Scenario, ScenarioError

UNKNOWN = {
    "flow": {"rwnd_limited", "sndbuf_limited", "app_limited", "reported_mbit", "reported_retransmits"},
    "run": {"responsiveness_rpm"},
    "group": {"slowdown_mean", "slowdown_median", "slowdown_p95", "slowdown_p99", "startup_mean_ms", "stalls", "stalled_ms", "retransmits"},
    "datagrams": {"sent_packets", "reordered_packets", "late_packets", "r_factor", "mos"},
}
"""Metrics that no series tells."""


def scenario(**more):
    """Traffic of every kind that has metrics: bulk flows that come and go, a transfer, connections, requests, a ping, a voice call."""
    path = {"rtt": "30ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "codel", "ecn": True}}}
    flows = [
        {"cc": "cubic", "name": "a", "count": 2, "ecn": True},
        {"cc": "bbr", "name": "b", "start": "2s", "duration": "7s"},
        {"cc": "reno", "name": "c", "start": "3s", "bytes": "500kB"},
    ]
    background = [
        {"kind": "transfers", "name": "many", "cc": "cubic", "size": "30kB", "arrivals": {"kind": "poisson", "load": 0.04}, "rows": True},
        {"kind": "exchange", "name": "ask", "cc": "cubic", "request": "100B", "response": "20kB", "think": "100ms"},
        {"kind": "ping", "name": "ping"},
        {"kind": "voip", "name": "call"},
    ]
    settings = {"name": "w", "path": path, "flows": flows, "background": background, "duration": "12s", "series": {"groups": "all"}}
    return Scenario(**{**settings, **more}).expand()[0]


@pytest.fixture(scope="module", params=[True, False], ids=["all", "without-requests"])
def run(request):
    """With requests, whose bytes no series tells, the goodput of the run is not known for a window."""
    background = scenario().dump()["background"]
    return compute(scenario() if request.param else scenario(background=[each for each in background if each["kind"] != "exchange"]))


def same(a, b):
    """Equal, or both unknown."""
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-9, abs=1e-12)


class ByHand:
    """The sums over the rows of the long table."""

    def __init__(self, run):
        self.rows = {}
        for entity, name, t_ns, value in run.frame.select("entity", "series", "t_ns", "value").iter_rows():
            self.rows.setdefault((entity, name), []).append((t_ns / 1e9, value))
        self.flows = {str(row["flow"]): row for row in run.flows.rows()}
        self.run = run

    def inside(self, entity, name, start, stop):
        """Values in a window."""
        return [value for t, value in self.rows.get((entity, name), ()) if start - 1e-9 <= t <= stop + 1e-9]

    def last(self, entity, name, t, total=None, end=math.inf):
        """Time and value of the last sample by then; the start counts as zero, and the end as all."""
        before = [(at, value) for at, value in self.rows.get((entity, name), ()) if at <= t + 1e-9]
        if total is not None and t >= end - 1e-9 and (not before or before[-1][0] < end):
            return end, float(total)
        return before[-1] if before else (t, 0.0)

    def of_flow(self, flow, name, t):
        """A total of a flow, whose last bytes may arrive after its end."""
        row = self.flows[flow]
        return self.last(f"flow/{flow}", name, t, row.get(name), row["end_ns"] / 1e9)


def windows(count=12):
    """Drawn windows whose ends are samples."""
    draw = random.Random(43)
    for _ in range(count):
        start = draw.randrange(0, 100)
        yield Window(start / 10, draw.randrange(start + 5, 121) / 10)


@pytest.mark.parametrize("window", list(windows()), ids=lambda window: window.words.replace(" ", "-"))
def test_every_metric_is_made_of_the_series(run, window):
    found, hand = summarise_window(run, window), ByHand(run)
    checked = {kind: set() for kind in UNKNOWN}

    def check(kind, values, expected):
        for name, value in expected.items():
            assert same(values[name], value), (kind, name, values[name], value)
            checked[kind].add(name)
        for name in UNKNOWN[kind]:
            assert math.isnan(values.get(name, math.nan)), name

    bulk = {"a-1", "a-2", "b", "c"} & hand.flows.keys() or {name for name, row in hand.flows.items() if row["kind"] == "tcp"}
    for flow, values in found.flows.items():
        row = hand.flows[flow]
        start, stop = max(row["start_ns"] / 1e9, window.start_s), min(row["end_ns"] / 1e9, window.stop_s)
        (t0, b0), (t1, b1) = hand.of_flow(flow, "rx_bytes", start), hand.of_flow(flow, "rx_bytes", stop)
        again = [hand.of_flow(flow, "retransmits", t)[1] for t in (start, stop)]
        srtt, cwnd = (hand.inside(f"flow/{flow}", name, start, stop) for name in ("srtt_ms", "cwnd"))
        done = (
            row.get("completed_ns") is not None and row["start_ns"] / 1e9 >= window.start_s and row["completed_ns"] / 1e9 <= window.stop_s
        )
        has_series = ("flow/" + flow, "rx_bytes") in hand.rows
        expected = {
            "flow_goodput_mbit": (b1 - b0) * 8 / (t1 - t0) / 1e6 if has_series and t1 > t0 else math.nan,
            "srtt_mean_ms": float(np.mean(srtt)) if srtt else math.nan,
            "srtt_p95_ms": float(np.percentile(srtt, 95)) if srtt else math.nan,
            "cwnd_mean_packets": float(np.mean(cwnd)) if cwnd else math.nan,
            "retransmits": again[1] - again[0] if has_series else math.nan,
            "completion_s": (row["completed_ns"] - row["start_ns"]) / 1e9 if done else math.nan,
        }
        check("flow", values, expected)
    assert checked["flow"] | UNKNOWN["flow"] == set(FLOW_METRICS)

    start, stop = window.start_s, window.stop_s
    sums = {}
    for group in found.groups:
        if (f"group/{group}", "rx_bytes") in hand.rows and group in set(run.groups.names):
            sums[group] = [
                hand.last(f"group/{group}", name, stop)[1] - hand.last(f"group/{group}", name, start)[1]
                for name in ("rx_bytes", "retransmits")
            ]
        else:
            members = [flow for flow, row in hand.flows.items() if row["group"] == group and row["transport"] == "tcp"]
            known = all((f"flow/{flow}", "rx_bytes") in hand.rows for flow in members)
            sums[group] = [
                sum(hand.of_flow(flow, name, stop)[1] - hand.of_flow(flow, name, start)[1] for flow in members) if known else math.nan
                for name in ("rx_bytes", "retransmits")
            ]
    rates = [values["flow_goodput_mbit"] for flow, values in found.flows.items() if flow in bulk]
    pooled = [
        value
        for flow in found.flows
        for value in hand.inside(
            f"flow/{flow}", "srtt_ms", max(start, hand.flows[flow]["start_ns"] / 1e9), min(stop, hand.flows[flow]["end_ns"] / 1e9)
        )
    ]
    ports = [f"port/{name}" for name in run.ports.names]
    over = {name: sum(hand.last(port, name, stop)[1] - hand.last(port, name, start)[1] for port in ports) for name in ("drops", "ce_marks")}
    total = [sum(each[i] for each in sums.values()) for i in (0, 1)]
    expected = {
        "flows": float(len(found.flows)),
        "goodput_mbit": total[0] * 8 / (stop - start) / 1e6,
        "jain_index": sum(rates) ** 2 / len(rates) / sum(rate * rate for rate in rates),
        "srtt_mean_ms": float(np.mean(pooled)),
        "srtt_p95_ms": float(np.percentile(pooled, 95)),
        "retransmits": total[1],
        **over,
    }
    check("run", found.run, expected)
    assert checked["run"] | UNKNOWN["run"] == set(RUN_METRICS)

    for group, values in found.groups.items():
        rows = [row for row in hand.flows.values() if row["group"] == group]
        waits = [value for row in rows for value in hand.inside(f"flow/{row['flow']}", "latency_ms", start, stop)]
        expected = {"goodput_mbit": sums[group][0] * 8 / (stop - start) / 1e6}
        if waits:
            expected |= {"transactions": float(len(waits)), "latency_mean_ms": float(np.mean(waits))}
            expected |= {"latency_median_ms": float(np.median(waits)), "latency_p95_ms": float(np.percentile(waits, 95))}
        if group == "many":
            done = [row for row in rows if row.get("completed_ns") and row["start_ns"] / 1e9 >= start and row["completed_ns"] / 1e9 <= stop]
            times = [(row["completed_ns"] - row["start_ns"]) / 1e6 for row in done]
            expected |= {"connections": float(sum(start <= row["start_ns"] / 1e9 <= stop for row in rows)), "completed": float(len(done))}
            if times:
                expected |= {"completion_mean_ms": float(np.mean(times)), "completion_median_ms": float(np.median(times))}
                expected |= {f"completion_p{q}_ms": float(np.percentile(times, q)) for q in (95, 99)} | {"completion_max_ms": max(times)}
        check("group", values, expected)
    if "ask" in found.groups and stop - start > 2:
        assert checked["group"] | UNKNOWN["group"] == set(GROUP_METRICS)

    for stream, values in found.datagrams.items():
        entity = f"{hand.flows[stream]['kind']}/{stream}"
        expected = {}
        for name in ("owd", "rtt"):
            if inside := hand.inside(entity, f"{name}_ms", start, stop):
                expected |= {f"{name}_mean_ms": float(np.mean(inside)), f"{name}_median_ms": float(np.median(inside))}
                expected |= {f"{name}_p{q}_ms": float(np.percentile(inside, q)) for q in (95, 99)}
        if jitter := hand.inside(entity, "jitter_ms", start, stop):
            expected["jitter_ms"] = float(np.mean(jitter))
        lost = hand.last(entity, "lost", stop)[1] - hand.last(entity, "lost", start)[1]
        arrived = len(hand.inside(entity, "rtt_ms", start, stop)) or len(hand.inside(entity, "owd_ms", start, stop))
        if lost + arrived:
            expected["lost_share"] = lost / (lost + arrived)
        check("datagrams", values, expected)
    assert checked["datagrams"] | UNKNOWN["datagrams"] == set(DATAGRAM_METRICS)


def test_totals_of_parts_add_up(run):
    parts = [summarise_window(run, Window(start, stop)) for start, stop in ((0, 4), (4, 9.5), (9.5, 12))]
    whole = summarise_window(run, Window(0, 12))
    for name in ("drops", "ce_marks", "retransmits"):
        assert same(math.fsum(part.run[name] for part in parts), whole.run[name])
    assert math.isnan(whole.run["goodput_mbit"]) == ("ask" in whole.groups)
    if "ask" in whole.groups:
        return
    lengths = (4, 5.5, 2.5)
    assert math.fsum(part.run["goodput_mbit"] * s for part, s in zip(parts, lengths, strict=True)) / 12 == pytest.approx(
        whole.run["goodput_mbit"]
    )


def test_the_whole_run_is_a_window_like_others(run):
    window, whole = summarise_window(run, Window()), summarise(run)
    for flow, values in whole.flows.items():
        for name in set(FLOW_METRICS) - UNKNOWN["flow"]:
            if not math.isnan(window.flows[flow][name]):
                # Data under way when a flow is stopped arrive after its time, and only the whole run counts them.
                assert window.flows[flow][name] == pytest.approx(values[name], rel=0.015, abs=1e-9), (flow, name)
    if "ask" not in whole.groups:
        assert window.run["goodput_mbit"] == pytest.approx(whole.run["goodput_mbit"], rel=0.01)


def test_a_scenario_says_its_window(tmp_path, dumbbell):
    made = compute(scenario(measure={"from": "4s", "until": "10s"}))
    assert measured_window(made) == Window(4, 10)
    assert made.summary == summarise_window(made, Window(4, 10)) or str(made.summary) == str(summarise_window(made, Window(4, 10)))
    plain = compute(scenario())
    assert made.digest == plain.digest
    assert made.key != plain.key
    execute(prepare([scenario(measure={"from": "4s", "until": "10s"})]), _store(tmp_path / "r"))
    assert "r, from 4 s to 10 s" in dumbbell("table", tmp_path / "r", "--runs").out
    assert "r, from 5 s" in dumbbell("table", tmp_path / "r", "--runs", "--from", "5s").out


def _store(path):
    from dumbbell.results import Store

    return Store(path)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ({"from": "5s", "until": "4s"}, "until: 4s is not after from: 5s"),
        ({"from": "12s"}, "12s is not within the duration; expected less than 12s"),
        ({"until": "13s"}, "13s is not within the duration; expected at most 12s"),
        ({"form": "1s"}, "from"),
    ],
)
def test_a_window_that_cannot_be_is_an_error(measure, message):
    with pytest.raises(ScenarioError, match=message):
        scenario(measure=measure)


def test_times_are_durations_or_seconds():
    assert window_of("40s", "2min") == Window(40, 120)
    assert window_of("1500ms", None) == Window(1.5)
    assert window_of(3, 4.5) == Window(3, 4.5)
    for wrong in (("soon", None), ("5s", "4s"), (None, "-1"), ("nan", None)):
        with pytest.raises(BadInput):
            window_of(*wrong)


def test_a_drift_is_warned_of(tmp_path, dumbbell):
    path = {"rtt": "100ms", "bottleneck": {"rate": "50mbit", "qdisc": {"kind": "pfifo", "limit": "10bdp"}}}
    for name, duration in (("young", "6s"), ("old", "60s")):
        flows = [{"cc": "reno", "name": "slow"}, {"cc": "cubic", "name": "fast"}]
        (found,) = Scenario(name=name, path=path, flows=flows, duration=duration).expand()
        execute(prepare([found]), _store(tmp_path / name))
    young = dumbbell("table", tmp_path / "young").err
    assert "in the second half: --from 3s leaves out the first" in young
