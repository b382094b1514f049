"""From what a guest leaves in its folder to a run: series, counters, conservation.

Flows are not followed packet by packet; what is asserted is that every port hands on, drops or holds whatever the filters of the ports
before it gave it. A flow's counters are those of TCP_INFO at both ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.engines.kernel.lower import Guest
from dumbbell.scenario import DelayStage, ResolvedScenario

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


def blocks(guest: Guest, folder: Path) -> Iterator[Block]:
    """The series, flows first."""
    for i, flow in enumerate(guest.plan.flows):
        yield _block(folder / f"flow-{i}", f"flow/{flow.name}", _FLOW_COLUMNS)
    for i, name in enumerate(guest.plan.ports):
        yield _block(folder / f"port-{i}", f"port/{name}", _PORT_COLUMNS)


def _block(path: Path, entity: str, columns: tuple[tuple[str, str], ...]) -> Block:
    from dumbbell.results import Block

    rows = np.fromfile(path, dtype="<f8").reshape(-1, len(columns) + 1)
    names, units = zip(*columns, strict=True)
    return Block(entity, names, units, rows[:, 0].astype(np.int64), np.ascontiguousarray(rows[:, 1:].T))


def counters(guest: Guest, folder: Path, resolved: ResolvedScenario) -> tuple[Counters, list[str]]:
    """Final counters by entity, and what conservation finds wrong."""
    found = _flow_counters(guest, folder, resolved)
    ports, wrong = _port_counters(guest, folder)
    return found | ports, wrong


def _flow_counters(guest: Guest, folder: Path, resolved: ResolvedScenario) -> Counters:
    read: dict[int, dict[str, int]] = {}
    for line in (folder / "counters").read_text(encoding="ascii").splitlines():
        index, key, value = line.split()
        read.setdefault(int(index), {})[key] = int(value)
    found: Counters = {}
    for i, flow in enumerate(guest.plan.flows):
        values = read[i]
        ends = [values.get("completed_ns"), flow.stop_ns, int(resolved.settings.duration)]
        values["rx_bytes"] = values.pop("received")
        values["start_ns"] = flow.start_ns
        values["active_ns"] = max(0, min(end for end in ends if end is not None) - flow.start_ns)
        found[f"flow/{flow.name}"] = values
    for i, udp in enumerate(guest.plan.udp, len(guest.plan.flows)):
        found[f"udp/{udp.name}"] = {"sent_packets": read[i]["sent"], "arrived_packets": read[i]["received"]}
    return found


def _documents(path: Path) -> Iterator[Any]:
    """tc prints one JSON document after the other."""
    text, decoder, at = path.read_text(encoding="utf-8"), json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        document, at = decoder.raw_decode(text, at)
        yield document


def _port_counters(guest: Guest, folder: Path) -> tuple[Counters, list[str]]:
    roots: dict[str, Mapping[str, Any]] = {}
    leaves: dict[tuple[str, str], Mapping[str, Any]] = {}
    arrived: dict[str, int] = {}
    for document in _documents(folder / "end.json"):
        for entry in document:
            if "dev" in entry and "handle" in entry and "options" in entry and entry["kind"] != "clsact":
                leaves[entry["dev"], entry["handle"]] = entry
                if entry.get("root"):
                    roots[entry["dev"]] = entry
            for action in entry.get("options", {}).get("actions", ()):
                if action["kind"] == "mirred":
                    to = action["to_dev"]
                    arrived[to] = arrived.get(to, 0) + action["stats"]["packets"]
    lost = dict.fromkeys(guest.plan.ports, 0)
    for port, file in guest.outages:
        lost[port] += sum(action["stats"]["packets"] for action in _actions(folder / file))
    found: Counters = {}
    wrong: list[str] = []
    for name, planned in guest.plan.ports.items():
        device, delay = guest.devices[name], guest.delay_devices.get(name)
        root, leaf = roots[device], leaves[device, guest.leaves[name]]
        overflow = root["drops"] if isinstance(planned.stage, DelayStage) else _overflow(leaf, root["drops"])
        values = {
            "arrived_packets": arrived.get(device, 0),
            "sent_packets": root["packets"],
            "sent_bytes": root["bytes"],
            "dropped_overflow": overflow,
            "dropped_aqm": root["drops"] - overflow,
            "dropped_impairment": lost[name],
            "queued_packets": root["qlen"],
            "ce_marks": _marks(leaf),
        }
        if delay is not None:
            last = roots[delay]
            values["delayed_packets"] = last["qlen"]
            if (handed := arrived.get(delay, 0)) != last["packets"] + last["qlen"] + last["drops"]:
                wrong.append(f"port/{name}: {handed} packets came to its delay, {last['packets']} + {last['qlen']} are accounted for")
            if last["drops"]:
                wrong.append(f"port/{name}: its delay dropped {last['drops']} packets")
            if values["sent_packets"] != handed + lost[name]:
                wrong.append(f"port/{name}: sent {values['sent_packets']} packets, {handed} came to its delay")
        found[f"port/{name}"] = values
    return found, wrong


def _actions(path: Path) -> Iterator[Mapping[str, Any]]:
    for document in _documents(path):
        for entry in document:
            yield from entry.get("options", {}).get("actions", ())


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


def _marks(leaf: Mapping[str, Any]) -> int:
    if leaf["kind"] == "cake":
        return sum(int(tin["ecn_mark"]) for tin in leaf["tins"])
    if leaf["kind"] == "red":
        return int(leaf["marked"])
    return int(leaf.get("ecn_mark", 0))
