"""Mechanisms behind the report's numbers, on today's Linux with the report's buffers, so that the engine `kernel` can show it too.

- `full-buffer`: a send buffer of 249,856 bytes at 100 ms. A writer that sleeps is woken when a third of it is free.
- `unscaled-window`: a receive buffer of 87,380 bytes that does not grow, at 400 ms.
- `netem-limit`: buffers that limit nobody, at 100 ms: slow start meets netem's 1,000 packets, TCP hears of drops, nothing is retransmitted.

Each is compared with a run without its bound. Charges of a segment and the share of a receive buffer that is offered are today's, so that
the elapsed times are not the report's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.tables import Table
from dumbbell.results.runs import Runs
from dumbbell.study.model import Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.fairness.published import FILE_BYTES
from dumbbell_studies.fairness.scenarios import BASE_RTT, LARGE, RATE_MBIT

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

QUICK_NOTE = "one start"
_FLOW = "transfer"
_DURATION = "200s"
_BOUNDS = ("with", "without")


@dataclass(frozen=True)
class Mechanism:
    """A bound, and the run without it."""

    name: str
    delay_ms: float
    send_buffer: int = LARGE
    receive_buffer: int = LARGE
    limit_packets: int = 100_000
    mib: int = 100
    """Size of the transfer."""

    @property
    def without(self) -> Mechanism:
        """The same without its bound."""
        return replace(self, send_buffer=LARGE, receive_buffer=LARGE, limit_packets=100_000)


MECHANISMS = (
    Mechanism("full-buffer", 100, send_buffer=249_856),
    Mechanism("unscaled-window", 400, receive_buffer=87_380, mib=10),
    Mechanism("netem-limit", 100, limit_packets=1000),
)


def scenarios(request: Request) -> list[ResolvedScenario]:
    """Every mechanism and the same without it."""
    return [
        run
        for each in MECHANISMS
        for bound, setup in zip(_BOUNDS, (each, each.without), strict=True)
        for run in repeats(document(setup), {"mechanism": each.name, "bound": bound}, request)
    ]


def document(setup: Mechanism) -> dict[str, Any]:
    """The scenario of a transfer."""
    netem = {"kind": "netem", "delay": f"{setup.delay_ms:g}ms", "limit": f"{setup.limit_packets}p"}
    buffers = {
        "rmem": ["4096B", f"{setup.receive_buffer}B", f"{setup.receive_buffer}B"],
        "wmem": ["4096B", "16384B", f"{setup.send_buffer}B"],
    }
    return {
        "name": f"fairness-{setup.name}",
        "path": {"rtt": BASE_RTT, "bottleneck": {"rate": f"{RATE_MBIT}mbit", "qdisc": {"kind": "pfifo", "limit": "1000p"}}},
        "hosts": {"left": {"egress": {"rate": f"{RATE_MBIT}mbit", "qdisc": netem}}},
        "flows": [{"name": _FLOW, "cc": "reno", "bytes": f"{FILE_BYTES * setup.mib // 100}B", "host": buffers}],
        "duration": _DURATION,
        "sample": "100ms",
    }


def summaries(runs: Sequence[Run]) -> Mapping[str, Table]:
    """One row per mechanism: what a transfer takes with and without its bound."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_summaries)


def _summaries(runs: Runs) -> Mapping[str, Table]:
    rows = []
    for each in MECHANISMS:
        found = {
            bound: [run for run in runs if (run.cell.get("mechanism"), run.cell.get("bound")) == (each.name, bound)] for bound in _BOUNDS
        }
        if not all(found.values()):
            continue
        elapsed = [f"{median(float(run.summary.flows[_FLOW]['completion_s']) for run in found[bound]):.2f}" for bound in _BOUNDS]
        again = [f"{median(run.counters[f'flow/{_FLOW}']['retransmits'] for run in found[bound]):.0f}" for bound in _BOUNDS]
        rows.append([each.name, f"{each.mib}", f"{each.delay_ms:g}", *elapsed, *again])
    heads = ["bound", "MiB", "delay (ms)", "elapsed (s)", "without it (s)", "retransmitted", "without it"]
    return {"mechanisms": Table("Limits of a transfer of Reno, linux-6.12", heads, rows)} if rows else {}
