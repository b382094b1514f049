"""Repeating the cells of a scenario until a metric is known well enough: when that is, and running what it takes."""
