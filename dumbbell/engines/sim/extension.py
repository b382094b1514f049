"""The simulator as compiled: the native module, and its table of capabilities."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from dumbbell.engines.capabilities import Capabilities
from dumbbell.errors import EnvironmentFault

if TYPE_CHECKING:
    from types import ModuleType

NAME = "sim"


def native() -> ModuleType:
    """The native module. Raises `EnvironmentFault` if it is not built."""
    try:
        from dumbbell import _native
    except ImportError as error:
        raise EnvironmentFault(f"the simulator is not built ({error}); expected `make setup` to have run") from None
    return _native


@cache
def capabilities() -> Capabilities:
    """What the simulator can run."""
    return Capabilities.from_table(NAME, json.loads(native().capabilities()))
