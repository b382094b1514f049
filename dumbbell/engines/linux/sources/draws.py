"""Draws of applications, for the agent: a file of numbers for each size and time that is not constant.

The numbers are those that the simulator draws (`crates/sim/src/traffic/amount.rs`), from the same random streams.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dumbbell.native import native
from dumbbell.plan import Connection, Plan, Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_BYTES = 1 << 40
"""A size is from 1 byte to this (`MAX_RESPONSE`)."""
_MOST_NS = (1 << 44) - 2
"""Maximum of a time (`MAX_TIME`)."""
_LEAST_TURN_NS = 10**6
"""Least time that a request is taken to take: of connections that are faster the numbers may run out, which the agent tells."""
_MOST_DRAWS = 1 << 20

_BYTES = ("request", "response", "size", "first", "burst")


class Amount(NamedTuple):
    """A size or a time that an application takes again and again."""

    what: str
    """Names its random stream, within the application's."""
    planned: Any
    """The value in the plan."""

    @property
    def is_drawn(self) -> bool:
        """It is not a plain number."""
        return not isinstance(self.planned, int)

    def word(self, flow: int) -> object:
        """Return the word for the agent's script; `flow` is the position of the application's first connection."""
        return f"draws-{flow}-{self.what}" if self.is_drawn else self.planned

    def draws(self, seed: int, name: str, count: int) -> NDArray[np.uint64]:
        """The first numbers of the application whose first connection has the name, shape (count,)."""
        drawn = native().draws(json.dumps(self.planned), seed, f"application/{name}/{self.what}", count)
        least, most = (1, _MOST_BYTES) if self.what in _BYTES else (0, _MOST_NS)
        numbers: NDArray[np.uint64] = np.frombuffer(drawn, dtype="<u8")
        return numbers.clip(np.uint64(least), np.uint64(most))


def least_request(plan: Plan, traffic: Traffic) -> int:
    """The smallest request of an application in a run, bytes."""
    requests = amounts(traffic)["request"]
    if not requests.is_drawn:
        return int(requests.planned)
    firsts = traffic.flows[:: traffic.connections_each]
    return min(int(requests.draws(plan.seed, first.name, _count(plan, traffic, first, "request")).min()) for first in firsts)


def amounts(traffic: Traffic) -> Mapping[str, Amount]:
    """Return the sizes and times that an application takes, by name."""
    parameters = traffic.parameters
    named = {"request": "request_bytes", "response": "response_bytes", "first": "first_bytes", "size": "size_bytes"}
    found = {what: parameters[name] for what, name in {**named, "think": "think_ns", "off": "off_ns"}.items() if name in parameters}
    if on := parameters.get("on"):
        found |= {"on": on["ns"]} if on["kind"] == "time" else {"burst": on["bytes"]}
    return {what: Amount(what, 0 if planned is None else planned) for what, planned in found.items()}


def draw_files(plan: Plan) -> dict[str, str]:
    """The files by name, a number on each line."""
    return {str(amount.word(flow)): "".join(f"{number}\n" for number in numbers) for flow, amount, numbers in _drawn(plan)}


def _drawn(plan: Plan) -> Iterator[tuple[int, Amount, list[int]]]:
    flow = 0
    for workload in plan.workloads:
        each = workload.connections_each if isinstance(workload, Traffic) else 1
        for first in workload.flows[::each]:
            if isinstance(workload, Traffic) and workload.over is not None:
                for amount in amounts(workload).values():
                    if amount.is_drawn:
                        count = _count(plan, workload, first, amount.what)
                        yield flow, amount, amount.draws(plan.seed, first.name, count).tolist()
            flow += each


def _count(plan: Plan, traffic: Traffic, first: Connection, what: str) -> int:
    """Return about the maximum of numbers that an application can take: every request takes a round trip."""
    span_ns = (plan.duration_ns if first.stop_ns is None else first.stop_ns) - first.start_ns
    if "off_ns" in traffic.parameters:
        return _periods(plan.seed, traffic, first, span_ns)
    turns = span_ns // max(plan.paths[traffic.path].base_rtt_ns, _LEAST_TURN_NS) + 2
    if what in ("request", "size") and traffic.connections_each > 1:
        turns *= traffic.connections_each
    elif traffic.connections_each == 1 and "objects" not in traffic.parameters:
        turns = min(turns, traffic.parameters["count"])
    return min(turns, _MOST_DRAWS)


def _periods(seed: int, traffic: Traffic, first: Connection, span_ns: int) -> int:
    """Return the maximum number of periods of a source: neither the time on nor the time off can fill the span more often."""
    most = [_MOST_DRAWS]
    for amount in amounts(traffic).values():
        if amount.what == "burst":
            continue
        if not amount.is_drawn:
            most += [span_ns // amount.planned + 2] if amount.planned else []
            continue
        filled = np.cumsum(amount.draws(seed, first.name, _MOST_DRAWS), dtype=np.float64)
        most.append(int(np.searchsorted(filled, span_ns)) + 2)
    return min(most)
