"""A check that the data which flows have in flight are where the bottleneck says that they are.

The queue of a FIFO holds the data in flight beyond the path itself. If several segments travel as one packet, or wait in a queue that
nobody counts (of a driver, of a switch), flows have more in flight than both, and no throughput shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dumbbell.plan import Plan, Queue

_FIFOS = ("pfifo", "bfifo")
"""Whose queues stand: others hold little, and the rest is noise."""
_FACTOR = 1.5
"""Times the queue that is still no cause for doubt."""
_NOISE = 10
"""Packets that are acknowledged late, or lost and not yet known to be."""
_SETTLED_RTTS = 10
_LEAST_SAMPLES = 10
_INFLIGHT, _FLOW_ROW = 5, 11
_QLEN, _PORT_ROW = 2, 7
"""Columns of the agent's rows, and how many there are (sample.c)."""


def doubts(plan: Plan, folder: Path) -> Iterator[str]:
    """A line for each FIFO that holds less than the flows through it have in flight. `folder`: as `engines.linux.collect` reads it.

    Only where all that passes it are bulk flows with one base RTT and one size of segments, and this is the first queue that limits them.
    """
    connections = list(plan.connections)
    sizes = {tcp.frame_bytes for tcp in plan.tcp}
    paths = {workload.path for workload in plan.workloads}
    if not plan.sample_ns or plan.schedule or len(paths) != 1 or len(sizes) != 1 or len(connections) != len(list(plan.flows)):
        return
    if len(directions := {workload.direction for workload in plan.workloads}) != 1 or any(each.transfer_bytes for each, _ in connections):
        return
    path, (direction,) = plan.paths[paths.pop()], directions
    data, _ = path.ways(direction)
    rates = {i: port.shaper["rate_bps"] for i in data if isinstance(port := plan.ports[i], Queue) and "rate_bps" in port.shaper}
    if not rates:
        return
    at = min(rates, key=lambda i: rates[i])
    port = plan.ports[at]
    assert isinstance(port, Queue)  # it has a rate of a shaper
    if port.qdisc["kind"] not in _FIFOS:
        return
    from_ns = max(flow.start_ns for _, flow in connections) + _SETTLED_RTTS * path.base_rtt_ns
    to_ns = min([plan.duration_ns, *(flow.stop_ns for _, flow in connections if flow.stop_ns is not None)])
    flying = [_mean(folder / f"flow-{i}", _FLOW_ROW, _INFLIGHT, from_ns, to_ns) for i, _ in enumerate(connections)]
    queued = _mean(folder / f"port-{at}", _PORT_ROW, _QLEN, from_ns, to_ns)
    if queued is None or None in flying:
        return
    on_path = rates[at] * path.base_rtt_ns / (8e9 * sizes.pop())
    beyond = sum(each for each in flying if each is not None) - on_path
    if beyond > _FACTOR * queued + _NOISE + 2 * len(connections):
        text = f"port/{port.id}: flows have {beyond:.0f} packets in flight beyond the path on average, and the queue holds {queued:.0f}"
        yield f"{text}: another queue holds them, or one packet there is several segments"


def _mean(path: Path, columns: int, column: int, from_ns: int, to_ns: int) -> float | None:
    """None if there are too few samples."""
    rows = np.fromfile(path, dtype="<f8").reshape(-1, columns) if path.is_file() else np.empty((0, columns))
    values = rows[(rows[:, 0] >= from_ns) & (rows[:, 0] <= to_ns), column]
    return float(np.nanmean(values)) if values.size >= _LEAST_SAMPLES else None
