"""The one place where the compiled module (crates/bindings) is loaded: the simulator, the reader of captures, and the schema of results."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def simulate_loaded(plan: str, libraries: Mapping[str, str]) -> tuple[str, Any]:
    """Run a plan with congestion controls from libraries, which may take this process with them. `libraries`: paths by SHA-256.

    Returns ("output", the result of `simulate`), ("changed", the library whose content has changed), ("refused", JSON of the refusals), or
    ("failed", the reason).
    """
    module = native()
    for wanted, path in libraries.items():
        try:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:
            return "changed", f"{path} cannot be read ({error.strerror})"
        if found != wanted:
            return "changed", f"{path} has changed: its SHA-256 is {found}, not {wanted}"
    try:
        return "output", module.simulate(plan, libraries)
    except module.Refused as error:
        return "refused", error.args[0]
    except module.Misbehaved as error:
        return "failed", str(error)
    except RuntimeError as error:
        return "failed", f"the simulator failed: {error}"
