"""Columns of the table of flows from a capture at the sending host, by the rules of tcptrace: packets, retransmissions, RTT, window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dumbbell.native import native
from dumbbell.trace.files import readable
from dumbbell.trace.passive import flows_by_ports

if TYPE_CHECKING:
    from dumbbell.results import Run


def with_analysis(run: Run) -> Run:
    """Return the run with the columns `trace_*` of its TCP flows, from the captures of the hosts that their data come from."""
    from dumbbell.results.tables import FLOWS, Table

    names = flows_by_ports(run.required_plan)
    found: dict[str, dict[str, Any]] = {}
    for file, content in run.captures.items():
        analysis = native().analyze(readable(content), None)
        for connection in analysis.connections(0, len(analysis)):
            ports = connection["source"][1], connection["destination"][1]
            for ends, own, other in ((ports, "forward", "reverse"), (ports[::-1], "reverse", "forward")):
                side, name = names.get(ends, ("", ""))
                if name and file.startswith(side):
                    found[name] = _columns(connection[own], connection[other])
    return replace(run, flows=Table.of_rows(FLOWS, [{**row, **found.get(str(row["flow"]), {})} for row in run.flows.rows()]))


def _columns(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a flow: `own` holds the facts of the direction of its data."""
    return {
        "trace_packets": own["packets"] + other["packets"],
        "trace_retransmits": own["retransmitted_packets"],
        "trace_rtt_ms": own["rtt_avg_ms"],
        "trace_window_bytes": own["window_avg_bytes"],
    }
