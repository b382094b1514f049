"""Benchmarks of large sweeps: preparing one of their runs, and `dumbbell plan`."""

from __future__ import annotations

import json
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from dumbbell.bench.table import command_cpu_s
from dumbbell.collector import collector_paused
from dumbbell.engines import default
from dumbbell.running.prepare import prepared_each
from dumbbell.scenario import Scenario

_WARM, _CELLS = 100, 500
_CUBIC = [{"kind": "cubic", "beta": beta} for beta in (512, 614, 819)]
_SCENARIO = {
    "name": "sweep",
    "path": {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
    "flows": [{"cc": "cubic"}, {"cc": "reno", "start": "1s"}],
    "duration": "60s",
    "sweep": {
        "flows.0.cc": ["cubic", "reno", "dctcp", "cubic-sce", "reno-sce", "dctcp-sce", *_CUBIC],
        "path.rtt": [f"{10 * i}ms" for i in range(1, 12)],
        "path.bottleneck.rate": [f"{i}mbit" for i in range(1, 101)],
        "path.bottleneck.qdisc.limit": [f"{i / 2:g}bdp" for i in range(1, 11)],
    },
}
"""99,000 runs."""


def cell_cpu_s(repeats: int) -> float:
    """CPU seconds of preparing a run, the best of several times `_CELLS` of them."""
    best = float("inf")
    for _ in range(repeats):
        runs = prepared_each(Scenario.model_validate(_SCENARIO).on(default()).runs())
        with collector_paused():  # all as `PreparedSweep` does it
            count = sum(1 for _ in islice(runs, _WARM))
            began = time.process_time()
            count = sum(1 for _ in islice(runs, _CELLS))
            best = min(best, (time.process_time() - began) / count)
    return best


def plan_cpu_s(repeats: int) -> float:
    """CPU seconds (user and system) of `dumbbell plan`, the best of several."""
    with TemporaryDirectory(prefix="dumbbell-bench-") as folder:
        file = Path(folder) / "sweep.yaml"
        file.write_text(json.dumps(_SCENARIO), encoding="utf-8")
        return min(command_cpu_s("plan", str(file), "--out", f"{folder}/out") for _ in range(repeats))
