"""Faults of links as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.base import Fault
from dumbbell.scenario.units import Duration, Share


class Random(Fault):
    """A share of all packets."""

    named: ClassVar[str] = "random"

    rate: Share
    """Share of the packets that it hits."""
    correlation: Share = Share.parse("0%")
    """Dependence of a draw on the one before. Correlated draws are not uniform, so that a small `rate` hits fewer packets than it says."""


class BitErrors(Fault):
    """Losses of frames in which a bit is wrong."""

    named: ClassVar[str] = "bit_errors"

    bit_error_rate: Annotated[float, Field(ge=0, le=1, strict=False)]
    """Probability that a bit is wrong, each by itself: a frame of n bits is lost with 1 - (1 - rate)^n."""


class Regular(Fault):
    """A share of all packets, as evenly spaced as can be: of 25% every fourth packet."""

    named: ClassVar[str] = "regular"

    regular: Share
    """Share of the packets that it hits, evenly spaced."""


class Gilbert(Fault):
    """Losses in bursts: Gilbert and Elliott's chain of two states, with netem's four parameters and their defaults."""

    named: ClassVar[str] = "gilbert"

    p: Share
    """Probability of a change from the good state to the bad one, per packet."""
    r: Share | None = None
    """Probability of a change from the bad state to the good one; by default 100% - p."""
    one_minus_h: Share = Share.parse("100%")
    """Share of the packets in the bad state that are lost."""
    one_minus_k: Share = Share.parse("0%")
    """Share of the packets in the good state that are lost."""


class Jitter(Fault):
    """Variation of the delay from packet to packet: one of `uniform`, `normal`, `pareto`, `paretonormal`, `table`.

    A time alone is `uniform`.
    """

    named: ClassVar[str] = "jitter"

    uniform: Duration | None = None
    """Half-width of a uniform distribution: from the delay minus this to the delay plus this."""
    normal: Duration | None = None
    """Standard deviation of a normal distribution."""
    pareto: Duration | None = None
    """Scale of a Pareto distribution of shape 3 around the delay, netem's table: most packets are a little below the delay, few far
    above."""
    paretonormal: Duration | None = None
    """Scale of a mixture: a quarter normal, three quarters Pareto."""
    table: str | None = None
    """A file in the format of tc's distributions (/usr/lib/tc/NAME.dist): whole numbers, 8192 of which are one `deviation`."""
    deviation: Duration | None = None
    """Scale of a `table`."""
    keep_order: Flag = False
    """No packet overtakes the one before. Without it packets leave in the order of their times, as in netem."""
    correlation: Share = Share.parse("0%")
    """Dependence of a draw on the one before."""


class Reorder(Fault):
    """Packets that go at once, past those that are delayed: a share, or keys."""

    named: ClassVar[str] = "reorder"

    share: Share
    """Share of the packets that go at once, among those that may."""
    gap: Annotated[int, Field(ge=1, le=4294967295)] = 1
    """One packet in this number may go at once: the others are delayed."""
    correlation: Share = Share.parse("0%")
    """Dependence of a draw on the one before."""
