"""The one-flow runs: 5 congestion controls x 8 bandwidths x 8 delays, 300 s each.

    sender --1 Gbit/s-- [netem d/2] [cake R sce] ----- receiver          (data)
    sender ------------ [cake R sce] [netem d/2] ----- receiver          (ACKs)

The delay stands before the queue in each direction and does not overflow.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from dumbbell.studies.repeats import repeats
from dumbbell.studies.sce import reductions as r
from dumbbell.studies.sce.fitted import STACK
from dumbbell.studies.study import Request

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario

QUICK_BANDWIDTHS_MBIT = (1.0, 10.0, 50.0)
QUICK_DELAYS_MS = (0.0, 20.0, 80.0)
QUICK_NOTE = "--quick: 3 bandwidths x 3 delays instead of 8 x 8, each run as long as the draft's"


def document(cc: str, bandwidth_mbit: float, delay_ms: float) -> dict[str, Any]:
    """The scenario of one cell, as a user would write it."""
    return {
        "name": f"sce-{cc}-{bandwidth_mbit:g}mbit-{delay_ms:g}ms",
        "path": {
            "rtt": f"{delay_ms:g}ms",
            # The testbed's RTT without netem was a little above zero: fitted, see `fitted`.
            "delay": {"where": "before", "extra": "300us"},
            "access": {"rate": "1gbit"},
            "bottleneck": {"rate": f"{bandwidth_mbit:g}mbit", "qdisc": {"kind": "cake", "sce": True}},
        },
        "flows": [
            {
                "name": "1",
                "cc": cc,
                "stack": STACK,
                "host": {"offload": "tso", "cached_ssthresh": "5p"},
                "ecn": True,
                "sce_echo": True,
            }
        ],
        "duration": "300s",
        "sample": "200ms",
    }


def one_flow(request: Request) -> list[ResolvedScenario]:
    """The runs asked for; the first repeat of a cell starts at 0, the others with jitter."""
    grid = itertools.product(
        r.CCS,
        QUICK_BANDWIDTHS_MBIT if request.quick else r.BANDWIDTHS_MBIT,
        QUICK_DELAYS_MS if request.quick else r.DELAYS_MS,
    )
    return [
        run
        for cc, bandwidth, delay in grid
        for run in repeats(document(cc, bandwidth, delay), {"cc": cc, "bandwidth_mbit": bandwidth, "delay_ms": delay}, request)
    ]
