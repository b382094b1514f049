"""Runs, and the store that keeps them."""

from dumbbell.results.asked import asked_flows
from dumbbell.results.conservation import judge
from dumbbell.results.limits import limit_notes, limited_shares
from dumbbell.results.run import Results, Run
from dumbbell.results.schema import schema
from dumbbell.results.series import Block, digest
from dumbbell.results.store import Store, check_capture, leave_out, load, outlines
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
