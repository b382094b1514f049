"""What the engine `testbed` can run, if its machines have it: what Linux can have. What they lack is told by name when a run is set up."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from dumbbell.engines.capabilities import (
    CAPTURE,
    FAULTS,
    HOST_QUEUE,
    OFFLOAD,
    OUTAGE,
    RATE_STEP,
    REVERSE,
    SERVER_OPENS,
    SLOW_READERS,
    SYSCTLS,
    Capabilities,
)
from dumbbell.engines.linux import CONTROLS, DISCIPLINES, FEATURES, STACK_OPTIONS

NAME = "testbed"
OWN_STACK = "host"
"""The stack that a machine has, whichever that is."""


@cache
def capabilities() -> Capabilities:
    """What Linux can have."""
    return Capabilities.from_table(
        NAME,
        {
            "cc": {name: asdict(control) for name, control in CONTROLS.items()},
            "qdisc": {name: {"summary": qdisc.summary} for name, qdisc in DISCIPLINES.items()},
            "stack": {
                "linux-6.12": {"summary": "Linux 6.12 itself", "options": STACK_OPTIONS},
                OWN_STACK: {"summary": "the stack of the machine, which is recorded", "options": STACK_OPTIONS},
            },
            "shaper": ["link", "tbf", "htb", "cake"],
            "feature": [
                *(*OFFLOAD.values(), SYSCTLS, OUTAGE, RATE_STEP, *FEATURES),
                *(REVERSE, CAPTURE, FAULTS, HOST_QUEUE, SERVER_OPENS, SLOW_READERS),
            ],
            "listeners": "own",
        },
    )
