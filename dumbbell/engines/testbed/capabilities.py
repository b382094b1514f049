"""Abilities of the engine `testbed`, if its machines have them. When a run is set up, dumbbell names the abilities that the machines
lack."""

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
    """Return the abilities that Linux can have."""
    found = of_linux(NAME, {"linux-6.12": "Linux 6.12 itself", OWN_STACK: "the stack of the machine, which is recorded"})
    return replace(found, feature=found.feature.union(APPLICATIONS.values()))
