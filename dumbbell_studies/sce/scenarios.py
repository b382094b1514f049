"""The runs of the draft, 300 s each.

One flow: 5 congestion controls x 8 bandwidths x 8 delays. Two flows: 15 pairs x 5 bandwidths x 4 delays x 3 queues.

    sender --1 Gbit/s-- [netem d/2] [cake R sce] ----- receiver          (data)
    sender ------------ [cake R sce] [netem d/2] ----- receiver          (ACKs)

In each direction the delay comes before the queue and never overflows. Two flows run between the same two hosts and start together.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.study.model import Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.implementation import DRAFT, Implementation

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario

QUICK_BANDWIDTHS_MBIT = (1.0, 10.0, 50.0)
QUICK_DELAYS_MS = (0.0, 20.0, 80.0)
QUICK_NOTE = "3 bandwidths x 3 delays instead of 8 x 8, each run as long as the draft's"
QUICK_PAIRS = (("reno", "reno"), ("reno", "reno-sce"), ("cubic", "dctcp-sce"))
QUICK_PAIR_BANDWIDTHS_MBIT = (1.0, 10.0)
QUICK_PAIR_DELAYS_MS = (0.0, 20.0)
QUICK_PAIR_NOTE = "3 pairs x 2 bandwidths x 2 delays instead of 15 x 5 x 4, each run as long as the draft's"


def document(cc: str, bandwidth_mbit: float, delay_ms: float, implementation: Implementation = DRAFT) -> dict[str, Any]:
    """The scenario of a one-flow cell, as a user would write it."""
    return _document(cc, (cc,), bandwidth_mbit, delay_ms, {"sce": True}, implementation)


def pair_document(cell: pairs.PairCell, implementation: Implementation = DRAFT) -> dict[str, Any]:
    """The scenario of a two-flow cell."""
    name = "-".join((*cell.ccs, cell.queue_mode.replace(" ", "-")))
    return _document(name, cell.ccs, cell.bandwidth_mbit, cell.delay_ms, pairs.QUEUE_MODES[cell.queue_mode], implementation)


def one_flow(request: Request, implementation: Implementation = DRAFT) -> list[ResolvedScenario]:
    """The requested one-flow runs. The first run of a cell starts at 0, the others with jitter."""
    grid = itertools.product(
        reductions.CCS,
        QUICK_BANDWIDTHS_MBIT if request.quick else reductions.BANDWIDTHS_MBIT,
        QUICK_DELAYS_MS if request.quick else reductions.DELAYS_MS,
    )
    return [
        run
        for cc, bandwidth, delay in grid
        for run in repeats(
            document(cc, bandwidth, delay, implementation), {"cc": cc, "bandwidth_mbit": bandwidth, "delay_ms": delay}, request
        )
    ]


def two_flow(
    request: Request, implementation: Implementation = DRAFT, cc_pairs: Sequence[tuple[str, str]] | None = None
) -> list[ResolvedScenario]:
    """The requested two-flow runs, by default of the draft's pairs.

    In the first run of a cell both flows start at 0, in the others each flow has its own jitter.
    """
    chosen = cc_pairs or (QUICK_PAIRS if request.quick else pairs.CC_PAIRS)
    bandwidths = QUICK_PAIR_BANDWIDTHS_MBIT if request.quick else pairs.BANDWIDTHS_MBIT
    delays = QUICK_PAIR_DELAYS_MS if request.quick else pairs.DELAYS_MS
    grid = itertools.product(pairs.QUEUE_MODES, chosen, bandwidths, delays)
    cells = [pairs.PairCell(mode, cc1, cc2, bandwidth, delay) for mode, (cc1, cc2), bandwidth, delay in grid]
    return [run for cell in cells for run in repeats(pair_document(cell, implementation), vars(cell), request)]


def _document(
    name: str, ccs: Sequence[str], bandwidth_mbit: float, delay_ms: float, queue: Mapping[str, Any], implementation: Implementation
) -> dict[str, Any]:
    cached = {} if implementation.cached_ssthresh is None else {"cached_ssthresh": implementation.cached_ssthresh}
    return {
        "name": f"sce-{name}-{bandwidth_mbit:g}mbit-{delay_ms:g}ms",
        "path": {
            "rtt": f"{delay_ms:g}ms",
            # The testbed had an RTT of its own in addition to netem's delay; the value is fitted, see `fitted`.
            "delay": {"where": "before", "extra": "300us"},
            "access": {"rate": "1gbit"},
            "bottleneck": {"rate": f"{bandwidth_mbit:g}mbit", "qdisc": {"kind": "cake", **implementation.queue(queue)}},
        },
        "flows": [
            {
                "name": flow,
                "cc": implementation.control(cc),
                "stack": implementation.stack,
                "host": {"offload": "tso", **cached},
                "ecn": True,
                "sce_echo": True,
            }
            for flow, cc in zip(pairs.FLOWS, ccs, strict=False)
        ],
        "duration": "300s",
        "sample": "200ms",
    }
