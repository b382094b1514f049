"""Cake, which is a shaper as well as a queue discipline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field

from dumbbell.documents.model import Flag
from dumbbell.documents.problems import Location, Unfit
from dumbbell.scenario.discipline import Discipline, PortFacts, number
from dumbbell.scenario.units import Duration, Rate, Size

_Ms100 = Duration.parse("100ms")
_SCE_RAMPS: dict[bool | str, int] = {False: 0, True: 1, "single": 65535, "single-steep": 65534}
"""The kernel's number for each keyword of the SCE ramp."""


_MORE = ("wash", "ingress", "ack_filter", "autorate_ingress")
"""Keys that few use, which a plan has only if they are set."""
_Filter = Literal["off", "on", "aggressive"]


def _switch(given: object) -> object:
    return {False: "off", True: "on"}[given] if isinstance(given, bool) else given


def _known(framing: object) -> object:
    """A word that tc has, or a list."""
    words = get_args(_Framing)
    if isinstance(framing, str) and framing not in words:
        raise Unfit(f"{framing!r} is unknown", f"one of {', '.join(words)}, or a list of such")
    return framing


def _sce(value: object) -> object:
    if isinstance(value, bool) or value in ("single", "single-steep"):
        return value
    if isinstance(value, int) and 1 <= value <= 1024:
        return value
    raise Unfit(f"{value!r} is not an SCE ramp", "true, false, single, single-steep or 1 to 1024")


_RTTS: Mapping[str, Duration] = {
    name: Duration.parse(rtt)
    for name, rtt in {
        "datacentre": "100us",
        "lan": "1ms",
        "metro": "10ms",
        "regional": "30ms",
        "internet": "100ms",
        "oceanic": "300ms",
        "satellite": "1s",
        "interplanetary": "1000s",
    }.items()
}
"""tc's words for round-trip times (iproute2, tc/q_cake.c)."""
_Rtts = Literal["datacentre", "lan", "metro", "regional", "internet", "oceanic", "satellite", "interplanetary"]
_Cells = Literal["noatm", "atm", "ptm"]
_Framing = Literal[
    _Cells,
    "raw",
    "conservative",
    "ipoa_vcmux",
    "ipoa_llcsnap",
    "bridged_vcmux",
    "bridged_llcsnap",
    "pppoa_vcmux",
    "pppoa_llc",
    "pppoe_vcmux",
    "pppoe_llcsnap",
    "pppoe_ptm",
    "bridged_ptm",
    "ethernet",
    "ether_vlan",
    "docsis",
]


class _Encapsulation(NamedTuple):
    """Meaning of tc's word for a kind of link (iproute2, tc/q_cake.c)."""

    overhead: int
    """Bytes that it adds."""
    cells: _Cells | None = None
    """None leaves them as they are."""
    mpu: int | None = None


_ENCAPSULATIONS: Mapping[str, _Encapsulation] = {
    "conservative": _Encapsulation(48, "atm"),
    "ipoa_vcmux": _Encapsulation(8, "atm"),
    "ipoa_llcsnap": _Encapsulation(16, "atm"),
    "bridged_vcmux": _Encapsulation(24, "atm"),
    "bridged_llcsnap": _Encapsulation(32, "atm"),
    "pppoa_vcmux": _Encapsulation(10, "atm"),
    "pppoa_llc": _Encapsulation(14, "atm"),
    "pppoe_vcmux": _Encapsulation(32, "atm"),
    "pppoe_llcsnap": _Encapsulation(40, "atm"),
    "pppoe_ptm": _Encapsulation(30, "ptm"),
    "bridged_ptm": _Encapsulation(22, "ptm"),
    "ethernet": _Encapsulation(38, mpu=84),
    "ether_vlan": _Encapsulation(4),
    "docsis": _Encapsulation(18, "noatm", 64),
}


