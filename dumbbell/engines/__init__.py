"""The engines: each lowers a scenario to its own world and returns runs."""

from dumbbell.engines.capabilities import Capabilities, Capability

ENGINES = {"sim": "packet-level simulator: deterministic, no root"}
"""Name to summary."""

__all__ = ["ENGINES", "Capabilities", "Capability"]
