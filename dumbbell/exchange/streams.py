"""A run as other tools know it: its TCP streams, each with the bytes received, and its probes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.metrics import NS_PER_S, Array, Series
from dumbbell.plan.addresses import address
from dumbbell.plan.model import SEGMENT_BYTES
from dumbbell.results.imported import is_imported
from dumbbell.results.received import end_to_end, megabits
from dumbbell.results.tables import NOT_TCP, entity_of

if TYPE_CHECKING:
    from dumbbell.results import Run

Direction = Literal["forward", "reverse"]

_SERIES = ("rx_bytes", "cwnd", "srtt_ms", "delivered", "retransmits")


@dataclass(frozen=True)
class Stream:
    """A TCP connection."""

    name: str
    direction: Direction
    """Direction of its data."""
    cc: str
    """Empty if it is not known."""
    start_s: float
    end_s: float
    received: Series
    """Times (s) and bytes that were received up to then, from 0 at the start to all of them at the end."""
    series: Mapping[str, Series]
    """Its other series that were sampled, by name."""
    segment_bytes: int
    """Payload of a full segment."""
    ports: tuple[int, int]
    """Ports of the sender and the receiver of the data; 0 if they are not known."""
    addresses: tuple[str, str]
    """Addresses of the sender and the receiver; 0.0.0.0 if they are not known."""

    @property
    def until_s(self) -> float:
        """The later of its end and its last sample."""
        return max(self.end_s, float(self.received[0][-1]))

    def megabits(self, at_s: Array) -> Array:
        """Payload (Mbit) that was received up to some times."""
        return megabits(self.received, at_s)


@dataclass(frozen=True)
class Probe:
    """A stream of datagrams whose round trips were measured."""

    name: str
    kind: str
    """`ping`, `udp` or `voip`."""
    rtt_ms: Series


def streams(run: Run) -> list[Stream]:
    """Return the TCP streams of a run whose received bytes are known. Raises `BadInput` if there is none."""
    sampled, known = run.all_series(*_SERIES), _imported(run) if is_imported(run) else _planned(run)
    found = []
    for row in run.flows.rows():
        name = str(row["flow"])
        if row.get("transport") in NOT_TCP or (f"flow/{name}", "rx_bytes") not in sampled:
            continue
        direction, segment_bytes, ports, addresses = known.get(name, ("forward", SEGMENT_BYTES, (0, 0), _NOWHERE))
        start_s, end_s = row["start_ns"] / NS_PER_S, row["end_ns"] / NS_PER_S
        found.append(
            Stream(
                name=name,
                direction=direction,
                cc=str(row.get("cc") or ""),
                start_s=start_s,
                end_s=end_s,
                received=end_to_end(sampled[f"flow/{name}", "rx_bytes"], start_s, end_s, row.get("rx_bytes")),
                series={each: sampled[f"flow/{name}", each] for each in _SERIES[1:] if (f"flow/{name}", each) in sampled},
                segment_bytes=segment_bytes,
                ports=ports,
                addresses=addresses,
            )
        )
    if not found:
        raise BadInput(f"run {run.key[:10]} ({run.name}) has no TCP flow with samples of rx_bytes; expected one, see `series` and `sample`")
    return found


def probes(run: Run) -> list[Probe]:
    """The streams of datagrams of a run whose round trips were measured, in order."""
    sampled = run.all_series("rtt_ms")
    rows = [row for row in run.flows.rows() if row.get("transport") in NOT_TCP and (entity_of(row), "rtt_ms") in sampled]
    return [Probe(str(row["flow"]), entity_of(row).partition("/")[0], sampled[entity_of(row), "rtt_ms"]) for row in rows]


def left_out(run: Run, found: list[Stream]) -> list[str]:
    """The TCP flows and the groups of a run that are none of these streams."""
    names = {stream.name for stream in found}
    return [*(f"flow {name}" for name in run.flows.connections if name not in names), *(f"group {name}" for name in run.groups.names)]


def duration_s(run: Run, found: list[Stream]) -> float:
    """Return the duration of a run: as planned, or until the last stream ended."""
    return float(run.plan["duration_ns"]) / NS_PER_S if run.plan else max(stream.end_s for stream in found)


def title(run: Run) -> str:
    """The scenario's name and the coordinates of the run."""
    return ", ".join([run.name, *(f"{key}: {value}" for key, value in run.cell.items())])


def last_before(series: Series, edges: Array) -> Array:
    """The last value in each interval (edges[i], edges[i + 1]], shape (edges - 1,); NaN where there is none."""
    t_s, values = series
    # Half a nanosecond: edges are sums of floats, samples whole nanoseconds.
    last = np.searchsorted(t_s, edges + 5e-10, side="right")
    found = np.full(len(edges) - 1, np.nan)
    there = last[1:] > last[:-1]
    found[there] = values[last[1:][there] - 1]
    return found


_Known = dict[str, tuple[Direction, int, tuple[int, int], tuple[str, str]]]
_NOWHERE = ("0.0.0.0", "0.0.0.0")


def _planned(run: Run) -> _Known:
    """Direction, bytes of a segment, ports and addresses of each planned connection, by its name."""
    found: _Known = {}
    hosts = [address(host["side"], host["number"]) for host in (run.plan or {}).get("hosts", ())]
    for workload in (run.plan or {}).get("workloads", ()):
        tcp = workload.get("tcp", workload)
        for each in tcp.get("connections", ()):
            left, right = each.get("ports", (0, 0))
            ends = (hosts[tcp["from"]], hosts[tcp["to"]])
            found[str(each["name"])] = (tcp["direction"], int(tcp.get("segment_bytes", SEGMENT_BYTES)), (left, right), ends)
    return found


def _imported(run: Run) -> _Known:
    """The same of those of a file that was read."""
    return {
        str(each["flow"]): (
            each["direction"],
            int(each.get("segment_bytes", SEGMENT_BYTES)),
            (int(each.get("ports", (0, 0))[0]), int(each.get("ports", (0, 0))[1])),
            _NOWHERE,
        )
        for each in run.scenario["flows"]
    }
