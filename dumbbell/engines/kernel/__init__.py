"""The real Linux TCP stack and queue disciplines in virtual time: User-Mode Linux with time travel, without root."""

from dumbbell.engines.kernel.engine import ENGINE

__all__ = ["ENGINE"]
