"""Conformance: whether a congestion control does what the test cases of its specification ask for, each a scenario that runs."""

from dumbbell.conform.case import Case, Outcome
from dumbbell.conform.suites import SUITES, Suite

__all__ = ["SUITES", "Case", "Outcome", "Suite"]
