"""Types of keys that may be written in several ways, above all those of cake."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator, BeforeValidator

from dumbbell.documents.problems import Unfit
from dumbbell.scenario.units import Duration

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
CakeRtt = Annotated[Duration, BeforeValidator(lambda given: _RTTS.get(str(given), given), json_schema_input_type=Duration | _Rtts)]
"""A time, or one of tc's words."""

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


ENCAPSULATIONS: Mapping[str, _Encapsulation] = {
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


def _known(framing: object) -> object:
    """A word that tc has, or a list."""
    words = get_args(_Framing)
    if isinstance(framing, str) and framing not in words:
        raise Unfit(f"{framing!r} is unknown", f"one of {', '.join(words)}, or a list of such")
    return framing


CakeFraming = Annotated[_Framing | list[_Framing], BeforeValidator(_known, json_schema_input_type=_Framing | list[_Framing])]
"""tc's words for cells or kinds of lines."""


def charged(framing: str | Sequence[str], overhead: int | None, least: int | None) -> dict[str, Any]:
    """Return the plan's values for what a packet is charged: it applies the words one after the other, as tc does."""
    mpu, cells = 0, "noatm"
    for word in words(framing):
        if word in ENCAPSULATIONS:
            line = ENCAPSULATIONS[word]
            overhead = (overhead or 0) + line.overhead
            mpu = mpu if line.mpu is None else line.mpu
            cells = line.cells or cells
        elif word != "raw":
            cells = word
    return {"overhead_bytes": overhead, "mpu_bytes": mpu if least is None else least, "framing": cells}


def words(framing: str | Sequence[str]) -> Sequence[str]:
    """Return the words of `framing`, be it one or several."""
    return (framing,) if isinstance(framing, str) else framing


def _switch(given: object) -> object:
    return {False: "off", True: "on"}[given] if isinstance(given, bool) else given


_Filter = Literal["off", "on", "aggressive"]
CakeAckFilter = Annotated[_Filter, BeforeValidator(_switch, json_schema_input_type=_Filter | bool)]
"""A word, or a flag."""

SCE_RAMPS: dict[bool | str, int] = {False: 0, True: 1, "single": 65535, "single-steep": 65534}
"""The kernel's number for each keyword of the SCE ramp."""


def _sce(value: object) -> object:
    if isinstance(value, bool) or value in ("single", "single-steep"):
        return value
    if isinstance(value, int) and 1 <= value <= 1024:
        return value
    raise Unfit(f"{value!r} is not an SCE ramp", "true, false, single, single-steep or 1 to 1024")


CakeSce = Annotated[bool | Literal["single", "single-steep"] | int, BeforeValidator(_sce)]
"""A ramp by its keyword or its number."""

_Variants = Literal["linux-6.12", "2013"]
PieVariant = Annotated[
    _Variants, BeforeValidator(lambda given: str(given) if given == 2013 else given, json_schema_input_type=_Variants | Literal[2013])
]
"""A word; the year may be a number."""


def _command(written: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*( [A-Za-z0-9._/%:-]+)*", written):
        raise Unfit(f"{written!r} is no command of tc", "a name and parameters with one space between, e.g. hhf limit 1000")
    return written


TcCommand = Annotated[str, AfterValidator(_command)]
"""A command line."""


def _sysctls(values: dict[str, str | int]) -> dict[str, str | int]:
    for key, value in values.items():
        if not re.fullmatch(r"net\.[a-z0-9_.]+", key):
            raise Unfit(f"{key!r} is not a setting of the network", "e.g. net.ipv4.tcp_early_retrans")
        if not re.fullmatch(r"-?[A-Za-z0-9_]+( -?[A-Za-z0-9_]+)*", str(value)):
            raise Unfit(f"{value!r} is no value of {key}", "numbers or words with a space between")
    return values


Sysctls = Annotated[dict[str, str | int], AfterValidator(_sysctls)]
"""Settings of the kernel by name."""
