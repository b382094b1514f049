"""Runs on the workers of a cluster: `batch` is the part of a worker, `sweep` that of the one process with the store."""
