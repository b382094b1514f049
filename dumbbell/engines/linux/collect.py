"""Reads the agent's output: series, tables, conservation.

Packets are not traced. Conservation is checked by port: each port must have forwarded, dropped or queued every packet that the filters of
the ports before it redirected to it. The counters of a flow are those of TCP_INFO at both ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.engines import datagrams
from dumbbell.engines.assembly import Measured, assembled
from dumbbell.engines.base import measuring
from dumbbell.engines.labels import flow_labels, group_labels
from dumbbell.engines.linux import ARRIVAL_BYTES, Devices, applications, came_file, coming, group_rows, overflow, peer, sce, tins
from dumbbell.engines.linux.sources.arrivals import arrivals
from dumbbell.engines.linux.sources.streams import Stream, streams
from dumbbell.engines.linux.state import state_blocks
from dumbbell.native import native
from dumbbell.plan import Connection, Link, Plan, Tcp, Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.engines.prepared import Prepared
    from dumbbell.results import Block, Run, Table

Row = dict[str, Any]


@dataclass(frozen=True)
class _Queue:
    """The final counters of a device's queue."""

    packets: int
    bytes: int
    drops: int
    queued: int
    marks: int
    sce_marks: int


@dataclass
class _Counted:
    """The agent's counters (count.c), which it reads at a single instant."""

    flows: dict[int, dict[str, int]] = field(default_factory=dict)
    queues: dict[str, _Queue] = field(default_factory=dict)
    arrived: dict[str, int] = field(default_factory=dict)
    """Device -> number of packets that filters redirected to it. One of several segments counts as so many."""
    lost: dict[str, int] = field(default_factory=dict)
    """Device -> number of packets that a filter dropped after they had left it."""
    passed: dict[int, dict[tuple[str, str], tuple[int, int]]] = field(default_factory=dict)
    """By flow of a program: end and way (`in` or `out`) -> packets and bytes that have passed its host's device."""
    ended: list[tuple[int, str, int, int]] = field(default_factory=list)
    """Programs that ended while their flows went on: flow, end, status, time (ns)."""
    out: dict[str, int] = field(default_factory=dict)
    """Device -> number of packets that have left it, of which one of several segments counts once."""

    @classmethod
    def read(cls, path: Path) -> _Counted:
        """The counters in the agent's file."""
        found = cls()
        for line in path.read_text(encoding="ascii").splitlines():
            match line.split():
                case ["flow", index, key, value]:
                    found.flows.setdefault(int(index), {})[key] = int(value)
                case ["queue", device, *numbers]:
                    found.queues[device] = _Queue(*map(int, numbers))
                case ["hop", _, to, packets]:
                    found.arrived[to] = found.arrived.get(to, 0) + int(packets)
                case ["out", device, packets]:
                    found.out[device] = int(packets)
                case ["passed", flow, end, way, packets, count]:
                    found.passed.setdefault(int(flow), {})[end, way] = int(packets), int(count)
                case ["ended", flow, end, status, at_ns]:
                    found.ended.append((int(flow), end, int(status), int(at_ns)))
                case ["lost", device, packets]:
                    found.lost[device] = found.lost.get(device, 0) + int(packets)
        return found


def _as_they_are(blocks: Iterable[Block], _flows: Table) -> Iterable[Block]:
    return blocks


@dataclass(frozen=True)
class Left:
    """Output of a run."""

    folder: Path
    """Folder with the agent's files."""
    plan: Plan
    """The plan as it was run."""
    devices: Devices
    captures: Mapping[str, bytes]
    facts: Mapping[str, Any]
    """Facts of the engine, for run.json."""
    doubts: tuple[str, ...] = ()
    """Reasons why numbers may not mean what their names say."""
    cpu_s: float | None = None
    series: Callable[[Iterable[Block], Table], Iterable[Block]] = _as_they_are
    """Function that changes the series; the table is that of flows."""


