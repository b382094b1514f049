"""Runs that show the ramp of SCE marks packet by packet: short flows in slow start repeatedly fill and drain the queue.

    senders -- [netem d/2] [cake 10 Mbit/s sce] ---- receivers

The sample interval is shorter than the serialisation time of a packet, so each sample contains at most one departure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell_studies.sce.implementation import DRAFT, Implementation
from dumbbell_studies.sce.reductions import BOTTLENECK, IMPLEMENTATION

if TYPE_CHECKING:
    from dumbbell.metrics import Array
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

DEFAULT, SINGLE = "sce", "sce-single"
"""Keywords of cake's ramps."""
TARGET_MS = 5.0
"""COBALT's target at 10 Mbit/s, which is also the sojourn time up to which no packet gets a CE mark."""
_RAMP = "ramp"
_REPEATS = 4
"""Runs with jittered starts, so that the sojourn times cover the whole ramp."""


def marking(implementation: Implementation = DRAFT) -> list[ResolvedScenario]:
    """The runs for both ramps."""
    from dumbbell.scenario import Scenario

    documents = {
        keyword: _document(keyword, ramp, implementation.stack) for keyword, ramp in ((DEFAULT, True), (SINGLE, implementation.single))
    }
    return [
        replace(run, cell={_RAMP: keyword, "seed": run.seed})
        for keyword, document in documents.items()
        for run in Scenario.model_validate(document).expand()
    ]


def departures_of(run: Run) -> tuple[str, tuple[Array, Array]] | None:
    """The ramp of a run, with sojourn time (ms) and SCE mark (0 or 1) of each departure without CE. None for any other run."""
    if _RAMP not in run.cell or IMPLEMENTATION in run.cell:
        return None
    sojourn_ms = run.series(BOTTLENECK, "sojourn_ms")[1][1:]
    sent, sce, ce = (np.diff(run.series(BOTTLENECK, name)[1]) for name in ("sent_packets", "sce_marks", "ce_marks"))
    departed = (sent == 1) & (ce == 0)
    return str(run.cell[_RAMP]), (sojourn_ms[departed], sce[departed])


def _document(keyword: str, ramp: bool | str, stack: str | dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"sce-ramp-{keyword}",
        "path": {
            "rtt": "20ms",
            "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "cake", "isolation": "flowblind", "sce": ramp}},
        },
        "flows": [
            {
                "cc": "reno",
                "count": 20,
                "stack": stack,
                "ecn": True,
                "start": {"every": "500ms", "jitter": "50ms"},
                "duration": "450ms",
            }
        ],
        "duration": "10s",
        "sample": "1ms",
        "repeat": _REPEATS,
    }
