"""A synthetic cellular trace in mahimahi's format, to stdout: python examples/traces/cellular.py [SECONDS [SEED]] > cellular.down

The model of Winstein, Sivaraman and Balakrishnan, Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks
(NSDI 2013), section 3.1: packets leave as a Poisson process whose rate makes a random walk (Brownian motion of 200 packets/s per square
root of a second), between 0 and 1000 packets/s; at 0 there is an outage, which it leaves at 1 per second. The walk takes steps of 20 ms, as
Sprout's. It begins at 500 packets/s.

The same seed gives the same trace everywhere: nothing but integers, square roots and comparisons of a generator with a fixed algorithm.
"""

import random
import sys

STEP_MS = 20
SIGMA = 200.0
"""Packets/s per square root of a second."""
MOST = 1000.0
"""Packets/s."""
ESCAPE = 1.0
"""Outages that end, per second."""


def opportunities(seconds, seed):
    """Times in ms, in order."""
    rng = random.Random(seed)
    rate, step_s = MOST / 2, STEP_MS / 1000
    for start in range(0, seconds * 1000, STEP_MS):
        # The sum of 12 uniform numbers is as good as normal here, and the same on every machine.
        walk = SIGMA * step_s**0.5 * (sum(rng.random() for _ in range(12)) - 6)
        if rate > 0 or rng.random() < ESCAPE * step_s:
            rate = min(MOST, max(0.0, rate + abs(walk) if rate == 0 else rate + walk))
        for ms in range(start + 1, start + STEP_MS + 1):
            # A Poisson process within 1 ms: at most one packet in each of 20 parts.
            yield from (ms for _ in range(20) if rng.random() < rate / 20_000)


def main():
    """Writes it; the last line is the period."""
    given = [int(word) for word in sys.argv[1:]]
    seconds, seed = given + [60, 1][len(given) :]
    print("\n".join(map(str, opportunities(seconds, seed))))


if __name__ == "__main__":
    main()
