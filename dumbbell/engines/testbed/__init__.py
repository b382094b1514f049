"""The engine `testbed`: real hosts in real time."""

from dumbbell.engines.testbed.engine import ENGINE

__all__ = ["ENGINE"]
