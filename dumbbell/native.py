"""The one place where the compiled module (crates/bindings) is loaded: what simulates, what reads captures, and the schema of results."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dumbbell.errors import EnvironmentFault

if TYPE_CHECKING:
    from types import ModuleType


@cache
def native() -> ModuleType:
    """The native module. Raises `EnvironmentFault` if it is not built."""
    try:
        from dumbbell import _native
    except ImportError as error:
        raise EnvironmentFault(f"the simulator is not built ({error}); expected `make setup` to have run") from None
    return _native
