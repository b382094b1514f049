"""Runs on disk: the store with its folders, packs, locks, checksums and index."""
