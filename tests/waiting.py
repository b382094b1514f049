"""Waiting for what others do: for an event, never for so long."""

import time

HANG_S = 300
"""Anything that takes longer hangs. No test waits so long on a machine that is merely slow or busy, and none passes because it did."""


def wait_until(condition):
    """Return what a condition gives as soon as that is true; fail if it never is."""
    end = time.monotonic() + HANG_S
    while not (found := condition()):
        assert time.monotonic() < end, "what is waited for does not come"
        time.sleep(0.01)
    return found
