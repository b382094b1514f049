"""Comparing many runs with each other: values and what they are of, what of it is asked for, and estimates over repeats."""
