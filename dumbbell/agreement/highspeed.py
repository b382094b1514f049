"""Scenarios of high-speed flows with background traffic: those of the study `ordering` on hosts of today, with everything drawn.

High-speed flows of one congestion control go through a drop-tail queue, half of them from the start and half somewhat later. Web transfers
load either direction, and two long-lived flows the way back, where the ACKs wait. Rates, RTTs, queues and the background lie in the ranges
of the study (`dumbbell_studies/ordering`, whose texts say where its numbers come from). Unlike there runs are short, web transfers bring a
fraction of the rate instead of a calibrated load, the body of their sizes is lognormal without an end, and their RTTs fall into 64 classes,
as in all that the kernel runs. Send buffers grow as hosts tune them: those of 64 MiB that are full all the time do not fit into a guest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dumbbell.agreement.draw import Draw
from dumbbell.agreement.shared import Shared
from dumbbell.catalogue.feature import Feature
from dumbbell.errors import BadInput
from dumbbell.scenario import Scenario, Transfers
from dumbbell.scenario.units import FRAME_BYTES
from dumbbell.scenario.values import web

HIGH_SPEED, BOTTLENECK = "highspeed", "bottleneck"
"""Beginning of the names of the high-speed flows, and the queue that all share."""
SECONDS, WARM_UP_S = 60, 10
"""Duration of a run, and when what is measured begins."""
_SECOND_HALF = "5s"
_KBIT, _RTT_MS, _QUEUE_MS = (100_000, 400_000), (20, 320), (20, 170)
"""Least and most. The study's queues of 1 to 8 MiB are 21 to 168 ms of its link."""
_FLOWS = (2, 4, 8, 16)
_QUEUES = ("pfifo", "bfifo")
_LARGEST = "5600kB"
"""Size of the largest transfer, as the study's calibration has it."""
_POINTS = 32
"""Number of points of the distribution of RTTs."""
_BUFFERS = {"rcvbuf": "64MiB", "wmem": ["4KiB", "16KiB", "64MiB"]}
"""Buffers of long-lived flows, which never limit them."""
_JITTER, _REVERSE_JITTER = "100ms", "1s"
_REVERSE_FLOWS = 2


def high_speed(seed: int, index: int, shared: Shared, controls: Sequence[str], starts: int) -> Scenario:
    """The scenario with this index, a function of seed and index only: high-speed flows with one of these `ccs`, and `starts` runs.

    Each run has its own web transfers and jittered starts, the same on both engines.
    """
    draw = Draw("agree", "stability", seed, index)
    cc = draw.choice("cc", controls)
    kbit, rtt_us = int(float(f"{draw.log('rate', *_KBIT):.3g}")), 100 * round(10 * draw.log("rtt", *_RTT_MS))
    kind = draw.choice("qdisc", tuple(each for each in shared.qdisc if each in _QUEUES))
    room = round(kbit * draw.log("queue", *_QUEUE_MS) / 8)
    queue = {"kind": kind, "limit": f"{room // FRAME_BYTES}p" if kind == "pfifo" else f"{room // 1024}KiB"}
    count = draw.choice("flows", _FLOWS)
    flow = {"cc": cc, "host": _BUFFERS}
    halves = [
        {"name": f"{HIGH_SPEED}-a", **flow, "count": count // 2, "start": {"jitter": _JITTER}},
        {"name": f"{HIGH_SPEED}-b", **flow, "count": count // 2, "start": {"first": _SECOND_HALF, "jitter": _JITTER}},
    ]
    against = [
        {
            "name": f"reverse-{i}",
            "cc": "reno",
            "host": _BUFFERS,
            "direction": "reverse",
            "rtt": f"{rtt}us",
            "start": {"jitter": _REVERSE_JITTER},
        }
        for i, rtt in enumerate(100 * round(10 * _rtt_ms(draw.unit(f"rtt of reverse {i}"))) for i in range(_REVERSE_FLOWS))
    ]
    return Scenario.model_validate(
        {
            "name": f"{cc}-{seed}-{index:03d}",
            "path": {
                "rtt": f"{rtt_us}us",
                "delay": {"where": "after"},
                "bottleneck": {"rate": f"{kbit}kbit", "shaper": draw.choice("shaper", shared.shapers(kind)), "qdisc": queue},
            },
            "flows": [*halves, *against],
            "background": [_web()],
            "duration": f"{SECONDS}s",
            "sample": "1s",
            "series": {"ports": [BOTTLENECK]},
            "repeat": starts,
        }
    )


def controls_of(shared: Shared, ccs: Sequence[str] | None) -> tuple[str, ...]:
    """Return the congestion controls that the high-speed flows draw from: `ccs`, or all that work without marks.

    Raises `BadInput` if the engines share too little for such scenarios.
    """
    lacking: list[str] = [what for what in (Transfers.feature, Feature.REVERSE_FLOWS) if what not in shared.feature]
    if not any(each in shared.qdisc for each in _QUEUES):
        lacking.append(" or ".join(_QUEUES))
    if lacking:
        raise BadInput(
            f"the engines share no {', no '.join(lacking)}; expected engines and --qdisc with which the set stability can be made"
        )
    return tuple(ccs or (cc for cc in shared.cc if cc not in shared.needs_ecn | shared.wants_sce))


def _web() -> dict[str, Any]:
    """Transfers in both directions."""
    body = {"lognormal": {"median": f"{math.exp(web.MU):.0f}B", "sigma": web.SIGMA}}
    tail = {"pareto": {"shape": web.SHAPE, "least": f"{web.BODY_BYTES}B", "most": _LARGEST}}
    shares = [i / _POINTS for i in range(_POINTS)]
    return {
        "kind": "transfers",
        "name": "web",
        "direction": "both",
        "cc": "reno",
        "host": {"rcvbuf": web.RCVBUF},
        "size": {"mixture": [{"share": 1 - web.TAIL, "of": body}, {"share": web.TAIL, "of": tail}]},
        "rtt": {"file": "drawn", "points": [[f"{_rtt_ms(share):.3f}ms", share] for share in shares] + [[f"{web.MOST_RTT_MS:g}ms", 1.0]]},
        "arrivals": {"kind": "poisson", "load": web.LOAD_MBIT / web.RATE_MBIT},
    }


def _rtt_ms(share: float) -> float:
    """The quantile of the study's RTTs: exponential, within bounds."""
    below, above = (1 - math.exp(-bound / web.MEAN_RTT_MS) for bound in (web.LEAST_RTT_MS, web.MOST_RTT_MS))
    return -math.log1p(-(below + (above - below) * share)) * web.MEAN_RTT_MS
