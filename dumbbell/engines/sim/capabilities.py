"""The simulator's table of capabilities, as it is compiled in."""

from __future__ import annotations

import json
from functools import cache

from dumbbell.engines.capabilities import Capabilities
from dumbbell.native import native

NAME = "sim"


@cache
def capabilities() -> Capabilities:
    """Return the abilities of the simulator."""
    return Capabilities.from_table(NAME, json.loads(native().capabilities()))
