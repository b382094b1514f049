"""Loaded by workers on this machine before anything else: Ctrl-C reaches them too, as they share the terminal, and they shall finish."""

from __future__ import annotations

import signal


def dask_setup(_worker: object) -> None:
    """Called by dask, in the main thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
