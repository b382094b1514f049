"""RTT by synthetic packet pairs between two capture points.

Zander and Armitage, "Minimally-intrusive frequent round trip time measurements using Synthetic Packet-Pairs" (LCN 2013): a packet that the
receiver sends is paired with the latest data packet that had arrived there. The time that the receiver waits is not part of the RTT, and
the clocks of the two points need not agree. There is about one sample per ACK. Its time is the middle between the two packets of the pair,
seen at the sender.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.native import native
from dumbbell.trace.connections import format_endpoint
from dumbbell.trace.files import Source, errors_name_files, readable
from dumbbell.trace.tally import Tally

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from dumbbell._native import Pairs, Passage
    from dumbbell.metrics import Series
    from dumbbell.results import Run

PASSIVE_RTT = "passive_rtt_ms"
"""Name of the series in a run whose scenario has `passive_rtt: true`."""
EPOCH_NS = 1_577_836_800 * 10**9
"""Time 0 of a run in its captures, ns since 1970: the beginning of 2020 (`EPOCH_S` of crates/trace/src/write.rs)."""
_SIDES = ("left", "right")
"""Prefixes of the names of a run's captures. Hosts with different settings have separate files (`left-1.pcap`), as have machines, of which
any two may have a flow between them."""


@dataclass(frozen=True)
class PacketPairs:
    """RTTs between two capture points."""

    found: list[Pairs]
    passages: list[Passage]
    """Passages of the packets of each direction between the two points."""
    tallies: tuple[Tally, Tally]
    """Packets of each capture that were understood, and that were not."""

    @property
    def samples(self) -> pl.DataFrame:
        """A row per sample: `source`, `destination` (address:port) of the data, `t_s`, `rtt_ms`."""
        import polars as pl

        return pl.concat(
            pl.DataFrame(
                {
                    "source": format_endpoint(pair["source"]),
                    "destination": format_endpoint(pair["destination"]),
                    "t_s": int64_array(pair["t_ns"]) / 1e9,
                    "rtt_ms": int64_array(pair["rtt_ns"]) / 1e6,
                },
                schema={"source": pl.String, "destination": pl.String, "t_s": pl.Float64, "rtt_ms": pl.Float64},
            )
            for pair in self.found
        )

    @property
    def ways(self) -> pl.DataFrame:
        """Return a row per direction of a connection: losses between the points, and the one-way delay.

        `source`, `destination`; `packets` at the point near the source while both captured; `lost` of them; `added`: those that only the
        far point has (copies, or packets that the near capture missed). `delay_min_ms`, `delay_p50_ms`, `delay_p95_ms`, `delay_max_ms`:
        time at the far point minus time at the near one, null without packets that differ from all others. Clocks that differ add the same
        to all of them (and take it from those of the other direction). So the delay of a queue is their distance from the minimum, whatever
        the clocks.
        """
        import polars as pl

        quantities = {"min": 0, "p50": 50, "p95": 95, "max": 100}
        rows = []
        for way in self.passages:
            delays_ms = int64_array(way["delays_ns"]) / 1e6
            found = {f"delay_{name}_ms": float(np.percentile(delays_ms, q)) if delays_ms.size else None for name, q in quantities.items()}
            ends = {"source": format_endpoint(way["source"]), "destination": format_endpoint(way["destination"])}
            rows.append({**ends, "packets": way["packets"], "lost": way["lost"], "added": way["added"], **found})
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def left_out(self) -> int:
        """Pairs without a sample: their RTT would be negative, since a clock was set back or is coarser than the RTT."""
        return sum(pair["left_out"] for pair in self.found)


def pairs_between(left: Source, right: Source) -> PacketPairs:
    """The packet pairs of each direction of a connection that carried data. Either capture may be the one at the client.

    Raises `BadInput` if one is no capture, or if no connection is in both.
    """
    pairs = _pairs(left, right)
    if not pairs.found:
        names = [str(source) for source in (left, right) if not isinstance(source, bytes)]
        where = " and ".join(names) or "the captures"
        raise BadInput(f"{where}: no TCP connection with data is in both; expected captures of the same packets at two points")
    return pairs


def packet_pairs(left: Source, right: Source) -> pl.DataFrame:
    """RTT samples for each direction of a connection that carried data.

    Columns: `source`, `destination` (address:port), `t_s`, `rtt_ms`. Either capture may be the one at the client. Raises `BadInput` if one
    is no capture, or if no connection is in both.
    """
    return pairs_between(left, right).samples


def int64_array(values: bytes) -> NDArray[np.int64]:
    """The little-endian integers that the native module returns, as an array."""
    return np.frombuffer(values, dtype="<i8")


def _pairs(left: Source, right: Source) -> PacketPairs:
    with errors_name_files(left, right):
        found, passages, (first, second) = native().spp(readable(left), readable(right))
    return PacketPairs(found, passages, (Tally.of(first), Tally.of(second)))


def flow_rtt(run: Run) -> dict[str, Series]:
    """RTT of each flow of a run by packet pairs: entity of the flow -> times (s since the start of the run) and RTTs (ms).

    Raises `BadInput` if the run has no captures of its hosts (its scenario does not have `capture: true`), or no plan (it is too old).
    """
    left, right = ([name for name in sorted(run.captures) if name.startswith(side)] for side in _SIDES)
    if not left or not right:
        raise BadInput(f"run {run.key[:10]} ({run.name}) has no captures of its hosts; expected `capture: true` in its scenario")
    entities = {ports: f"flow/{name}" for ports, (_, name) in flows_by_ports(run.required_plan).items()}
    found: dict[str, Series] = {}
    for names in product(left, right):
        for pair in _pairs(*(run.captures[name] for name in names)).found:
            if entity := entities.get((pair["source"][1], pair["destination"][1])):
                found[entity] = ((int64_array(pair["t_ns"]) - EPOCH_NS) / 1e9, int64_array(pair["rtt_ns"]) / 1e6)
    return {entity: found[entity] for entity in entities.values() if entity in found}


def with_passive_rtt(run: Run) -> Run:
    """Return the run with the series `passive_rtt_ms` of each flow."""
    from dumbbell.results import Block, digest

    assert isinstance(run.samples, tuple)  # they are a file only in runs loaded from a store
    ends_ns = {f"flow/{row['flow']}": row["end_ns"] for row in run.flows.rows()}
    blocks = [
        Block(entity, (PASSIVE_RTT,), np.round(1e9 * t_s).astype(np.int64), rtt_ms[np.newaxis, :]).until(ends_ns[entity])
        for entity, (t_s, rtt_ms) in sorted(flow_rtt(run).items())
    ]
    samples = (*run.samples, *blocks)
    return replace(run, samples=samples, digest=digest(samples))


def without_unasked(run: Run) -> Run:
    """Return the run without the captures of its hosts, unless the scenario asks for these."""
    asked = run.scenario["capture"]
    if "hosts" in asked if isinstance(asked, list) else asked:
        return run
    return replace(run, captures={name: content for name, content in run.captures.items() if not name.startswith(_SIDES)})


def flows_by_ports(plan: Mapping[str, Any]) -> dict[tuple[int, int], tuple[str, str]]:
    """Return the side that the data come from and the name of each flow of a run, by the ports that its data come from and go to.

    No two flows have both ports in common. Addresses do not tell flows apart, because machines of a testbed have their own.
    """
    return {
        tuple(connection["ports"]): (plan["hosts"][workload["from"]]["side"], connection["name"])
        for workload in plan["workloads"]
        if workload["kind"] == "tcp"
        for connection in workload["connections"]
    }
