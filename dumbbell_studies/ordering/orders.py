"""The page's point: the bits per second of two protocols as distributions, compared in stochastic orders."""

from __future__ import annotations

from itertools import combinations

from dumbbell import metrics
from dumbbell.comparing.tables import Table
from dumbbell_studies.ordering.conditions import BASE, Condition
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.ordering.trials import Trials

ORDERS: tuple[metrics.orders.Order, ...] = ("stochastic", "increasing-convex", "dilation")
BLOCK_S = 30
"""Block of the bootstrap: a second depends on those before it, for about as long as a window takes to grow back at 320 ms."""
_RESAMPLES = 200
_SIGNS = {"below": "<", "above": ">", "equal": "=", "neither": "x"}


def relations(found: Trials, condition: Condition = BASE) -> dict[tuple[str, str], dict[str, str]]:
    """Pair of protocols -> order -> how the first stands to the second (`<`, `>`, `=` not refuted either way, `x` both refuted).

    The first seed of each counts: a distribution over time is that of one run, as in the page's figure.
    """
    firsts = {name: found.own[name, condition][0].bits / 1e6 for name in PROTOCOLS if (name, condition) in found.own}
    return {
        (first, second): {
            order: _SIGNS[metrics.relation(firsts[first], firsts[second], order, block=BLOCK_S, resamples=_RESAMPLES)] for order in ORDERS
        }
        for first, second in combinations(firsts, 2)
    }


def orders_table(found: Trials) -> Table:
    """How each two protocols stand to each other, by order."""
    rows = [[f"{first}, {second}", *signs.values()] for (first, second), signs in relations(found).items()]
    return Table("Orders of the bits of a second at 320 ms, 1 MiB, 4 flows (95 %)", ["protocols", *ORDERS], rows)
