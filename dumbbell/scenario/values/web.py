"""Web transfers as background traffic: numbers that the study `ordering` and the set `stability` of `dumbbell agree` share.

The page of the study prints no parameters; `dumbbell_studies/ordering/background.py` says how its background is made of these.
"""

from __future__ import annotations

MU, SIGMA, BODY_BYTES = 9.357, 1.318, 133_000
"""Sizes of Surge (Barford and Crovella, SIGMETRICS 1998): natural logarithm of the median in bytes, its standard deviation, and where the
tail begins."""
SHAPE = 1.1
"""The shape of the Pareto distribution of the tail."""
TAIL = 0.07
"""Share of the transfers whose size is of the tail."""
RCVBUF = "87380B"
"""SO_RCVBUF of the receivers, which Linux doubles."""
MEAN_RTT_MS, LEAST_RTT_MS, MOST_RTT_MS = 100.0, 10.0, 600.0
"""The RTTs are exponential, within bounds."""
RATE_MBIT, LOAD_MBIT = 400, 70.0
"""Rate of the bottleneck, in IP packets, and what the transfers load it with."""
