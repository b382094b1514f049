"""What no run can have been: numbers that contradict the scenario, each other, or time. Each check says why its bound is one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from dumbbell.engines.base import _most_bits, _ways_of_data
from dumbbell.native import native
from dumbbell.plan import Link, Plan, Queue, Workload
from dumbbell.results import Run

_SIGNED = {"owd", "jitter"}
"""Beginnings of the names of what may be below zero: none is known; delays of clocks that agree are not."""


def absurdities(plan: Plan, run: Run) -> Iterator[str]:
    """A line for each number of a run that cannot be."""
    if run.status == "invalid":
        yield f"invalid: {'; '.join(run.reasons)}"
        return
    yield from _numbers(run)
    yield from _series(plan, run)
    yield from _times(plan, run)
    yield from _rates(plan, run)
    yield from _round_trips(plan, run)
    yield from _captures(run)


def _numbers(run: Run) -> Iterator[str]:
    """Counts, times and sizes are finite and not below zero."""
    for table in (run.flows, run.groups, run.ports, run.tins):
        for row in table.rows():
            for name, value in row.items():
                if isinstance(value, int | float) and not 0 <= value < math.inf:
                    yield f"{_of(row)}: {name} is {value}"


def _series(plan: Plan, run: Run) -> Iterator[str]:
    """Samples are in order of time, within the run, and finite."""
    for block in run.samples:
        for name, t_ns, values in block.series():
            what = f"{block.entity}: {name}"
            if np.any(np.diff(t_ns) < 0):
                yield f"{what} goes back in time"
            if t_ns[0] < 0 or t_ns[-1] > plan.duration_ns:
                yield f"{what} is from {t_ns[0]} to {t_ns[-1]} ns, outside the run"
            if not np.all(np.isfinite(values)) or np.any(values < 0):
                yield f"{what} is {values[~np.isfinite(values) | (values < 0)][0]}"


def _times(plan: Plan, run: Run) -> Iterator[str]:
    """Nothing ends before it begins, or lasts longer than there is time."""
    for row in run.flows.rows():
        start, end = row["start_ns"], row["end_ns"]
        if not start <= end <= plan.duration_ns and start <= plan.duration_ns:
            yield f"{_of(row)}: from {start} to {end} ns"
        if not start <= row.get("completed_ns", start) <= end:
            yield f"{_of(row)}: completed at {row['completed_ns']} of {start} to {end} ns"
        limited_ms = sum(value for name, value in row.items() if name.endswith("_limited_ms"))
        # Its clock counts on until the last ACK, as docs/results.md says; a flow that is not complete has no such time.
        most_ns = (plan.duration_ns if "completed_ns" in row else end) - start
        # Parts are told in ticks of the stack, of which each of the four kinds may be one more.
        if limited_ms > most_ns / 1e6 + 4 * _tick_ms(plan, row):
            yield f"{_of(row)}: limited for {limited_ms} ms of {most_ns / 1e6} ms"
    for row in run.groups.rows():
        for kind in ("completion", "latency"):
            found = [row[f"{kind}_{name}_ms"] for name in ("median", "p95", "p99", "max") if f"{kind}_{name}_ms" in row]
            if any(a > b for a, b in pairwise(found)) or (found and found[-1] > plan.duration_ns / 1e6):
                yield f"{_of(row)}: {kind} times {found} ms"


def _rates(plan: Plan, run: Run) -> Iterator[str]:
    """The payload that came over TCP fits through the slowest port of its way, with what its bucket held and one packet on the line."""
    bits = _most_bits(plan)
    for row, workload in _rows(plan, run):
        if workload.over is None or "rx_bytes" not in row:
            continue
        room = 0.0
        for ports, _ in _ways_of_data(plan, workload):
            known = [most + 8 * _held_bytes(plan, i, row) for i in ports if (most := bits[i]) is not None]
            room += min(known, default=math.inf)
        if 8 * row["rx_bytes"] > room:
            yield f"{_of(row)}: read {row['rx_bytes']} bytes, {room / 8:.0f} fit through its way"


def _held_bytes(plan: Plan, port: int, row: Mapping[str, Any]) -> int:
    """Bytes of a flow that a port lets through beyond its rate."""
    queue = plan.ports[port]
    if not isinstance(queue, Queue):
        return plan.frame_bytes
    # cake may be told that packets are smaller on the line than they are.
    smaller = max(-(queue.qdisc.get("overhead_bytes") or 0), 0) * row["arrived_packets"]
    # A trace of opportunities lets as much through as its period has, whose mean the rate is.
    period = (
        queue.shaper["rate_bps"] * queue.shaper["at_ms"][-1] // 8000 if queue.shaper["kind"] == "trace" and queue.shaper["at_ms"] else 0
    )
    return int(queue.shaper.get("burst_bytes", 0)) + plan.frame_bytes + smaller + period


def _round_trips(plan: Plan, run: Run) -> Iterator[str]:
    """RTTs are no less than the delays of both ways."""
    for row, workload in _rows(plan, run):
        if workload.over is None:
            continue
        ways = [
            plan.paths[i]
            for i in (workload.parameters.get("paths", [workload.path]) if hasattr(workload, "parameters") else [workload.path])
        ]
        base_ns = min(sum(map(_least_delay_ns, [plan.ports[i] for i in (*path.forward, *path.reverse)])) for path in ways)
        # Where an ACK is of what was sent again, timestamps measure, in ticks; on old stacks always. A smoothed RTT is of such samples.
        least_ms = base_ns / 1e6 - _tick_ms(plan, row)
        for name in ("min_rtt_ms", "srtt_ms"):
            if row.get(name, math.inf) < least_ms:
                yield f"{_of(row)}: {name} is {row[name]}, the way takes {base_ns / 1e6} ms"


def _least_delay_ns(port: Link | Queue) -> int:
    """The least that a port delays any packet."""
    if isinstance(port, Queue):
        return port.delay_ns
    if port.own_rtt is not None:
        return 0  # a part of the RTT of each connection, which the plan does not have
    # Jitter takes from the delay as well, and what is reordered overtakes by leaving at once, as with netem.
    return 0 if {"jitter", "reorder"} & set(port.faults or ()) else port.delay_ns


def _captures(run: Run) -> Iterator[str]:
    """Captures can be read to their end, and are in order of time."""
    for name, content in run.captures.items():
        tally = native().analyze(content).tally()
        if tally["damage"] or tally["cut_short"] or tally["earlier_than_previous"]:
            yield f"{name}: {tally}"


def _tick_ms(plan: Plan, row: Mapping[str, Any]) -> float:
    """The longest tick of a clock of the flow's stack: timestamps count ms at best."""
    for found, workload in zip([row] * len(plan.workloads), plan.workloads, strict=True):
        over = workload.over
        if over is not None and _owns(workload, found):
            hz = over.options.get("hz") or _default_hz(over.stack)
            return max(1.0, 1000 / hz)
    return 10.0


def _default_hz(stack: str) -> int:
    from dumbbell.engines import engine

    return int(engine("sim").capabilities().stack[stack].options["hz"])


def _rows(plan: Plan, run: Run) -> Iterator[tuple[Mapping[str, Any], Workload]]:
    """The rows of flows, each with its workload."""
    for row in run.flows.rows():
        for workload in plan.workloads:
            if _owns(workload, row):
                yield row, workload
                break


def _owns(workload: Workload, row: Mapping[str, Any]) -> bool:
    """Whether a flow is of a workload: its own, or one that it made while the run went on."""
    names = [connection.name for connection in workload.flows]
    is_tcp = (workload.over is not None) == (row["transport"] == "tcp")
    return is_tcp and (row["flow"] in names or (not names and row["group"] == workload.id))


def _of(row: Mapping[str, Any]) -> str:
    return str(next(f"{key} {row[key]}" for key in ("flow", "group", "port", "tin") if key in row))