def run_of(prepared: Prepared, left: Left) -> Run:
    """The run that the agent left."""
    plan = left.plan
    outputs = applications.outputs(plan, left.folder)
    said = applications.reports(plan, outputs)
    measured = streams(plan, left.folder)
    flows, groups, ports, tins_found, wrong = tables(plan, left.devices, left.folder, measured, said)
    silent = tuple(f"flow/{name}: the program that made it has left no report" for name, columns in said.items() if not columns)
    ended = _Counted.read(left.folder / "counters").ended if applications.has_programs(plan) else []
    failed = tuple(applications.failures(plan, ended, outputs))
    groups_coming = {workload.id for _, workload in coming(plan)}
    return assembled(
        prepared,
        Measured(
            plan=plan,
            flows=flows,
            groups=groups,
            ports=ports,
            tins=tins_found,
            samples=tuple(left.series(blocks(plan, left.folder, measured, flows, prepared.engine), flows)) if plan.sample_ns else (),
            facts=left.facts,
            wrong=wrong,
            short_lived={f"flow/{name}" for name, group in zip(flows.names, flows.column("group"), strict=True) if group in groups_coming},
            doubts=(*left.doubts, *silent, *failed),
            captures=left.captures,
            outputs=outputs,
            cpu_s=left.cpu_s,
        ),
    )


