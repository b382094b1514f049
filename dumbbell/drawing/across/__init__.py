"""Figures of many runs: values over a swept key or over time, distributions, boxes, ellipses, heat maps."""
