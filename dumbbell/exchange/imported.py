"""Runs that were read from the file of another tool. They have the engine `import` and the status warn, and say which facts are not
known."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dumbbell.errors import BadInput, printable
from dumbbell.exchange.formats import READ
from dumbbell.exchange.reading import FilePlace, read
from dumbbell.exchange.streams import Direction
from dumbbell.results import Block, Run, Table, digest, schema
from dumbbell.results.imported import ENGINE, UNKNOWN_CC
from dumbbell.results.tables import FLOWS, ICMP, PORTS, TCP, UDP

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALWAYS = ("rx_bytes", "cwnd", "srtt_ms")
"""Series that every flow has, if without values, so that figures of runs from here and from elsewhere are the same."""

Samples: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float64]]"
"""Times (ns, rising) and values."""


@dataclass
class Found:
    """Something that was measured: a run, as far as a file tells of one."""

    tool: str
    """Tool that wrote the file, and its version."""
    unknown: list[str]
    """Facts that are not known, or that mean something else than in dumbbell's own runs; a line each."""
    flows: list[FoundFlow] = field(default_factory=list)
    ports: list[FoundPort] = field(default_factory=list)
    cell: dict[str, str | int | float] = field(default_factory=dict)
    """Coordinates, in addition to the name of the file."""


@dataclass
class FoundFlow:
    """A TCP connection, or a stream of datagrams."""

    name: str
    kind: str = TCP
    """`tcp`, or `ping`, `udp` or `voip`."""
    cc: str = UNKNOWN_CC
    direction: Direction = "forward"
    segment_bytes: int | None = None
    ports: tuple[int, int] | None = None
    start_ns: int | None = None
    """Start; by default the first sample."""
    end_ns: int | None = None
    """End; by default the last sample."""
    columns: dict[str, int | float] = field(default_factory=dict)
    """Columns of the table of flows."""
    series: dict[str, Samples] = field(default_factory=dict)

    @property
    def entity(self) -> str:
        """Return the name in results."""
        return f"{'flow' if self.kind == TCP else self.kind}/{self.name}"


@dataclass
class FoundPort:
    """A queue."""

    name: str
    columns: dict[str, int | float] = field(default_factory=dict)
    """Columns of the table of ports."""
    series: dict[str, Samples] = field(default_factory=dict)

    @property
    def entity(self) -> str:
        """Return the name in results."""
        return f"port/{self.name}"


class Points:
    """Samples of a series while its file is read, in any order: 16 bytes each, a seventh of the size of pairs in a list."""

    def __init__(self) -> None:
        self.times = array("q")
        self.values = array("d")

    def add(self, t_ns: int, value: float) -> None:
        """Adds a sample."""
        self.times.append(t_ns)
        self.values.append(value)

    def __len__(self) -> int:
        return len(self.times)

    def samples(self) -> Samples:
        """The samples in the order of their times. Several of one time all stay, in the order in which they were added."""
        times = np.array(self.times, dtype=np.int64)
        order = np.argsort(times, kind="stable")
        return times[order], np.array(self.values, dtype=np.float64)[order]


