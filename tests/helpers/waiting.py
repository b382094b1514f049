"""Waiting for other processes: for an event, never for a fixed time."""

import time

HANG_S = 300
"""Maximum time of a wait. Anything that takes longer hangs. No test waits this long on a machine that is merely slow or busy, and none
passes because it did."""


def wait_until(condition):
    """Return the result of a condition as soon as it is true; fail if it never is."""
    end = time.monotonic() + HANG_S
    while not (found := condition()):
        assert time.monotonic() < end, "what is waited for does not come"
        time.sleep(0.01)
    return found
