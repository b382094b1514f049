"""The status of a run: packet conservation, and losses at places that are not meant to lose packets."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from typing import Literal

from dumbbell.results.schema import schema
from dumbbell.results.tables import DATAGRAM_KINDS

Counters = Mapping[str, Mapping[str, int]]
Status = Literal["ok", "warn", "invalid"]

_FLOW_SUMS = (
    (("sent_packets", "duplicated_packets"), ("arrived_packets", "dropped_packets", "in_flight_packets")),
    (("acks_sent", "acks_duplicated"), ("acks_arrived", "acks_dropped", "acks_in_flight")),
)
_PORT_SUM = (
    ("arrived_packets", "duplicated_packets"),
    ("sent_packets", "dropped_overflow", "dropped_aqm", "dropped_blue", "dropped_loss", "queued_packets"),
)
_DATAGRAM_SUMS = (*_FLOW_SUMS, (("acks_sent",), ("arrived_packets",)))
"""Replies are counted as ACKs, and there is one to each datagram."""
_SUMS: Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = {
    "flow": _FLOW_SUMS,
    **dict.fromkeys(DATAGRAM_KINDS, _DATAGRAM_SUMS),
    "port": (_PORT_SUM,),
}
_OPTIONAL = {"dropped_blue", "dropped_loss", "duplicated_packets", "acks_duplicated"}
"""Counters that an engine may include in another one, or that are of links with faults."""


@cache
def needed(table: str, datagrams: bool = False) -> frozenset[str]:
    """The numeric columns that every engine fills in for each row of a table; `datagrams`: for a UDP stream, which has fewer."""
    return frozenset(
        name
        for name, quantity in schema().table(table).items()
        if quantity.is_number and quantity.of_every_engine and not quantity.optional and not (datagrams and quantity.of_tcp_only)
    )


def sums(counters: Counters) -> Iterator[tuple[str, list[str], int, list[str], int]]:
    """Return the sums that must be equal if no packet is lost sight of: entity, names and sum of the arrivals, then of their fates."""
    for entity, values in counters.items():
        for came, went in _SUMS[entity.partition("/")[0]]:
            if not values.keys() >= {*came, *went} - _OPTIONAL:
                continue  # an engine that does not trace single packets has no per-flow packet counters
            total, counted = (
                [part for part in parts if part in values and (part not in _OPTIONAL or values[part])] for parts in (came, went)
            )
            yield entity, total, sum(values[part] for part in total), counted, sum(values[part] for part in counted)


def judge(
    counters: Counters,
    engine_says: Iterable[str] = (),
    delay_stages: Container[str] = (),
    short_lived: Container[str] = (),
    engine_doubts: Iterable[str] = (),
) -> tuple[Status, tuple[str, ...]]:
    """Return the status of a run and the reasons for it; `delay_stages` are the names of the ports that only delay.

    `engine_doubts` name numbers that do not mean what their names say. `short_lived` are the entities of connections that workloads make
    during the run: one that begins at the very end delivers nothing.

    `invalid`: the engine's own conservation check failed, or the counters do not add up.

    `warn`: a delay stage overflowed, a flow delivered nothing, or the engine doubts a number.
    """
    wrong = list(engine_says)
    odd = list(engine_doubts)
    wrong += [
        f"{entity}: {' + '.join(total)} {whole} is not {' + '.join(counted)} {found}"
        for entity, total, whole, counted, found in sums(counters)
        if whole != found
    ]
    for entity, values in counters.items():
        if entity.startswith("port/") and entity.removeprefix("port/") in delay_stages:
            if lost := values["dropped_overflow"]:
                odd.append(f"{entity}: dropped {lost} packets at the limit of a delay stage")
        elif entity.startswith("flow/") and values["rx_bytes"] == 0 and entity not in short_lived:
            odd.append(f"{entity}: delivered nothing")
    status: Status = "invalid" if wrong else "warn" if odd else "ok"
    return status, tuple(wrong + odd)
