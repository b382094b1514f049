"""Runs on the workers of a cluster: `batch` is what a worker computes, `sweep` what the one process does that has the store."""
