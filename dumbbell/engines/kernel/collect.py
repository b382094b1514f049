"""From what a guest leaves in its folder to a run: series, counters, conservation.

Flows are not followed packet by packet; what is asserted is that every port hands on, drops or holds whatever the filters of the ports
before it gave it. A flow's counters are those of TCP_INFO at both ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.engines.linux import Devices, peer
from dumbbell.plan import Link, Plan

if TYPE_CHECKING:
    from dumbbell.results import Block

_FLOW_COLUMNS = (
    ("cwnd", "packets"),
    ("ssthresh", "packets"),
    ("srtt_ms", "ms"),
    ("min_rtt_ms", "ms"),
    ("inflight", "packets"),
    ("delivered", "packets"),
    ("delivered_ce", "packets"),
    ("retransmits", "packets"),
    ("rx_bytes", "bytes"),
    ("ca_state", "0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
)
_PORT_COLUMNS = (
    ("backlog_bytes", "bytes"),
    ("backlog_packets", "packets"),
    ("drops", "packets"),
    ("ce_marks", "packets"),
    ("sent_packets", "packets"),
    ("sent_bytes", "bytes"),
)
"""What a row of the agent's (sample.c) holds after the time in ns, and its units."""
FLOW_SERIES, PORT_SERIES = len(_FLOW_COLUMNS), len(_PORT_COLUMNS)

Counters = dict[str, dict[str, int]]


@dataclass(frozen=True)
class _Queue:
    """What a device's queue came to."""

    packets: int
    bytes: int
    drops: int
    queued: int
    marks: int


@dataclass
class _Counted:
    """The agent's counters (count.c), all read at one instant."""

    flows: dict[int, dict[str, int]] = field(default_factory=dict)
    queues: dict[str, _Queue] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=dict)
    """Device to the packets that filters handed to it."""
    lost: dict[str, int] = field(default_factory=dict)
    """Device to the packets that a filter dropped when they came out of it."""

    @classmethod
    def read(cls, path: Path) -> _Counted:
        """The counters of a run."""
        found = cls()
        for line in path.read_text(encoding="ascii").splitlines():
            match line.split():
                case ["flow", index, key, value]:
                    found.flows.setdefault(int(index), {})[key] = int(value)
                case ["queue", device, *numbers]:
                    found.queues[device] = _Queue(*map(int, numbers))
                case ["hop", _, to, packets]:
                    found.arrived[to] = found.arrived.get(to, 0) + int(packets)
                case ["lost", device, packets]:
                    found.lost[device] = found.lost.get(device, 0) + int(packets)
        return found


def blocks(plan: Plan, folder: Path) -> Iterator[Block]:
    """The series, flows first."""
    for i, (_, connection) in enumerate(plan.connections):
        yield _block(folder / f"flow-{i}", f"flow/{connection.name}", _FLOW_COLUMNS)
    for i, port in enumerate(plan.ports):
        yield _block(folder / f"port-{i}", f"port/{port.id}", _PORT_COLUMNS)


def _block(path: Path, entity: str, columns: tuple[tuple[str, str], ...]) -> Block:
    from dumbbell.results import Block

    rows = np.fromfile(path, dtype="<f8").reshape(-1, len(columns) + 1)
    names, units = zip(*columns, strict=True)
    return Block(entity, names, units, rows[:, 0].astype(np.int64), np.ascontiguousarray(rows[:, 1:].T))


def counters(plan: Plan, devices: Devices, folder: Path) -> tuple[Counters, list[str]]:
    """Final counters by entity, and what conservation finds wrong."""
    counted = _Counted.read(folder / "counters")
    ports, wrong = _port_counters(plan, devices, counted, _details(folder / "end.json"))
    return _flow_counters(plan, counted) | ports, wrong


def _flow_counters(plan: Plan, counted: _Counted) -> Counters:
    found: Counters = {}
    index = -1
    for index, (_, connection) in enumerate(plan.connections):
        values = counted.flows[index]
        ends = [values.get("completed_ns"), connection.stop_ns, plan.duration_ns]
        values["rx_bytes"] = values.pop("received")
        values["start_ns"] = connection.start_ns
        values["active_ns"] = max(0, min(end for end in ends if end is not None) - connection.start_ns)
        found[f"flow/{connection.name}"] = values
    for i, (_, stream) in enumerate(plan.streams, index + 1):
        found[f"udp/{stream.name}"] = {"sent_packets": counted.flows[i]["sent"], "arrived_packets": counted.flows[i]["received"]}
    return found


def _details(path: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """What tc prints of each queue discipline, by device and handle; it was asked a moment after the counters were read."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {(entry["dev"], entry["handle"]): entry for entry in entries}


def _port_counters(
    plan: Plan, devices: Devices, counted: _Counted, details: Mapping[tuple[str, str], Mapping[str, Any]]
) -> tuple[Counters, list[str]]:
    found: Counters = {}
    wrong: list[str] = []
    for port, device, delay, leaf in zip(plan.ports, devices.queues, devices.delays, devices.leaves, strict=True):
        entity = f"port/{port.id}"
        queue, lost = counted.queues[device], counted.lost.get(peer(device), 0)
        overflow = queue.drops if isinstance(port, Link) else min(queue.drops, _overflow(details[device, leaf], queue.drops))
        values = {
            "arrived_packets": counted.arrived.get(device, 0),
            "sent_packets": queue.packets,
            "sent_bytes": queue.bytes,
            "dropped_overflow": overflow,
            "dropped_aqm": queue.drops - overflow,
            "dropped_impairment": lost,
            "queued_packets": queue.queued,
            "ce_marks": queue.marks,
        }
        if delay is not None:
            last, handed = counted.queues[delay], counted.arrived.get(delay, 0)
            values["delayed_packets"] = last.queued
            if handed != last.packets + last.queued:
                wrong.append(f"{entity}: {handed} packets came to its delay, {last.packets + last.queued} are accounted for")
            if queue.packets != handed + lost:
                wrong.append(f"{entity}: sent {queue.packets} packets, {handed} came to its delay and {lost} were lost")
        found[entity] = values
    return found, wrong


def _overflow(leaf: Mapping[str, Any], drops: int) -> int:
    """Drops for want of room; the rest are the discipline's own. cake does not tell them apart: all count as its own."""
    match leaf["kind"]:
        case "codel":
            return int(leaf["drop_overlimit"])
        case "fq_codel":
            return int(leaf["drop_overlimit"]) + int(leaf.get("drop_overmemory", 0))
        case "pie" | "fq_pie":
            return int(leaf["overlimit"])
        case "red":
            return int(leaf["pdrop"])
        case "cake":
            return 0
    return drops
