"""Runs, and the store that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.lazy import lazily
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
    "results.asked": "asked_flows",
    "results.conservation": "judge",
    "results.limits": "limit_notes limited_shares",
    "results.run": "Results Run",
    "results.series": "Block digest",
    "results.storage.store": "Store check_capture leave_out load outlines",
    "results.summary": "Outline Summary",
    "results.tables": "Table",
}
"""Modules of the names."""

if not TYPE_CHECKING:
    __getattr__ = lazily(globals(), _HOMES)
