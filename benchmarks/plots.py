"""Cost of a figure of 1,000 runs: CPU time of the command `dumbbell plot`, the start of Python included, in a folder that `dumbbell run`
has just written, and in one without an index, whose metrics are computed from the series.

    python -m benchmarks.plots
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.arguments import end_with, show
from dumbbell.api import run
from dumbbell.bench.measure import Row
from dumbbell.bench.present import lines
from dumbbell.results.storage.index import INDEX
from dumbbell.scenario import Scenario

TARGETS = {"plot_cpu_s": 2.0}
_REPEATS = 3
_QUESTION = ("--x", "rtt", "--y", "goodput", "--by", "cc", "--where", "qdisc=cake")
_SCENARIO: dict[str, Any] = {
    "name": "thousand",
    "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
    "flows": [{"cc": "cubic", "count": 2, "start": {"jitter": "200ms"}}],
    "background": [{"kind": "ping"}],
    "duration": "5s",
    "sweep": {
        "flows.0.cc": ["cubic", "bbr", "reno", "bbr3", "vegas"],
        "path.rtt": ["10ms", "20ms", "40ms", "80ms"],
        "path.bottleneck.qdisc": [{"kind": "pfifo", "limit": "1bdp"}, "fq_codel", "cake", "codel", "pie"],
    },
    "repeat": 10,
}


def measure() -> Row:
    """CPU times: the minimum of several calls, and the single call that finds no index."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "runs"
        run(Scenario(**_SCENARIO), place)
        found = {
            "plot_cpu_s": min(_cpu_s(place, *_QUESTION) for _ in range(_REPEATS)),
            "summary_plot_cpu_s": min(_cpu_s(place) for _ in range(_REPEATS)),
        }
        (place / INDEX).unlink()
        found["unindexed_plot_cpu_s"] = _cpu_s(place, *_QUESTION)
    return {"name": "plots", "targets": TARGETS, **found}


def _cpu_s(place: Path, *options: str) -> float:
    """CPU time of `dumbbell plot` with these options."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "dumbbell", "plot", str(place), *options], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    end_with(lambda: show(lines(measure())))
