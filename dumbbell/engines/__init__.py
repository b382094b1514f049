"""The engines: each lowers a scenario to its own world and returns runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dumbbell.engines.capabilities import Capabilities, Capability
from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from dumbbell.engines.base import Engine

ENGINES = {
    "sim": "packet-level simulator: deterministic, no root",
    "kernel": "the real Linux TCP stack and qdiscs in virtual time: no root, needs `dumbbell kernel build`",
}
"""Name to summary."""


def engine(name: str) -> Engine:
    """The engine of that name. Raises `BadInput` if there is none."""
    if name not in ENGINES:
        raise BadInput(f"engine {name!r} is unknown; expected one of {', '.join(ENGINES)}")
    return import_module(f"dumbbell.engines.{name}").ENGINE  # type: ignore[no-any-return]


__all__ = ["ENGINES", "Capabilities", "Capability", "engine"]
