"""Oddities of a plan that hold on any engine: reasons for the status `warn`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.documents.keys import values_at
from dumbbell.documents.problems import dotted
from dumbbell.plan import Planned, Queue


def doubts(planned: Planned, scenario: Mapping[str, Any]) -> Iterator[str]:
    """Return a line for each limit in `bdp` that gives a queue of one packet, because nobody asks for one packet in that unit."""
    tiny: dict[tuple[str, str], list[str]] = {}
    for port, origin in zip(planned.plan.ports, planned.provenance.ports, strict=True):
        if not isinstance(port, Queue) or not _is_one_packet(port.qdisc, planned.plan.frame_bytes):
            continue
        key = dotted(origin.of("qdisc.limit"))
        for limit in values_at(scenario, key):
            if str(limit).endswith("bdp"):
                tiny.setdefault((key, str(limit)), []).append(f"port/{port.id}")
    for (key, limit), ports in tiny.items():
        yield f"{' and '.join(ports)}: {key}: {limit} is a queue of one packet here; expected a longer rtt, more bdp, or 1p if you mean it"


def _is_one_packet(qdisc: Mapping[str, Any], frame_bytes: int) -> bool:
    return qdisc.get("limit_packets") == 1 or 0 < qdisc.get("limit_bytes", 0) <= frame_bytes
