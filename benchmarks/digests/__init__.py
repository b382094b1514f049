"""Fingerprints of all runs that must not change, and what changed them last."""
