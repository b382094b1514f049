"""Checks of the quality of runs over machines: `dumbbell testbed lab -- python tests/bounds_testbed.py [--seconds S]`.

It prints a line for each bound: the measured value, the allowed range, and the verdict. It compares one flow of cubic at 10 Mbit/s and 20
ms behind three queues with the engine kernel with the same bucket, and sends pings on a path without other traffic. kill_testbed.py checks
what kills leave.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from dumbbell.engines.testbed.hosts import VARIABLE
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario

BURST = {"rate": "10mbit", "shaper": "tbf", "burst": "12500B"}
QDISCS = {"pfifo": {"kind": "pfifo", "limit": "100p"}, "fq_codel": {"kind": "fq_codel"}, "codel": {"kind": "codel"}}
MOST_GOODPUT = 10 * 1448 / 1514
SETTLED_S = 3.0


def scenario(name, qdisc, seconds, **more):
    path = {"rtt": "20ms", "bottleneck": {**BURST, "qdisc": QDISCS[qdisc]}}
    (one,) = Scenario.model_validate({"name": name, "path": path, "duration": f"{seconds}s", **more}).expand()
    return one


def timed(one):
    began = time.monotonic()
    run = compute(one, on="testbed")
    if run.status == "invalid":
        sys.exit(f"{one.name}: {'; '.join(run.reasons)}")
    return run, time.monotonic() - began


def series(run, entity, name):
    t_s, value = run.series(entity, name)
    return t_s[t_s >= SETTLED_S], value[t_s >= SETTLED_S]


def goodput(run):
    t_s, read = series(run, "flow/cubic", "rx_bytes")
    return 8e-6 * (read[-1] - read[0]) / (t_s[-1] - t_s[0])


def srtt(run):
    return float(np.nanmean(series(run, "flow/cubic", "srtt_ms")[1]))


def measured(seconds):
    """Yield the bounded quantity, its measured value, its minimum and its maximum."""
    pings = {"kind": "ping", "interval": "20ms", "start": "1s"}
    one, _ = timed(scenario("pings", "pfifo", 1 + seconds, flows=[{"cc": "cubic", "bytes": "20kB"}], background=[pings]))
    rtt_ms = one.series("ping/ping", "rtt_ms")[1]
    yield "ping, 20 ms: median, ms", np.nanpercentile(rtt_ms, 50), 20, 21.5
    yield "ping, 20 ms: p99, ms", np.nanpercentile(rtt_ms, 99), 20, 26
    # One after the other, as in a sweep; what a run takes besides its duration is that of such.
    runs = {name: timed(scenario(name, name, seconds, flows=[{"cc": "cubic"}])) for name in QDISCS}
    for name, (run, took_s) in runs.items():
        theirs = compute(scenario(name, name, seconds, flows=[{"cc": "cubic"}]), on="kernel")
        yield f"{name}: goodput of the most, %", 100 * goodput(run) / MOST_GOODPUT, 99, 100.1
        yield f"{name}: goodput of the kernel's, %", 100 * goodput(run) / goodput(theirs), 99, 101
        yield f"{name}: mean srtt beside the kernel's, ms", srtt(run), 0.9 * srtt(theirs) - 1, 1.1 * srtt(theirs) + 1
        if name == "pfifo":
            # The path's 20 ms and a queue of 100 packets, which is 121 ms when it is full.
            yield "pfifo: mean srtt, ms", srtt(run), 115, 141
        yield f"{name}: min_rtt, ms", np.nanmin(run.series("flow/cubic", "min_rtt_ms")[1]), 20, 21.5
        for entity in ("flow/cubic", "port/bottleneck"):
            between_ms = 1000 * np.diff(run.series(entity, "cwnd" if entity.startswith("flow/") else "backlog_bytes")[0])
            yield f"{name}: between samples of {entity}: p99, ms", np.percentile(between_ms, 99), 95, 105
            # None is missing.
            yield f"{name}: between samples of {entity}: most, ms", np.max(between_ms), 95, 150
        sender = next(machine for machine in run.engine["machines"] if machine.startswith("left"))
        yield f"{name}: processors of the sender", np.mean(series(run, f"host/{sender}", "cpu")[1]), 0, 0.2
        uncertain_ms = max(facts["clock"]["uncertainty_us"] for facts in run.engine["machines"].values()) / 1000
        yield f"{name}: uncertainty of clocks, ms", uncertain_ms, 0, 5
        yield f"{name}: beside the duration, s", took_s - seconds, 0, 5
    booted = json.loads((Path(os.environ[VARIABLE]).parent / "laboratory.json").read_text())
    yield "laboratory is ready after, s", booted["boot_s"], 0, 30


def main():
    """Prints a line for each bound; the exit status is 1 if one does not hold."""
    parser = argparse.ArgumentParser(description="how good runs over machines are")
    parser.add_argument("--seconds", type=int, default=30)
    asked = parser.parse_args()
    missed = 0
    for what, value, least, most in measured(asked.seconds):
        holds = least <= value <= most
        missed += not holds
        print(f"{'ok' if holds else 'MISSED':7}{what:52} {value:8.3f}   {least:g} to {most:g}", flush=True)
    print(f"{missed} bounds missed" if missed else "all bounds hold")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
