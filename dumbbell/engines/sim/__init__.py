"""The packet-level simulator of crates/sim as an engine."""

from dumbbell.engines.sim.engine import ENGINE, Sim, packets_per_cpu_second
from dumbbell.native import native

__all__ = ["ENGINE", "Sim", "native", "packets_per_cpu_second"]
