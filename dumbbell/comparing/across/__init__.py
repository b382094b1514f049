"""Comparing many runs with each other: values with their coordinates, questions about them, and estimates over seeds."""
