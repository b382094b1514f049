"""The engines: each compiles a plan to its own world and returns runs. This is the only place that knows their names."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from dumbbell.engines.capabilities import Capabilities, Capability
from dumbbell.errors import BadInput, nearest, one_of

if TYPE_CHECKING:
    from dumbbell.engines.base import Engine

ENGINES = {
    "sim": "packet-level simulator: deterministic, no root",
    "kernel": "the real Linux TCP stack and qdiscs in virtual time: no root, needs `dumbbell kernel build`",
    "testbed": "real Linux hosts in real time: namespaces of this machine, as root or with user namespaces",
}
"""Name to summary; the first is the one of scenarios that name none."""


def engine(name: str) -> Engine:
    """The engine of that name: one of `ENGINES`, or a variant of one, such as kernel:7.3. Raises `BadInput` if there is none."""
    family, _, variant = name.partition(":")
    if family not in ENGINES:
        what, expected = unknown(name)
        raise BadInput(f"engine {what}; expected {expected}")
    return _engine(family).variant(variant) if variant else _engine(family)


def find(name: str) -> Engine | tuple[str, str]:
    """The engine of that name, or what is wrong with the name and what is expected."""
    if name.partition(":")[0] not in ENGINES:
        return unknown(name)
    try:
        return engine(name)
    except BadInput as error:
        what, _, expected = str(error).partition("; expected ")
        return what, expected


@cache
def _engine(name: str) -> Engine:
    return import_module(f"dumbbell.engines.{name}").ENGINE  # type: ignore[no-any-return]


def default() -> str:
    """The engine of scenarios that name none."""
    return next(iter(ENGINES))


def unknown(name: str) -> tuple[str, str]:
    """Return the error for a name that is no engine's, and what is expected."""
    return f"{name!r} is unknown{nearest(name, ENGINES)}", one_of(ENGINES)


__all__ = ["ENGINES", "Capabilities", "Capability", "default", "engine", "find", "unknown"]
