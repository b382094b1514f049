"""Runs, and the store that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.results.schema import schema  # now: later the module of that name would be in its place

if TYPE_CHECKING:
    from dumbbell.results.asked import asked_flows
    from dumbbell.results.conservation import judge
    from dumbbell.results.limits import limit_notes, limited_shares
    from dumbbell.results.run import Results, Run
    from dumbbell.results.series import Block, digest
    from dumbbell.results.storage.store import Store, check_capture, leave_out, load, outlines
    from dumbbell.results.summary import Outline, Summary
    from dumbbell.results.tables import Table

__all__ = [
    "Block",
    "Outline",
    "Results",
    "Run",
    "Store",
    "Summary",
    "Table",
    "asked_flows",
    "check_capture",
    "digest",
    "judge",
    "leave_out",
    "limit_notes",
    "limited_shares",
    "load",
    "outlines",
    "schema",
]

_HOMES = {
    "asked": ("asked_flows",),
    "conservation": ("judge",),
    "limits": (
        "limit_notes",
        "limited_shares",
    ),
    "run": (
        "Results",
        "Run",
    ),
    "series": (
        "Block",
        "digest",
    ),
    "storage.store": (
        "Store",
        "check_capture",
        "leave_out",
        "load",
        "outlines",
    ),
    "summary": (
        "Outline",
        "Summary",
    ),
    "tables": ("Table",),
}
"""Modules of the names."""


def _imported(name: str) -> Any:
    """Import a name when it is asked for, because numpy takes longer to import than small commands otherwise run."""
    from importlib import import_module

    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


if not TYPE_CHECKING:
    __getattr__ = _imported
