"""Runs that were not run here but read from the file of another tool. They have no plan, no ports, and no packets to account for.

Their scenario is all that is known of it: `file`, `sha256`, `format` and `reader` (its version), and `flows`, an entry for each TCP flow
with `flow` (the name), `cc`, `direction`, and as far as they are known `segment_bytes` and `ports`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.results.run import Run

ENGINE = "import"
"""Name in place of the engine's; no scenario can ask for it."""
UNKNOWN_CC = "unknown"
"""The congestion control of a flow whose control is not known."""


def is_imported(run: Run) -> bool:
    """True if a run was read from another tool's file."""
    return is_import(run.engine)


def is_import(engine: Mapping[str, Any]) -> bool:
    """True if the engine in a run's record says so."""
    return engine.get("name") == ENGINE


def file_of(scenario: Mapping[str, Any]) -> str | None:
    """The name of the file that a run was read from, by its scenario; None of a run that was run here."""
    return str(scenario["file"]) if {"file", "sha256", "reader"} <= scenario.keys() else None