class Connections:
    """The TCP connections of a log whose lines name them by both addresses and ports, while the log is read."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, ...], dict[str, Points]] = {}
        self._sizes: dict[tuple[str, ...], int] = {}

    def add(self, ends: tuple[str, ...], mss: float, t_ns: int, values: Mapping[str, float], at: FilePlace) -> None:
        """Adds samples of series. `ends`: address and port of both ends. Raises `BadInput` for too many connections."""
        points = self._points.setdefault(ends, {})
        at.few(self._points)
        self._sizes[ends] = int(mss)
        for name, value in values.items():
            points.setdefault(name, Points()).add(t_ns, value)

    def flows(self, place: FilePlace) -> list[FoundFlow]:
        """Return the connections, each called after its ends. Raises `BadInput` for names and ports that cannot be."""
        flows = []
        for ends, points in self._points.items():
            name = place.name(f"{ends[0]}:{ends[1]}-{ends[2]}:{ends[3]}")
            flow = FoundFlow(name, segment_bytes=self._sizes[ends], ports=(place.count(ends[1]), place.count(ends[3])))
            flow.series = {each: listed.samples() for each, listed in points.items()}
            flows.append(flow)
        return flows


def delays(prefix: str, values_ms: NDArray[np.float64]) -> dict[str, int | float]:
    """Columns of the table of flows: `PREFIX_mean_ms`, `_median_ms`, `_p95_ms`, `_p99_ms` and `_max_ms`; none without values."""
    if not values_ms.size:
        return {}
    at = dict(zip(("median", "p95", "p99"), np.percentile(values_ms, (50, 95, 99)).tolist(), strict=True))
    return {f"{prefix}_{name}_ms": value for name, value in {"mean": float(values_ms.mean()), **at, "max": float(values_ms.max())}.items()}


def runs_of(files: Sequence[Path], form: str | None) -> list[Run]:
    """The runs in files, in order. Raises `BadInput` if one of the files is of no known format, or damaged."""
    stems = [file.name for file in files]
    shown = [printable(file.name if stems.count(file.name) == 1 else str(file)) for file in files]
    return [run for file, name in zip(files, shown, strict=True) for run in _runs_of(file, name, form)]


def _runs_of(file: Path, shown: str, form: str | None) -> list[Run]:
    content, place = read(file), FilePlace(file)
    asked, form = form, form or _recognised(content, place)
    reader = _reader(form)
    try:
        found: list[Found] = reader.found_in(content, place)
        if not any(each.flows or each.ports for each in found):
            raise place.wrong("holds no measurement", f"at least one flow or queue in the format {form}")
    except BadInput:
        if asked and (other := next((each for each in READ if _reader(each).recognises(content)), asked)) != asked:
            raise place.wrong(f"is not of the format {asked}, but looks like {other}", f"--format {other}, or none") from None
        raise
    sha256 = hashlib.sha256(content).hexdigest()
    known = {"file": shown, "sha256": sha256, "format": form, "reader": reader.VERSION}
    several = len(found) > 1
    return [_run(each, place, known, {"file": shown, **({"run": i} if several else {})}, i) for i, each in enumerate(found, 1)]


def _recognised(content: bytes, place: FilePlace) -> str:
    for form in READ:
        if _reader(form).recognises(content):
            return form
    raise place.wrong("is of no known format", f"one of {', '.join(READ)} (--format says which)")


def _reader(form: str) -> Any:
    return import_module(f"dumbbell.exchange.readers.{READ[form]}")


def _run(found: Found, place: FilePlace, known: Mapping[str, Any], cell: Mapping[str, str | int | float], number: int) -> Run:
    for names in ([flow.name for flow in found.flows], [port.name for port in found.ports]):
        if twice := next((name for name, count in Counter(names).items() if count > 1), None):
            raise place.wrong(f"has two flows or queues of the name {twice!r}", "different names")
    for flow in found.flows:
        _check_totals(flow.entity, flow.series, place)
    for port in found.ports:
        _check_totals(port.entity, port.series, place)
    _begin_at_zero(found)
    blocks = [block for flow in found.flows for block in _blocks(flow)] + [block for port in found.ports for block in _port_blocks(port)]
    flows = [
        {"flow": flow.name, "cc": flow.cc, "direction": flow.direction}
        | ({} if flow.segment_bytes is None else {"segment_bytes": flow.segment_bytes})
        | ({} if flow.ports is None else {"ports": list(flow.ports)})
        for flow in found.flows
        if flow.kind == TCP
    ]
    key = hashlib.sha256(json.dumps([known["sha256"], known["format"], known["reader"], number]).encode()).hexdigest()[:32]
    return Run(
        key=key,
        name=str(known["format"]),
        cell={**cell, **found.cell},
        scenario={**known, "flows": flows},
        status="warn",
        reasons=(f"not run here, but read from {known['file']}, of {found.tool}", "packets are not accounted for", *found.unknown),
        flows=Table.of_rows(FLOWS, [_row(flow) for flow in found.flows]),
        ports=Table.of_rows(PORTS, [{"port": port.name, **port.columns} for port in found.ports]),
        digest=digest(blocks),
        engine={"name": ENGINE, "tool": found.tool},
        samples=tuple(blocks),
    )


def _begin_at_zero(found: Found) -> None:
    """Moves all times by as much as the first is before 0: tools log packets from before the time that they write as the beginning."""
    starts = [flow.start_ns for flow in found.flows if flow.start_ns is not None]
    every = [flow.series for flow in found.flows] + [port.series for port in found.ports]
    first_ns = min([0, *starts, *(int(t_ns[0]) for series in every for t_ns, _ in series.values() if len(t_ns))])
    if not first_ns:
        return
    for flow in found.flows:
        flow.start_ns = None if flow.start_ns is None else flow.start_ns - first_ns
        flow.end_ns = None if flow.end_ns is None else flow.end_ns - first_ns
    for series in every:
        series |= {name: (t_ns - first_ns, values) for name, (t_ns, values) in series.items()}
    found.unknown.append(f"times are {round(-first_ns / 1e9, 6):g} s later than in the file, where the first is before its beginning")


def _check_totals(entity: str, series: Mapping[str, Samples], place: FilePlace) -> None:
    """Raises `BadInput` if something that is counted from the start becomes less: then it is of two connections, or of none."""
    known = schema().series[entity.partition("/")[0]]
    for name, (_, values) in series.items():
        falls = np.flatnonzero(np.diff(values) < 0)
        if falls.size and known[name].kind == "total":
            before, after = values[falls[0]], values[falls[0] + 1]
            raise place.wrong(f"{name} of {entity} falls from {before:.15g} to {after:.15g}", "a total, of one connection")


def _row(flow: FoundFlow) -> dict[str, Any]:
    times = [t_ns for t_ns, _ in flow.series.values() if len(t_ns)]
    first, last = (min(int(t_ns[0]) for t_ns in times), max(int(t_ns[-1]) for t_ns in times)) if times else (0, 0)
    start_ns = first if flow.start_ns is None else flow.start_ns
    life = {"start_ns": start_ns, "end_ns": max(start_ns, last if flow.end_ns is None else flow.end_ns)}
    transport = {TCP: TCP, "ping": ICMP}.get(flow.kind, UDP)
    cc = {"cc": flow.cc} if flow.kind == TCP else {}
    return {"flow": flow.name, "group": flow.name, "kind": flow.kind, "transport": transport, **cc, **life, **flow.columns}


def _blocks(flow: FoundFlow) -> Iterable[Block]:
    if flow.kind == TCP and (lacking := tuple(name for name in _ALWAYS if name not in flow.series)):
        yield Block(flow.entity, lacking, np.empty(0, np.int64), np.empty((len(lacking), 0)))
    for name, (t_ns, values) in flow.series.items():
        yield Block(flow.entity, (name,), t_ns, values[np.newaxis, :])


def _port_blocks(port: FoundPort) -> Iterable[Block]:
    for name, (t_ns, values) in port.series.items():
        yield Block(port.entity, (name,), t_ns, values[np.newaxis, :])