class Cake(Discipline):
    """Cake with tc's keywords, but `besteffort` unless `diffserv` says otherwise."""

    kind: Literal["cake"] = "cake"
    rate: Rate | None = None
    """tc's keyword bandwidth; by default the bottleneck's rate. Not allowed behind another shaper."""
    diffserv: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] = "besteffort"
    """Tins: one, three, four or eight, by the DSCP; `precedence`: eight, by its three high bits. tc's default is diffserv3."""
    isolation: Literal["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"] = (
        "triple-isolate"
    )
    rtt: Annotated[Duration, BeforeValidator(lambda given: _RTTS.get(str(given), given), json_schema_input_type=Duration | _Rtts)] = _Ms100
    """The interval of COBALT; its target is a twentieth of it. Or one of tc's words: `datacentre` (100us), `lan` (1ms), `metro` (10ms),
    `regional` (30ms), `internet` (100ms), `oceanic` (300ms), `satellite` (1s), `interplanetary` (1000s)."""
    overhead: Annotated[int, Field(ge=-64, le=256)] | None = None
    """Bytes added to each packet's IP length; None is tc's keyword `raw`: the length of the frame."""
    mpu: Annotated[int, Field(ge=0, le=256)] | None = None
    """The shortest length that a packet is charged for, bytes; by default 0 or what `framing` has."""
    framing: Annotated[_Framing | list[_Framing], BeforeValidator(_known, json_schema_input_type=_Framing | list[_Framing])] = "noatm"
    """Cells (`atm`, `ptm`, `noatm`), or tc's words for kinds of lines, which have their cells, `overhead` and `mpu`: `docsis`, `ethernet`,
    `pppoe_ptm`, `bridged_ptm`, `pppoe_vcmux` ... `conservative`, `raw`; or several of them, such as `[pppoe_ptm, ether_vlan]`, whose
    overheads add up."""
    memlimit: Size | None = None
    """Limit of the memory that packets take; by default cake derives it from the rate."""
    wash: Flag = False
    """Sets the codepoint of packets to 0, after it has chosen their tin."""
    ingress: Flag = False
    """Counts the packets that cake drops as sent, because they have already passed the link that it paces for. COBALT waits longer the more
    bulk flows there are."""
    ack_filter: Annotated[_Filter, BeforeValidator(_switch, json_schema_input_type=_Filter | bool)] = "off"
    """Drops ACKs that a later one in their queue makes needless: the older of two needless ACKs. `aggressive`: also a single one right
    before the later one."""
    autorate_ingress: Flag = False
    """The rate follows that at which packets come, beginning with `rate`. Not allowed behind another shaper."""
    nat: Flag = False
    """Host isolation by the addresses behind NAT. There is none here, so that this changes nothing."""
    sce: Annotated[bool | Literal["single", "single-steep"] | int, BeforeValidator(_sce)] = False
    """The SCE ramp: true (`sce`), `single` (`sce-single`), N (`sce-thresh N`), or `single-steep`: `single` with the slope of `sce`."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Two keys that say the same."""
        words = self._words
        lines = [word for word in words if word in _ENCAPSULATIONS]
        if lines and self.overhead is not None:
            yield ("overhead",), f"{lines[0]} has an overhead of its own", "one of both"
        if "raw" in words and (len(words) > 1 or self.overhead is not None):
            yield ("framing",), "raw stands beside other words", "raw alone"

    @property
    def _words(self) -> Sequence[str]:
        return (self.framing,) if isinstance(self.framing, str) else self.framing

    def _charged(self) -> dict[str, Any]:
        """Return the plan's values for what a packet is charged: it applies the words one after the other, as tc does."""
        overhead, mpu, cells = self.overhead, 0, "noatm"
        for word in self._words:
            if word in _ENCAPSULATIONS:
                line = _ENCAPSULATIONS[word]
                overhead = (overhead or 0) + line.overhead
                mpu = mpu if line.mpu is None else line.mpu
                cells = line.cells or cells
            elif word != "raw":
                cells = word
        return {"overhead_bytes": overhead, "mpu_bytes": mpu if self.mpu is None else self.mpu, "framing": cells}

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {
            "kind": "cake",
            "rate_bps": port.rate_bps if port.shaped_here else None,
            "isolation": self.isolation,
            "rtt_ns": int(self.rtt),
            **self._charged(),
            "memory_limit_bytes": number(self.memlimit),
            "sce": _SCE_RAMPS[self.sce] if isinstance(self.sce, bool | str) else self.sce,
            **({"diffserv": self.diffserv} if self.diffserv != "besteffort" else {}),
            **({"more": more} if (more := {name: value for name in _MORE if (value := getattr(self, name)) not in (False, "off")}) else {}),
        }
