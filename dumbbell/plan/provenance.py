"""Maps the entries of a plan back to the settings they come from, so that a refusal can be shown with file, line and key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dumbbell.documents.problems import Location
from dumbbell.plan.refusal import Place, Refusal

_GROUPS = {"control", "faults", "queues", "options", "connections", "streams", "tcp"}
"""Parts of names of fields that are only in plans."""
_UNIT = re.compile(r"_(ns|s|bps|bytes|packets)$")
_AS_WRITTEN = re.compile(r"(?:^|\.)(?:stack\.options|cc)\.")
"""Before names that a scenario has as the plan has them, units and all: options of stacks and parameters of congestion controls."""

Words = Mapping[str, Location]
"""Name of a field in a plan -> its location in the scenario, where they differ by more than the unit."""

PORT: Words = {
    "shaper.kind": ("shaper",),
    "shaper.rate_bps": ("rate",),
    "shaper.burst_bytes": ("burst",),
    "qdisc.control.bandwidth_bps": ("rate",),
    "qdisc.control.max_p": ("qdisc", "probability"),
    "qdisc.memory_limit_bytes": ("qdisc", "memlimit"),
}
DELAY: Words = {
    "": ("delay",),
    "delay_ns": ("rtt",),
    "rate_bps": ("access", "rate"),
    "limit_packets": ("delay", "limit"),
    **{f"faults.{key}": ("delay", key) for key in ("loss", "ecn", "jitter", "reorder", "duplicate", "corrupt")},
}
"""Fields of a dumbbell's path."""
TCP: Words = {
    "cc.kind": ("cc", "kind"),
    "stack.name": ("stack", "base"),
    "host.tso": ("host", "offload"),
    "host.gso": ("host", "offload"),
    "host.max_pacing_bps": ("host", "max_pacing_rate"),
    "host.reads_bps": ("host", "reads"),
    "gro": ("host", "gro"),
    "transfer_bytes": ("bytes",),
    "segment_bytes": ("mss",),
    "opener": ("opens",),
    "accecn": ("ecn",),
    "from": ("src",),
    "to": ("dst",),
}
OVER_TCP: Words = {f"tcp.{name}": location for name, location in TCP.items()}
"""Fields of traffic that is not bulk."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of an entry."""

    location: Location
    words: Words = field(default_factory=dict)

    def of(self, name: str) -> Location:
        """Return where a user would set a field (dotted, as in the plan). If it is not set, readers take the nearest enclosing setting."""
        if name in self.words:
            return self.location + self.words[name]
        parts = (part for part in name.split(".") if part and part not in _GROUPS and not part.isdigit())
        if _AS_WRITTEN.search(name):
            return (*self.location, *parts)
        return (*self.location, *(_UNIT.sub("", part) for part in parts))


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origins of a plan, one for each entry of each of its lists."""

    run: Origin
    hosts: tuple[Origin, ...]
    ports: tuple[Origin, ...]
    paths: tuple[Origin, ...]
    workloads: tuple[Origin, ...]
    schedule: tuple[Origin, ...]

    def location(self, refusal: Refusal) -> Location:
        """Return the setting that a refusal concerns."""
        return self._origin(refusal.place).of(refusal.field)

    def _origin(self, place: Place) -> Origin:
        if place.index is None:
            return self.run
        lists = {"host": self.hosts, "port": self.ports, "path": self.paths, "workload": self.workloads, "change": self.schedule}
        return lists[place.kind][place.index]
