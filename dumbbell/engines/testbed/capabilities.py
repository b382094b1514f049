"""What the engine `testbed` can run, if its machines have it: what they lack is told by name when a run is set up."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from dumbbell.engines.capabilities import APPLICATIONS, Capabilities
from dumbbell.engines.linux.capabilities import of_linux

NAME = "testbed"
OWN_STACK = "host"
"""The stack that a machine has, whichever that is."""


@cache
def capabilities() -> Capabilities:
    """What Linux can have."""
    found = of_linux(NAME, {"linux-6.12": "Linux 6.12 itself", OWN_STACK: "the stack of the machine, which is recorded"})
    return replace(found, feature=found.feature.union(APPLICATIONS.values()))
