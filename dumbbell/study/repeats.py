"""Runs of a cell with other seeds and jittered starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dumbbell.study.model import Request

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario

JITTER = "100ms"
"""Largest delay of a flow's start in the second and later runs. It shifts the flow against timers, samples and random streams."""


def repeats(document: Mapping[str, Any], cell: Mapping[str, str | float], request: Request) -> list[ResolvedScenario]:
    """The runs of one cell, identified by `cell` and seed. The first has the start times of the document, the others add jitter."""
    from dumbbell.scenario import Scenario

    changes = [{"seed": 1, **request.override}]
    changes += [{"seed": seed, "flows.*.start.jitter": JITTER, **request.override} for seed in range(2, request.seeds + 1)]
    runs = Scenario.model_validate({**document, "sweep": {"cells": changes}}).expand()
    return [replace(run, cell={**cell, "seed": run.seed}) for run in runs]
