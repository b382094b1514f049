"""Finds absurd results: numbers that contradict the scenario, each other, or time. Each check says why its bound is one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from dumbbell.engines.base import most_bits, ways_of_data
from dumbbell.engines.sim.capabilities import capabilities
from dumbbell.native import native
from dumbbell.plan import Plan, Port, Queue, Workload
from dumbbell.results import Run


def absurdities(plan: Plan, run: Run) -> Iterator[str]:
    """A line for each number of a run that cannot be."""
    if run.status == "invalid":
        yield f"invalid: {'; '.join(run.reasons)}"
        return
    yield from _numbers(run)
    yield from _series(plan, run)
    yield from _times(plan, run)
    yield from _limits(plan, run)
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
    """Samples are in order of time, within the run, finite and not below zero."""
    assert isinstance(run.samples, tuple)  # in memory
    for block in run.samples:
        for name, t_ns, values in block.series():
            what = f"{block.entity}: {name}"
            if np.any(np.diff(t_ns) < 0):
                yield f"{what} goes back in time"
            if t_ns[0] < 0 or t_ns[-1] > plan.duration_ns:
                yield f"{what} is from {t_ns[0]} to {t_ns[-1]} ns, outside the run"
            wrong = values[~np.isfinite(values) | (values < 0)]
            if wrong.size:
                yield f"{what} is {wrong[0]}"


def _times(plan: Plan, run: Run) -> Iterator[str]:
    """Nothing ends before it begins, or after the run."""
    stops = {(connection.name, connection.stop_ns) for workload in plan.workloads for connection in workload.flows}
    for row in run.flows.rows():
        start, end = row["start_ns"], row["end_ns"]
        if not start <= end <= max(start, plan.duration_ns):
            yield f"{_of(row)}: from {start} to {end} ns"
        # Packets in flight may complete a transfer after its sender was cut off.
        last = plan.duration_ns if (row["flow"], end) in stops else end
        if not start <= row.get("completed_ns", start) <= last:
            yield f"{_of(row)}: completed at {row['completed_ns']} of {start} to {end} ns"
    for row in run.groups.rows():
        for kind in ("completion", "latency"):
            found = [row[f"{kind}_{name}_ms"] for name in ("median", "p95", "p99", "max") if f"{kind}_{name}_ms" in row]
            if any(a > b for a, b in pairwise(found)) or (found and found[-1] > plan.duration_ns / 1e6):
                yield f"{_of(row)}: {kind} times {found} ms"


def _limits(plan: Plan, run: Run) -> Iterator[str]:
    """No flow was limited for longer than there was time."""
    for row, workload in _over_tcp(plan, run):
        limited_ms = sum(value for name, value in row.items() if name.endswith("_limited_ms"))
        # The times end with the flow, as docs/results.md says.
        most_ns = row["end_ns"] - row["start_ns"]
        # Times are in ticks of the stack, of which each of the four kinds may be one more.
        if limited_ms > most_ns / 1e6 + 4 * _tick_ms(workload):
            yield f"{_of(row)}: limited for {limited_ms} ms of {most_ns / 1e6} ms"


def _rates(plan: Plan, run: Run) -> Iterator[str]:
    """The payload that came over TCP fits through the slowest port of its way, with what its bucket held and one packet on the line."""
    bits = most_bits(plan)
    for row, workload in _over_tcp(plan, run):
        room = 0.0
        for ports, _ in ways_of_data(plan, workload):
            known = [most + 8 * _held_bytes(plan, plan.ports[i], row) for i in ports if (most := bits[i]) is not None]
            room += min(known, default=math.inf)
        if 8 * row["rx_bytes"] > room:
            yield f"{_of(row)}: read {row['rx_bytes']} bytes, {room / 8:.0f} fit through its way"


def _held_bytes(plan: Plan, port: Port, row: Mapping[str, Any]) -> int:
    """Bytes of a flow that a port lets through beyond its rate."""
    if not isinstance(port, Queue):
        return plan.frame_bytes
    # cake may have parameters that make packets smaller on the link than they are.
    smaller = max(-(port.qdisc.get("overhead_bytes") or 0), 0) * row["arrived_packets"]
    # The rate of opportunities is their mean over the period, which may end before the period does.
    period_ms = port.shaper["at_ms"][-1] if port.shaper["kind"] == "trace" else 0
    burst = port.shaper.get("burst_bytes", 0) + port.shaper.get("rate_bps", 0) * period_ms // 8000
    return int(burst + plan.frame_bytes + smaller)


def _round_trips(plan: Plan, run: Run) -> Iterator[str]:
    """RTTs are no less than the delays of both ways."""
    for row, workload in _over_tcp(plan, run):
        base_ns = min(sum(_least_delay_ns(plan.ports[i]) for i in (*there, *back)) for there, back in ways_of_data(plan, workload))
        # Timestamps measure RTTs, in ticks, if an ACK is for a retransmission, and on old stacks always. A smoothed RTT may come from such
        # samples.
        for name in ("min_rtt_ms", "srtt_ms"):
            if row.get(name, math.inf) < base_ns / 1e6 - _tick_ms(workload):
                yield f"{_of(row)}: {name} is {row[name]}, the way takes {base_ns / 1e6} ms"


def _least_delay_ns(port: Port) -> int:
    """The minimum that a port delays any packet."""
    if isinstance(port, Queue):
        return port.delay_ns
    if port.own_rtt is not None:
        return 0  # a part of the RTT of each connection, which the plan does not have
    # Jitter may also shorten the delay, and reordered packets overtake by leaving at once, as with netem.
    return 0 if {"jitter", "reorder"} & set(port.faults or ()) else port.delay_ns


def _captures(run: Run) -> Iterator[str]:
    """Captures can be read to their end, and are in order of time."""
    for name, content in run.captures.items():
        tally = native().analyze(content).tally()
        if tally["damage"] or tally["cut_short"] or tally["earlier_than_previous"]:
            yield f"{name}: {tally}"


def _tick_ms(workload: Workload) -> float:
    """The tick of the stack's clocks, ms: its own, or that of timestamps, which count ms at best."""
    over = workload.over
    assert over is not None
    hz = over.options.get("hz", capabilities().stack[over.stack].options["hz"])
    return float(max(1.0, 1000 / hz))


def _over_tcp(plan: Plan, run: Run) -> Iterator[tuple[Mapping[str, Any], Workload]]:
    """The rows of TCP connections, each with its workload: those that were made while the run went on have none in the plan."""
    listed = {connection.name: workload for workload in plan.workloads if workload.over for connection in workload.flows}
    making = {workload.id: workload for workload in plan.workloads if workload.over and not workload.flows}
    for row in run.flows.rows():
        if row["transport"] == "tcp":
            yield row, listed.get(row["flow"]) or making[row["group"]]


def _of(row: Mapping[str, Any]) -> str:
    return str(next(f"{key} {row[key]}" for key in ("flow", "group", "port", "tin") if key in row))
