"""The engine testbed compared with the engine kernel: `dumbbell testbed lab -- python tests/compare_testbed.py --out FOLDER [--seed N]`.

Scenarios are drawn: 10 and 50 Mbit/s, five queue disciplines, one to four flows, 20 s, with a bucket for timers that may be late. It
compares the goodput of all flows together, the mean srtt of each flow and the mean queue of the bottleneck, after the first 3 s. They are
means over a few seeds whose flows start within 100 ms, the same on both engines, because the packet that is dropped first decides about
much of what follows. Runs are kept in FOLDER, so that the same command goes on where it was interrupted.
"""

import argparse
import random
import sys
from pathlib import Path

import numpy as np

from dumbbell.results import Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

_SETTLED_S = 3.0
_SEGMENT_BYTES = 1448
_LATE_US = 1000
_QDISCS = {
    "pfifo": {"kind": "pfifo", "limit": "100p"},
    "codel": {"kind": "codel"},
    "fq_codel": {"kind": "fq_codel"},
    "pie": {"kind": "pie"},
    "cake": {"kind": "cake"},
}


def drawn(seed, count, repeats):
    """The scenarios."""
    draw = random.Random(seed)
    for i in range(count):
        mbit, kind = draw.choice((10, 50)), draw.choice(sorted(_QDISCS))
        bottleneck = {"rate": f"{mbit}mbit", "qdisc": _QDISCS[kind]}
        if kind != "cake":
            bottleneck |= {"shaper": "tbf", "burst": f"{mbit * 1250}B"}
        flows = [{"cc": draw.choice(("cubic", "reno", "bbr")), "count": draw.randint(1, 4), "start": {"every": "200ms", "jitter": "100ms"}}]
        path = {"rtt": f"{draw.choice((10, 20, 40, 80))}ms", "bottleneck": bottleneck}
        name = f"testbed-{seed}-{i:02}"
        yield {"name": name, "path": path, "flows": flows, "duration": "20s", "seed": repeats * i + 1, "repeat": repeats}


def measured(run):
    """Goodput of all flows in Mbit/s, mean srtt of the flows in ms, mean queue in ms.

    Goodput is of the segments that have arrived (tcpi_delivered): what an application can read comes in leaps, when a gap is filled, and
    one at either end of the window puts three bbr flows behind codel above the line's rate.
    """
    rate_bps = 1e6 * float(run.scenario["path"]["bottleneck"]["rate"].removesuffix("mbit"))
    read, srtt_ms = 0.0, []
    for row in run.flows.rows():
        t_s, value = run.series(f"flow/{row['flow']}", "delivered")
        settled = t_s >= _SETTLED_S
        read += 8e-6 * _SEGMENT_BYTES * (value[settled][-1] - value[settled][0]) / (t_s[settled][-1] - t_s[settled][0])
        t_s, value = run.series(f"flow/{row['flow']}", "srtt_ms")
        srtt_ms.append(np.nanmean(value[t_s >= _SETTLED_S]))
    t_s, backlog = run.series("port/bottleneck", "backlog_bytes")
    return read, float(np.mean(srtt_ms)), 8e3 * float(np.mean(backlog[t_s >= _SETTLED_S])) / rate_bps


def main():
    """Prints a row a scenario, and how many are within the bounds."""
    parser = argparse.ArgumentParser(description="the engine testbed beside the engine kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    asked = parser.parse_args()
    goodputs, srtts, queues = [], [], []
    print(f"{'scenario':18} {'':28} {'Mbit/s':>15} {'srtt ms':>15} {'queue ms':>15}")
    for settings in drawn(asked.seed, asked.count, asked.repeats):
        runs = Scenario.model_validate(settings).expand()
        each = {name: execute(prepare([run.on(name) for run in runs]), Store(asked.out / name)).runs for name in ("kernel", "testbed")}
        for run in each["testbed"]:
            late = [f"{name} {facts['timers']['p99_us']:.0f} us" for name, facts in run.engine["machines"].items()]
            if run.status == "invalid" or any(facts["timers"]["p99_us"] > _LATE_US for facts in run.engine["machines"].values()):
                print(f"  {settings['name']} seed {run.scenario['seed']}: {run.status}, timers late by (p99) {', '.join(late)}", flush=True)
        theirs, ours = (np.mean([measured(run) for run in each[name]], axis=0) for name in ("kernel", "testbed"))
        (flow,) = settings["flows"]
        bottleneck = settings["path"]["bottleneck"]
        what = f"{bottleneck['rate']} {settings['path']['rtt']} {bottleneck['qdisc']['kind']} {flow['count']} {flow['cc']}"
        pairs = "".join(f" {a:7.2f}{b:8.2f}" for a, b in zip(ours, theirs, strict=True))
        print(f"{settings['name']:18} {what:28}{pairs}", flush=True)
        goodputs.append(abs(ours[0] / theirs[0] - 1))
        srtts.append(abs(ours[1] - theirs[1]) <= 0.1 * theirs[1] + 1)
        queues.append(abs(ours[2] - theirs[2]) <= max(0.1 * theirs[2], 2))
    median, p95 = np.median(goodputs), np.percentile(goodputs, 95)
    print(f"goodput of all flows: median {median:.2%}, p95 {p95:.2%}")
    print(f"mean srtt within 10 % + 1 ms: {np.mean(srtts):.0%}; mean queue within max(10 %, 2 ms): {np.mean(queues):.0%}")
    return not (median <= 0.01 and p95 <= 0.02 and np.mean(srtts) >= 0.9 and np.mean(queues) >= 0.9)


if __name__ == "__main__":
    sys.exit(main())
