"""Cake, which is a shaper as well as a queue discipline."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from dumbbell.scenario.discipline import Discipline, PortFacts, number
from dumbbell.scenario.problems import Unfit
from dumbbell.scenario.units import Duration, Rate, Size

_Ms100 = Duration.parse("100ms")
_SCE_RAMPS: dict[bool | str, int] = {False: 0, True: 1, "single": 65535, "single-steep": 65534}
"""The kernel's number for each keyword of the SCE ramp."""


def _sce(value: object) -> object:
    if isinstance(value, bool) or value in ("single", "single-steep"):
        return value
    if isinstance(value, int) and 1 <= value <= 1024:
        return value
    raise Unfit(f"{value!r} is not an SCE ramp", "true, false, single, single-steep or 1 to 1024")


class Cake(Discipline):
    """Cake with tc's keywords, but `besteffort` unless `diffserv` says otherwise."""

    kind: Literal["cake"] = "cake"
    rate: Rate | None = None
    """tc's keyword bandwidth; by default the bottleneck's rate. Not allowed behind another shaper."""
    diffserv: Literal["besteffort", "diffserv3", "diffserv4"] = "besteffort"
    """Tins: one, three or four, by the DSCP. tc's default is diffserv3."""
    isolation: Literal["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"] = (
        "triple-isolate"
    )
    rtt: Duration = _Ms100
    """The interval of COBALT; its target is a twentieth of it."""
    overhead: Annotated[int, Field(ge=-64, le=256)] | None = None
    """Bytes added to each packet's IP length; None is tc's keyword `raw`: the length of the frame."""
    mpu: Annotated[int, Field(ge=0, le=256)] = 0
    """The shortest length that a packet is charged for, bytes."""
    framing: Literal["noatm", "atm", "ptm"] = "noatm"
    memlimit: Size | None = None
    """Limit of the memory that packets take; None: cake derives it from the rate."""
    sce: Annotated[bool | Literal["single", "single-steep"] | int, BeforeValidator(_sce)] = False
    """The SCE ramp: true (`sce`), `single` (`sce-single`), N (`sce-thresh N`), or `single-steep`: `single` with the slope of `sce`."""

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {
            "kind": "cake",
            "rate_bps": port.rate_bps if port.shaped_here else None,
            "isolation": self.isolation,
            "rtt_ns": int(self.rtt),
            "overhead_bytes": self.overhead,
            "mpu_bytes": self.mpu,
            "framing": self.framing,
            "memory_limit_bytes": number(self.memlimit),
            "sce": _SCE_RAMPS[self.sce] if isinstance(self.sce, bool | str) else self.sce,
            **({"diffserv": self.diffserv} if self.diffserv != "besteffort" else {}),
        }
