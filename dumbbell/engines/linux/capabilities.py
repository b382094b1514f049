"""The table of an engine whose hosts are Linux."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from dumbbell.catalogue.feature import Feature
from dumbbell.engines.capabilities import OFFLOAD, Capabilities
from dumbbell.engines.linux.controls import CONTROLS
from dumbbell.engines.linux.hosts import STACK_OPTIONS
from dumbbell.engines.linux.qdiscs import DISCIPLINES
from dumbbell.engines.linux.traffic import FEATURES


def of_linux(engine: str, stacks: Mapping[str, str]) -> Capabilities:
    """Return the abilities that Linux can have; `stacks` are names with summaries."""
    return Capabilities.from_table(
        engine,
        {
            "cc": {name: asdict(control) for name, control in CONTROLS.items()},
            "qdisc": {name: {"summary": summary} for name, summary in DISCIPLINES.items()},
            "stack": {name: {"summary": summary, "options": STACK_OPTIONS} for name, summary in stacks.items()},
            "shaper": ["link", "tbf", "htb", "cake"],
            "feature": [
                *(*OFFLOAD.values(), Feature.SYSCTLS, Feature.OUTAGES, Feature.RATE_STEPS, *FEATURES),
                *(Feature.REVERSE_FLOWS, Feature.CAPTURES, Feature.FAULTS, Feature.HOST_QUEUES, Feature.SERVER_OPENS, Feature.SLOW_READERS),
            ],
            "listeners": "own",
        },
    )
