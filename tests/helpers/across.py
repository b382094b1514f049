"""Sweeps of made-up outlines, for tests of figures and tables across runs."""

from itertools import product

from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.results import Outline, Summary
from dumbbell.results.summary import DATAGRAM_METRICS, FLOW_METRICS, GROUP_METRICS, RUN_METRICS, Traits

NAN = float("nan")


def outline(cell, flows, name="made", engine="sim", groups=(), streams=(), **run):
    """A run: `flows` are (name, group, cc, direction, goodput); `groups` (name, latency), `streams` (name, RTT); `run` its own metrics."""

    def filled(names, **values):
        return {column: float(values.get(column, NAN)) for column in names}

    traits = {
        "flows": {flow: Traits(group, cc, direction) for flow, group, cc, direction, _ in flows},
        "groups": {group: Traits(group, "cubic", "forward") for group, _ in groups},
        "datagrams": {stream: Traits(stream, "", "forward") for stream, _ in streams},
    }
    rates = [rate for *_, rate in flows]
    bulk = {group: sum(rate for _, of, _, _, rate in flows if of == group) for _, group, *_ in flows}
    together = {"flows": len(flows), "goodput_mbit": sum(rates), "srtt_mean_ms": 10 * sum(rates), **run}
    summary = Summary(
        "ok",
        {flow: filled(FLOW_METRICS, flow_goodput_mbit=rate, srtt_mean_ms=10 * rate, retransmits=2) for flow, *_, rate in flows},
        filled(RUN_METRICS, **together),
        {group: filled(GROUP_METRICS, goodput_mbit=rate) for group, rate in bulk.items()}
        | {group: filled(GROUP_METRICS, connections=1, latency_median_ms=latency) for group, latency in groups},
        {stream: filled(DATAGRAM_METRICS, rtt_median_ms=rtt) for stream, rtt in streams},
        traits,
        engine,
    )
    return Outline(cell, summary, name, "0" * 32)


def sweep(label="a", engine="sim", repeats=4, **more):
    """Two congestion controls over three RTTs, and over the given keys, with several seeds: goodput is 10 plus the number of the congestion
    control, the RTT / 100 and the run's number / 10."""
    keys = {"path.rtt": ("20ms", "80ms", "160ms"), "flows.0.cc": ("reno", "cubic"), **more}
    runs = []
    for values in product(*keys.values()):
        cell = dict(zip(keys, values, strict=True))
        for seed in range(1, repeats + 1):
            rate = 10 + ("reno", "cubic").index(cell["flows.0.cc"]) + int(cell["path.rtt"][:-2]) / 100 + seed / 10
            flows = [("a", "a", cell["flows.0.cc"], "forward", rate / 2), ("b", "b", "reno", "reverse", rate / 2)]
            runs.append(outline({**cell, "seed": seed}, flows, engine=engine, drops=seed))
    return RunSet(label, runs)
