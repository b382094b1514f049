"""Scenarios with a queue that has room for few packets, in which one run is one draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.difference import Difference, MetricDifference
from dumbbell.scenario.units import ETHERNET_BYTES

if TYPE_CHECKING:
    from dumbbell.results import Run

PACKETS = 4
"""The largest room of such a queue. The phase of packets, fractions of a microsecond, decides which of them is dropped there."""


def room(run: Run) -> int | None:
    """The room of the smallest of its queues, in the largest packets of the path; None if none has a limit in packets or bytes."""
    frame_bytes = int(run.scenario["path"]["mtu"]) + ETHERNET_BYTES
    rooms = [_room(port["qdisc"], frame_bytes) for port in run.required_plan["ports"] if port["kind"] == "queue"]
    return min((each for each in rooms if each is not None), default=None)


def _room(qdisc: Mapping[str, Any], frame_bytes: int) -> int | None:
    packets, limit_bytes = qdisc.get("limit_packets"), qdisc.get("limit_bytes")
    return int(packets) if packets is not None else None if limit_bytes is None else int(limit_bytes) // frame_bytes


def shallow(runs: Iterable[Run]) -> list[str]:
    """The names of the scenarios of these runs that have a queue of at most `PACKETS`, each once."""
    rooms = ((run.name, room(run)) for run in runs)
    return list(dict.fromkeys(name for name, packets in rooms if packets is not None and packets <= PACKETS))


def summary(found: Difference, names: Iterable[str]) -> dict[str, Any]:
    """The differences in these scenarios and in all others, by metric, plain data."""
    chosen = set(names)

    def part(metric: MetricDifference, inside: bool) -> dict[str, Any]:
        cells = tuple(cell for cell in metric.cells if (cell.key["scenario"] in chosen) == inside)
        return MetricDifference(metric.metric, metric.tolerance, len(cells), cells).as_json()

    return {
        "packets": PACKETS,
        "scenarios": sorted(chosen),
        "few": {name: part(metric, True) for name, metric in found.metrics.items()},
        "others": {name: part(metric, False) for name, metric in found.metrics.items()},
    }
