"""Memory that runs keep on the heap, as the example `memory` of crates/sim counts it.

python -m benchmarks.memory
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.arguments import end_with, show
from benchmarks.example import build
from dumbbell.bench.cases import CASES
from dumbbell.bench.measure import Row, network
from dumbbell.bench.present import lines

TARGETS = {
    "bytes_per_idle_flow": 16_000,
    "bytes_of_10000_idle_flows": 160_000_000,
    "bytes_of_1000000_short_flows": 16_000_000,
    "bytes_of_process": 500_000_000,
    "bytes_per_segment_in_flight": 64,
}
"""Targets, bytes. About 500 of the short flows are alive at a time. The size of a segment is that with all rings full: they hold a power of
two, and just after they doubled it is a third more."""


_PROGRAM = """
import resource, sys
from dumbbell.native import native
native().simulate(sys.stdin.read())
print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""Simulates a plan; prints the most memory that the process had."""


def measure() -> Row:
    """Bytes per flow, per segment, of whole runs, and of a process. Raises `EnvironmentFault` if the example cannot be built."""
    done = subprocess.run([build("memory")], capture_output=True, text=True, check=True)
    plan = network(CASES["transfers-1000000"].scenario)
    process = subprocess.run([sys.executable, "-c", _PROGRAM], input=plan, capture_output=True, text=True, check=True)
    return {"name": "memory", "targets": TARGETS, **json.loads(done.stdout), "bytes_of_process": int(process.stdout)}


if __name__ == "__main__":
    end_with(lambda: show(lines(measure())))
