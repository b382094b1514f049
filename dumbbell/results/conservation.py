"""Whether a run is to be believed: every packet accounted for, nothing lost where nobody asked for it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Literal

Counters = Mapping[str, Mapping[str, int]]
Status = Literal["ok", "warn", "invalid"]

_FLOW_SUMS = (
    ("sent_packets", ("arrived_packets", "dropped_packets", "in_flight_packets")),
    ("acks_sent", ("acks_arrived", "acks_dropped", "acks_in_flight")),
)
_PORT_SUM = (
    "arrived_packets",
    ("sent_packets", "dropped_overflow", "dropped_aqm", "dropped_blue", "queued_packets"),
)


NEEDED: Mapping[str, frozenset[str]] = {
    "flow": frozenset(name for total, parts in _FLOW_SUMS for name in (total, *parts)) | {"rx_bytes", "active_ns", "retransmits"},
    "port": frozenset((_PORT_SUM[0], *_PORT_SUM[1])),
}
"""The counters that every flow and every port has."""


def judge(counters: Counters, engine_says: Iterable[str] = (), delay_stages: Container[str] = ()) -> tuple[Status, tuple[str, ...]]:
    """The status of a run and the reasons for it; `delay_stages` are the names of the ports that only delay.

    `invalid`: the engine's own conservation check failed, or the counters do not add up.
    `warn`: a delay stage overflowed, or a flow delivered nothing.
    """
    wrong = list(engine_says)
    odd = []
    for entity, values in counters.items():
        for total, parts in _FLOW_SUMS if entity.startswith("flow/") else (_PORT_SUM,):
            if values[total] != (found := sum(values[part] for part in parts)):
                wrong.append(f"{entity}: {total} {values[total]} is not {' + '.join(parts)} {found}")
        if entity.startswith("port/") and entity.removeprefix("port/") in delay_stages:
            if lost := values["dropped_overflow"]:
                odd.append(f"{entity}: dropped {lost} packets at the limit of a delay stage")
        elif entity.startswith("flow/") and values["rx_bytes"] == 0:
            odd.append(f"{entity}: delivered nothing")
    status: Status = "invalid" if wrong else "warn" if odd else "ok"
    return status, tuple(wrong + odd)
