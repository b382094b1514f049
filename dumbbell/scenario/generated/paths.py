"""Keys of paths as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Literal

from dumbbell.scenario.faults import Faults
from dumbbell.scenario.units import Duration, Limit

ShaperKind = Literal["link", "tbf", "htb", "cake", "dummynet"]


class Delay(Faults):
    """Place of the base RTT on the path, and the faults there."""

    where: Literal["before", "after", "ack-path"] = "before"
    """`before`: half of it before the bottleneck's queue of each direction; `after`: half behind each; `ack-path`: all of it on the
    reverse path."""
    extra: Duration = Duration.parse("0s")
    """Extra delay per direction, on top of the base RTT and at the same place (`ack-path`: behind the bottleneck)."""
    limit: Limit | None = None
    """Maximum number of packets (or `bdp`) that the delay stage holds, like netem's limit. Without a limit it never overflows."""
    faults_in: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the packets that faults concern: `loss`, `gilbert`, `jitter`, `reorder`, `duplicate`, `corrupt`."""
