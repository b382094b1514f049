"""The conditions of the experiments, and which of them the rows of the published tables are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

BASE_RTT_MS = 320.0


@dataclass(frozen=True, order=True)
class Condition:
    """A condition that all protocols are tried in. Tables of several sections print the same condition."""

    rtt_ms: float | None = BASE_RTT_MS
    """RTT of all high-speed flows; None: each has an RTT of its own, from the exponential distribution of the background."""
    buffer_mib: int = 1
    """Size of the bottleneck's queue, in either direction. The page's "MB" are 2^20 bytes: only then are they the shares of the
    bandwidth-delay product that it prints (6.5 %, 13 %), and stock dummynet takes no more than one."""
    flows: int = 4
    """High-speed flows; 0: the background alone."""
    background: str = "type1"
    congested: bool = False
    """Section 10: twelve long-lived SACK flows in the direction of the high-speed flows, which start late; 1,200 s."""

    @property
    def rtt(self) -> str:
        """The RTT as a coordinate."""
        return "exponential" if self.rtt_ms is None else f"{self.rtt_ms:g}"

    @property
    def name(self) -> str:
        """Name in the names of scenarios."""
        rtt = "exponential" if self.rtt_ms is None else f"{self.rtt_ms:g}ms"
        parts = (rtt, f"{self.buffer_mib}MiB", f"{self.flows}-flows", self.background, *(["congested"] if self.congested else []))
        return "-".join(parts)

    @property
    def times(self) -> Times:
        """When things happen."""
        return CONGESTED_TIMES if self.congested else TIMES


@dataclass(frozen=True)
class Times:
    """When the high-speed flows of the two sending hosts start, what is looked at, and when all ends; seconds."""

    first_s: float
    second_s: float
    from_s: float
    to_s: float


TIMES = Times(0.0, 10.0, 10.0, 600.0)
CONGESTED_TIMES = Times(30.0, 130.0, 135.0, 1200.0)

BASE = Condition()
RTTS_MS = (40.0, 80.0, 160.0, 320.0)
BUFFERS_MIB = (1, 2, 4, 8)
FLOWS = (4, 8, 16, 32)

Level = tuple[float, str]
"""Section, and level as the page prints it."""

PRINTED: Mapping[Level, Condition] = {
    (4.0, "320ms"): BASE,
    **{(5.0, f"{rtt:g}ms"): replace(BASE, rtt_ms=rtt) for rtt in RTTS_MS},
    **{(6.0, f"{size}M"): replace(BASE, buffer_mib=size) for size in BUFFERS_MIB},
    **{(7.0, f"{flows} flows"): replace(BASE, flows=flows) for flows in FLOWS},
    **{(8.0, f"{flows} flows"): replace(BASE, flows=flows, rtt_ms=None) for flows in FLOWS},
}
"""Every row with numbers, and its condition."""
SECTIONS: Mapping[int, str] = {
    4: "Load by the second",
    5: "RTT",
    6: "Buffer",
    7: "Flows with a common RTT",
    8: "Flows with RTTs of their own",
    9: "Variability of the cross traffic",
    10: "Congested link",
}
VARIANCE: Mapping[Level, Condition] = {(9.0, "0.05"): BASE, (9.0, "0.15"): replace(BASE, background="type2")}
"""Section 9 prints runs and no utilisation."""
CONGESTED: Mapping[Level, Condition] = {
    (10.0, f"{rtt:g}ms"): Condition(rtt_ms=rtt, buffer_mib=2, flows=2, congested=True) for rtt in (20.0, *RTTS_MS)
}
"""Section 10 prints setups and no numbers."""
FURTHER = (
    replace(BASE, rtt_ms=20.0),
    replace(BASE, flows=2),
    replace(BASE, flows=2, rtt_ms=None),
    replace(BASE, rtt_ms=40.0, buffer_mib=2),
    replace(BASE, rtt_ms=160.0, buffer_mib=2),
)
"""Conditions of the correlations next to those of the sections: RTTs from 20 ms and flow counts from 2 on, as the text says."""
ALONE = (
    Condition(flows=0),
    Condition(flows=0, background="type2"),
    Condition(flows=0, buffer_mib=2, congested=True),
)
"""Without high-speed flows: the two types, and the congested link."""


def distinct(levels: Mapping[Level, Condition]) -> list[Condition]:
    """Each once, in order."""
    return list(dict.fromkeys(levels.values()))
