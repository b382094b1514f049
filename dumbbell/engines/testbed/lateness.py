"""Lateness of timers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Lateness:
    """Lateness of a timer of 1 ms on a machine, us."""

    median_us: float
    p99_us: float
    worst_us: float

    @classmethod
    def read(cls, said: str) -> Self:
        """Read the output of `agent lateness`. Raises `ValueError`."""
        median_us, p99_us, worst_us = map(float, said.split())
        return cls(median_us, p99_us, worst_us)

    def plain(self) -> dict[str, float]:
        """Return plain data for JSON."""
        return {"median_us": self.median_us, "p99_us": self.p99_us, "worst_us": self.worst_us}
