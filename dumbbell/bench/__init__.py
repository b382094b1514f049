"""Benchmarks of the simulator: cases, measurement, recorded values."""
