"""What the kernel engine can run: the features in the configuration of the kernel that `dumbbell kernel build` makes."""

from __future__ import annotations

from functools import cache

from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.linux.capabilities import of_linux

NAME = "kernel"


@cache
def capabilities() -> Capabilities:
    """What the kernel can run."""
    return of_linux(NAME, {"linux-6.12": "Linux 6.12 itself"})
