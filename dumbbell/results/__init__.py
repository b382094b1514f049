"""Runs, and the store that keeps them."""

from dumbbell.results.conservation import judge
from dumbbell.results.run import Results, Run
from dumbbell.results.series import Block, digest
from dumbbell.results.store import Store, load

__all__ = ["Block", "Results", "Run", "Store", "digest", "judge", "load"]
