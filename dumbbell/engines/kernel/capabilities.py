"""What the kernel engine can run: the features in the configuration of the kernel that `dumbbell kernel build` makes."""

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

NAME = "kernel"


@cache
def capabilities() -> Capabilities:
    """What the kernel can run."""
    return Capabilities.from_table(
        NAME,
        {
            "cc": {name: asdict(control) for name, control in CONTROLS.items()},
            "qdisc": {name: {"summary": qdisc.summary} for name, qdisc in DISCIPLINES.items()},
            "stack": {"linux-6.12": {"summary": "Linux 6.12 itself", "options": STACK_OPTIONS}},
            "shaper": ["link", "tbf", "htb", "cake"],
            "feature": [
                *(*OFFLOAD.values(), SYSCTLS, OUTAGE, RATE_STEP, *FEATURES),
                *(REVERSE, CAPTURE, FAULTS, HOST_QUEUE, SERVER_OPENS, SLOW_READERS),
            ],
            "listeners": "own",
        },
    )
