"""The recorded runs of the kernel as scenarios.

sender ---- [tbf or cake: the queue under test] ---- receiver      (data, without delay)
sender ---- [delay of the base RTT] ---------------- receiver      (ACKs)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.study.model import Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.oracle.published_runs import KernelRun, kernel_runs

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario

LENGTH_S = 60.0
QUICK_MBIT = 10.0
QUICK_NOTE = f"only the runs at {QUICK_MBIT:g} Mbit/s"


def document(run: KernelRun) -> dict[str, Any]:
    """The scenario of one run, as a user would write it."""
    rate = f"{run.rate_mbit:g}mbit"
    bottleneck: dict[str, Any] = (
        {"rate": rate, "qdisc": {"kind": "cake", "isolation": "flowblind"}}
        if run.queue == "cake"
        else {"rate": rate, "shaper": "tbf", "burst": "1540B", "qdisc": {"kind": "pfifo", "limit": f"{run.limit_packets}p"}}
    )
    return {
        "name": run.name,
        "path": {"rtt": f"{run.rtt_ms:g}ms", "delay": {"where": "ack-path"}, "bottleneck": bottleneck, "reverse": "none"},
        "flows": [
            {
                "name": "0",
                "cc": run.cc,
                "stack": "linux-6.12",
                "ecn": run.ecn,
                "host": {"rmem": ["4096B", "131072B", "67108864B"], "wmem": ["4096B", "16384B", "67108864B"]},
            }
        ],
        "duration": f"{LENGTH_S:g}s",
        "sample": "100ms",
    }


def scenarios(names: tuple[str, ...], request: Request) -> list[ResolvedScenario]:
    """The requested runs. The second and later runs of each start with jitter."""
    chosen = [kernel_runs()[name] for name in names]
    return [
        repeat
        for run in chosen
        if run.rate_mbit <= QUICK_MBIT or not request.quick
        for repeat in repeats(document(run), {"run": run.name}, request)
    ]