def blocks(plan: Plan, folder: Path, measured: Mapping[int, Stream], flows: Table, engine: str) -> Iterator[Block]:
    """The series that an engine has, flows first. A row of the agent's file (sample.c): the time in ns, then the schema's series of every
    engine in order."""
    from dumbbell.results import Block, schema

    of_flow, of_port = (schema().sampled(kind, engine) for kind in ("flow", "port"))
    chosen = [workload.id for workload in map(plan.workloads.__getitem__, plan.series.flows)]
    for i, ((workload, connection), row) in enumerate(zip(plan.connections, flows.rows(), strict=False)):
        if workload.id in chosen and workload.transport == "tcp":
            yield _block(folder / f"flow-{i}", f"flow/{connection.name}", of_flow).until(row["end_ns"], row["rx_bytes"])
    for entity, transactions in _waited_for(plan, folder):
        latencies_ms = (transactions[:, 1] - transactions[:, 0]) / 1e6
        yield Block(entity, ("latency_ms",), transactions[:, 1], np.ascontiguousarray(latencies_ms[np.newaxis, :]))
    for connection, player in _players(plan, folder):
        at_ns = np.arange(-(-connection.start_ns // plan.sample_ns), player.end_ns // plan.sample_ns + 1) * plan.sample_ns
        yield Block(f"flow/{connection.name}", ("buffer_s",), at_ns, player.levels_s(at_ns)[np.newaxis, :])
    yield from datagrams.blocks(plan, {i: stream.datagrams for i, stream in measured.items()})
    for i in plan.series.ports:
        port = plan.ports[i]
        yield _block(folder / f"port-{i}", f"port/{port.id}", of_port)
    yield from state_blocks(plan, folder)


def _block(path: Path, entity: str, names: tuple[str, ...]) -> Block:
    from dumbbell.results import Block

    rows = np.fromfile(path, dtype="<f8").reshape(-1, len(names) + 1)
    return Block(entity, names, rows[:, 0].astype(np.int64), np.ascontiguousarray(rows[:, 1:].T))


def _transactions(folder: Path, flow: int) -> NDArray[np.int64] | None:
    """Return when each request of a flow was written and its response read, ns, shape (transactions, 2); None if the flow has no
    requests."""
    path = folder / f"transactions-{flow}"
    if not path.exists():
        return None
    return np.array(path.read_text(encoding="ascii").split(), dtype=np.int64).reshape(-1, 2)


def _waited_for(plan: Plan, folder: Path) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield entity and its transactions in the order of their ends, see `_transactions`. The transactions of an application that uses
    several connections are in the file of the first one, and belong to the group."""
    flows = enumerate(plan.flows)
    for workload in plan.workloads:
        found = [(connection, _transactions(folder, i)) for i, (_, connection) in islice(flows, len(workload.flows))]
        known = [(connection, each) for connection, each in found if each is not None and len(each)]
        if isinstance(workload, Traffic) and workload.connections_each > 1 and known:
            together = np.concatenate([each for _, each in known])
            yield f"group/{workload.id}", together[np.argsort(together[:, 1], kind="stable")]
        else:
            yield from ((f"flow/{connection.name}", each) for connection, each in known)


@dataclass(frozen=True)
class _Player:
    """A player, and when its chunks came."""

    parameters: Mapping[str, Any]
    start_ns: int
    chunks_ns: NDArray[np.int64]
    end_ns: int
    """Time at which it was stopped, or the end of the run."""

    def levels_s(self, at_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the level of its buffer at some times, s."""
        return np.array(self._viewed(at_ns)[3])

    @property
    def outcome(self) -> Row:
        """Its columns in the table of flows."""
        startup_ns, stalls, stalled_ns, _ = self._viewed(np.empty(0, np.int64))
        return {**({} if startup_ns is None else {"startup_ms": startup_ns / 1e6}), "stalls": stalls, "stalled_ms": stalled_ns / 1e6}

    def _viewed(self, at_ns: NDArray[np.int64]) -> tuple[int | None, int, int, list[float]]:
        given = [self.parameters[name] for name in ("chunk_ns", "start_at_ns", "count")]
        return native().playback(*given, self.start_ns, self.chunks_ns.tolist(), self.end_ns, at_ns.tolist())  # type: ignore[no-any-return]


def _players(plan: Plan, folder: Path) -> Iterator[tuple[Connection, _Player]]:
    """Each connection that streams, in order."""
    for i, (workload, connection) in enumerate(plan.flows):
        if isinstance(workload, Traffic) and workload.kind == "streaming":
            transactions = _transactions(folder, i)
            chunks_ns = np.empty(0, np.int64) if transactions is None else transactions[:, 1]
            end_ns = plan.duration_ns if connection.stop_ns is None else connection.stop_ns
            yield connection, _Player(workload.parameters, connection.start_ns, chunks_ns, max(end_ns, connection.start_ns))


def tables(
    plan: Plan, devices: Devices, folder: Path, measured: Mapping[int, Stream], said: Mapping[str, Row] = MappingProxyType({})
) -> tuple[Table, Table, Table, Table, list[str]]:
    """The tables of flows, groups, ports and tins, and violations of conservation, one line each; `said`: more columns of flows."""
    from dumbbell.results import Table

    counted = _Counted.read(folder / "counters")
    details = _details(folder / "end.json")
    for device, on_host in zip(devices.queues, devices.on_host, strict=True):
        if on_host:
            details |= {(device, handle): entry for (_, handle), entry in _details(folder / f"{device}.json").items()}
    ports, wrong = _ports(plan, devices, counted, details)
    tins_found = Table.of_rows("tins", list(_tins(plan, devices, details)))
    flows = _flows(plan, counted)
    outcomes = {connection.name: player.outcome for connection, player in _players(plan, folder)}
    for row in flows:
        row |= outcomes.get(row["flow"], {}) | said.get(row["flow"], {})
    workloads = measuring(plan)
    for i, stream in measured.items():
        if stream.late_replies:
            flows[i]["acks_arrived"] -= stream.late_replies
        wrong += datagrams.unaccounted(plan, flows[i]["flow"], stream.datagrams, flows[i])
        flows[i] |= datagrams.columns(workloads[i], stream.datagrams)
    groups = Table.of_rows("groups", [*_groups(plan, counted, folder, outcomes), *_groups_coming(plan, folder)], _columns("groups"))
    made = Table.of_rows("flows", [*flows, *_made(plan, folder)], _columns("flows"))
    return made, groups, Table.of_rows("ports", ports, _columns("ports")), tins_found, wrong


def _columns(table: str) -> list[str]:
    """The columns that the simulator's table has: the kernel's has them as well, without values where nothing tells them."""
    from dumbbell.results import schema

    return [name for name, quantity in schema().table(table).items() if quantity.source == "sim" or quantity.of_every_engine]


def _flows(plan: Plan, counted: _Counted) -> list[Row]:
    labels = flow_labels(plan)
    found: list[Row] = []
    numbers: Row
    for bulk, connection in plan.connections:
        counters = counted.flows[len(found)]
        if bulk.transport != "tcp":
            found.append(_program(connection, plan.duration_ns, counted.passed[len(found)]))
            continue
        values = {name: value for name, value in counters.items() if name not in _NO_COLUMNS}
        ends = [values.get("completed_ns"), connection.stop_ns, plan.duration_ns]
        end_ns = max(connection.start_ns, min(end for end in ends if end is not None))
        numbers = values | _limits(counters, end_ns - connection.start_ns)
        found.append({"rx_bytes": numbers.pop("received"), "start_ns": connection.start_ns, "end_ns": end_ns, **numbers})
    for workload, flow in plan.flows:
        if isinstance(workload, Tcp):
            continue
        values = counted.flows[len(found)]
        ends = [values.get("completed_ns"), flow.stop_ns, plan.duration_ns]
        end_ns = max(flow.start_ns, min(end for end in ends if end is not None))
        numbers = _datagrams(values) if workload.over is None else _both_ways(values) | _limits(values, end_ns - flow.start_ns)
        found.append({"start_ns": flow.start_ns, "end_ns": end_ns, **numbers})
    for i, row in enumerate(found):
        row |= {column: values[i] for column, values in labels.items()}
    return found


_HEADERS = 28
"""Headers of IP and UDP or ICMP, bytes: where packets come in, their Ethernet headers are gone."""


def _program(flow: Connection, duration_ns: int, passed: Mapping[tuple[str, str], tuple[int, int]]) -> Row:
    """The numbers of a flow that a program makes over UDP or ICMP. Packets that go back count as ACKs."""
    arrived, size = passed["to", "in"]
    end_ns = duration_ns if flow.stop_ns is None else flow.stop_ns
    numbers = {"sent_packets": passed["from", "out"][0], "arrived_packets": arrived, "acks_arrived": passed["from", "in"][0]}
    return {"rx_bytes": max(size - arrived * _HEADERS, 0), "start_ns": flow.start_ns, "end_ns": end_ns, **numbers}


_LIMITS = ("busy_us", "rwnd_limited_us", "sndbuf_limited_us")
_NO_COLUMNS = ("closed_ns", *_LIMITS)
"""The time when the FINs have gone has no column, because no other engine counts it; the limits of a flow have other columns."""


_LONGEST_TICK_NS = 10_000_000
"""Linux counts limits in ticks, of which there are 100 to 1000 a second. It can say nothing about a shorter flow."""


def _limits(values: Mapping[str, int], lived_ns: int) -> Row:
    """Return how long each limit held, ms; None if Linux cannot say. The time after the end of a flow, until its last ACK, does not
    count."""
    busy_us, rwnd_us, sndbuf_us = (values[name] for name in _LIMITS)
    cwnd_us = max(min(busy_us, lived_ns / 1e3) - rwnd_us - sndbuf_us, 0)
    known_us = {"cwnd": cwnd_us, "rwnd": rwnd_us, "sndbuf": sndbuf_us, "app": max(lived_ns / 1e3 - busy_us, 0)}
    unknown = lived_ns < _LONGEST_TICK_NS
    return {f"{what}_limited_ms": None if unknown else us / 1e3 for what, us in known_us.items()}


def _datagrams(values: Mapping[str, int]) -> Row:
    """The numbers of a stream, whose replies count as ACKs."""
    columns = {"sent": "sent_packets", "received": "arrived_packets", "reply_sent": "acks_sent", "reply_received": "acks_arrived"}
    return {column: values[name] for name, column in columns.items() if name in values}


def _both_ways(values: Mapping[str, int]) -> Row:
    """The numbers of a connection whose ends both send data."""
    both = {"rx_bytes": "received", **{name: name for name in ("retransmits", "delivered", "delivered_ce")}}
    own = [name for name in ("sent_packets", "arrived_packets", "acks_arrived", "completed_ns") if name in values]
    return {**{column: values[name] + values[f"reply_{name}"] for column, name in both.items()}, **{name: values[name] for name in own}}


def _groups(plan: Plan, counted: _Counted, folder: Path, outcomes: Mapping[str, Row]) -> list[Row]:
    """A row for each workload whose applications wait for something; `outcomes` are those of players."""
    members: dict[str, list[int]] = {}
    flows = list(plan.flows)
    for i, (workload, _) in enumerate(flows):
        if (folder / f"transactions-{i}").exists():
            members.setdefault(workload.id, []).append(i)
    labels = group_labels(plan, list(members))
    found: list[Row] = []
    for number, places in enumerate(members.values()):
        values = [counted.flows[i] for i in places]
        taken = [each["completed_ns"] - flows[i][1].start_ns for i, each in zip(places, values, strict=True) if "completed_ns" in each]
        listed = [each for i in places if (each := _transactions(folder, i)) is not None]
        latencies = np.concatenate([each[:, 1] - each[:, 0] for each in listed])
        found.append(
            {
                **{column: named[number] for column, named in labels.items()},
                "connections": len(places),
                "completed": len(taken),
                **_times("completion", np.array(taken)),
                "transactions": len(latencies),
                **_times("latency", latencies),
                **_viewed([outcomes[flows[i][1].name] for i in places if flows[i][1].name in outcomes]),
                "rx_bytes": sum(each["received"] + each["reply_received"] for each in values),
                "sent_packets": sum(each["sent_packets"] + each["reply_sent_packets"] for each in values),
                "retransmits": sum(each["retransmits"] + each["reply_retransmits"] for each in values),
            }
        )
    return found


def _viewed(players: Sequence[Row]) -> Row:
    """Return the totals of several players; empty if there are none."""
    if not players:
        return {}
    startups = [each["startup_ms"] for each in players if "startup_ms" in each]
    startup = {"startup_mean_ms": float(np.mean(startups))} if startups else {}
    return {**startup, "stalls": sum(each["stalls"] for each in players), "stalled_ms": sum(each["stalled_ms"] for each in players)}


_CAME = ("taken_ns", "rx_bytes", "sent_packets", "retransmits", "arrived_packets", "delivered", "delivered_ce", "acks_arrived")
"""Columns that the agent writes for each connection that came and went, and the number of columns that groups are made of."""
_OF_GROUPS = 4
_NEVER = (1 << 64) - 1


def _came(folder: Path, workload: int) -> NDArray[np.uint64]:
    """Return the results of a workload's connections, shape (connections, `_CAME`)."""
    return np.fromfile(folder / came_file(workload), dtype="<u8").reshape(-1, len(_CAME))


def _groups_coming(plan: Plan, folder: Path) -> Iterator[Row]:
    """The rows of the workloads whose connections come and go."""
    for i, workload in coming(plan):
        rows = group_rows(plan, workload, np.ascontiguousarray(_came(folder, i)[:, :_OF_GROUPS]).tobytes())
        labels = group_labels(plan, rows["names"])
        values = np.frombuffer(rows["values"], dtype="<f8").reshape(len(rows["names"]), -1)
        for n, numbers in enumerate(values):
            there = {name: value for name, value in zip(rows["columns"], numbers.tolist(), strict=True) if name not in _NOT_COUNTED}
            whole = {name: int(value) if _is_whole(name) else value for name, value in there.items() if not np.isnan(value)}
            yield {**{column: named[n] for column, named in labels.items() if named[n] is not None}, **whole}


_NOT_COUNTED = {"rto_timeouts"}
"""Columns of groups that TCP_INFO has nothing of."""


def _is_whole(column: str) -> bool:
    from dumbbell.results import schema

    return schema().groups[column].is_whole


def _made(plan: Plan, folder: Path) -> Iterator[Row]:
    """A row for each connection that came and went, if its workload asks for that."""
    for i, workload in coming(plan):
        if not workload.parameters["rows"]:
            continue
        starts = np.frombuffer(arrivals(plan, workload), dtype="<u8").reshape(-1, ARRIVAL_BYTES // 8)[:, 0].tolist()
        labels = flow_labels(plan, [(workload.id, f"{workload.id}-{n + 1}") for n in range(len(starts))])
        for n, (start_ns, came) in enumerate(zip(starts, _came(folder, i).tolist(), strict=True)):
            taken_ns, *numbers = came
            done = {} if taken_ns == _NEVER else {"completed_ns": start_ns + taken_ns}
            row = {"start_ns": start_ns, "end_ns": done.get("completed_ns", plan.duration_ns), **done}
            named = {column: values[n - len(starts)] for column, values in labels.items()}
            yield {**row, **dict(zip(_CAME[1:], numbers, strict=True)), **named}


def _times(what: str, times_ns: NDArray[np.int64]) -> Row:
    """Return statistics of several times, ms; empty if there are none."""
    if not times_ns.size:
        return {}
    ms = times_ns / 1e6
    numbers = {"mean": ms.mean(), "median": np.median(ms), "p95": np.percentile(ms, 95), "max": ms.max()}
    return {f"{what}_{name}_ms": float(value) for name, value in numbers.items()}


_UNKNOWN = re.compile(r"\[Unknown qdisc, optlen=\d+\] ?")
"""Plain text that tc puts into its JSON in place of the options of a discipline that it does not know."""


def _details(path: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """(device, handle) -> the statistics that tc prints of the qdisc, taken just after the counters."""
    entries = json.loads(_UNKNOWN.sub("", path.read_text(encoding="utf-8")))
    return {(entry["dev"], entry["handle"]): entry for entry in entries}


def _tins(plan: Plan, devices: Devices, details: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[Row]:
    """The rows of the table of tins."""
    for port, device, leaf in zip(plan.ports, devices.queues, devices.leaves, strict=True):
        if not isinstance(port, Link):
            for row in tins(port.qdisc, details[device, leaf]):
                yield {**row, "tin": f"{port.id}/{row['tin']}", "port": port.id}


def _ports(
    plan: Plan, devices: Devices, counted: _Counted, details: Mapping[tuple[str, str], Mapping[str, Any]]
) -> tuple[list[Row], list[str]]:
    found: list[Row] = []
    wrong: list[str] = []
    large = any(workload.host.gso for _, _, workload in plan.over_tcp)
    numbered = enumerate(zip(plan.ports, devices.queues, devices.delays, devices.leaves, strict=True))
    for i, (port, device, delay, leaf) in numbered:
        entity = f"port/{port.id}"
        queue, on_host = counted.queues[device], devices.on_host[i]
        lost = 0 if on_host else counted.lost.get(peer(device), 0)
        # No filter hands packets to a host's own queue: the arrivals are the sum of the queue's own counts.
        came = queue.packets + queue.drops + queue.queued if on_host else counted.arrived.get(device, 0)
        faults = port.faults if isinstance(port, Link) else None
        # netem counts all its drops together, and no copies: these are the packets beyond the arrivals.
        lost_at_random = queue.drops if faults and "loss" in faults else 0
        copies = queue.packets + queue.drops + queue.queued - came if faults and "duplicate" in faults else 0
        full = queue.drops - lost_at_random if isinstance(port, Link) else overflow(details[device, leaf], queue.drops)
        values: Row = {
            "port": port.id,
            "arrived_packets": came,
            "sent_packets": queue.packets,
            "sent_bytes": queue.bytes,
            "dropped_overflow": full,
            "dropped_aqm": queue.drops - full - lost_at_random,
            "dropped_impairment": lost,
            "queued_packets": queue.queued,
            "ce_marks": queue.marks,
        }
        if sce.has_ramps(plan):
            values["sce_marks"] = queue.sce_marks
        if faults:
            values |= {"dropped_loss": lost_at_random, "duplicated_packets": copies}
            values["reordered_packets"] = int(details[device, leaf]["requeues"])
        if delay is not None:
            last, handed = counted.queues[delay], counted.arrived.get(delay, 0)
            values["delayed_packets"] = last.queued
            if not _is_whole_sum(handed, last, large):
                wrong.append(f"{entity}: {handed} packets came to its delay, {last.packets + last.queued} are accounted for")
            if queue.packets != handed + lost:
                wrong.append(f"{entity}: sent {queue.packets} packets, {handed} came to its delay and {lost} were lost")
        if large and not on_host:
            # A discipline counts what it drops and holds in packets, each of which may have several segments, and filters count segments.
            if not _is_whole_sum(came, queue, large):
                wrong.append(
                    f"{entity}: {came} segments came, {queue.packets} left, and {queue.drops + queue.queued} packets are left over"
                )
            left = counted.out[device]
            values |= {"sent_packets": left, "arrived_packets": left + queue.drops + queue.queued}
            values |= {"sent_segments": queue.packets, "arrived_segments": came}
        found.append(values)
    return found, wrong


_MOST_SEGMENTS = 65_536
"""Segments that a packet may have at most (GSO_MAX_SEGS)."""


def _is_whole_sum(came: int, queue: _Queue, large: bool) -> bool:
    """True if a queue accounts for all segments that came to it. With `large` packets its drops and its length count packets, each of one
    or more segments."""
    fates = queue.drops + queue.queued
    if not large:
        return came == queue.packets + fates
    return fates <= came - queue.packets <= fates * _MOST_SEGMENTS
