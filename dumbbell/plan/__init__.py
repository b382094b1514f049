"""The plan of a run: the one contract between a scenario and an engine, with every default filled in."""

from dumbbell.plan.changes import Change, Drop, Hold, Outage, RateChange
from dumbbell.plan.kept import Kept
from dumbbell.plan.make import Planned, make
from dumbbell.plan.model import (
    Connection,
    Direction,
    Host,
    HostSettings,
    Link,
    Path,
    Plan,
    Port,
    Queue,
    Series,
    Side,
    Tcp,
    Traffic,
    Workload,
    over_tcp,
)
from dumbbell.plan.provenance import Origin, Provenance
from dumbbell.plan.refusal import RUN, Place, Refusal
from dumbbell.plan.text import as_json
from dumbbell.plan.workloads import EngineFacts

__all__ = [
    "RUN",
    "Change",
    "Connection",
    "Direction",
    "Drop",
    "EngineFacts",
    "Hold",
    "Host",
    "HostSettings",
    "Kept",
    "Link",
    "Origin",
    "Outage",
    "Path",
    "Place",
    "Plan",
    "Planned",
    "Port",
    "Provenance",
    "Queue",
    "RateChange",
    "Refusal",
    "Series",
    "Side",
    "Tcp",
    "Traffic",
    "Workload",
    "as_json",
    "make",
    "over_tcp",
]
