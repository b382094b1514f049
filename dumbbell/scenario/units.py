"""Quantities with units, as a user writes them.

Each type parses the written form exactly (no binary fractions), rejects a bare number, and formats to a form that parses back to the same
value. Prefixes of SI are decimal, KiB/MiB/GiB binary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dumbbell.documents.problems import Unfit
from dumbbell.errors import shortened

ETHERNET_MTU = 1500
"""Largest IP packet of an Ethernet without jumbo frames."""
ETHERNET_BYTES = 14
"""Header of a frame."""
FRAME_BYTES = ETHERNET_MTU + ETHERNET_BYTES
"""Ethernet frame of a full segment without FCS: the rate basis of `bdp`."""

_MOST_BDP = 10_000
"""Limits in `bdp` stay below it, so that the fastest rate and the longest delay still give a number of 64 bits."""

_MOST_CHARACTERS = 100
"""Maximum length of a number."""
_MOST_PLACES = 30
"""Maximum zeros behind the point of a share."""
CERTAIN = (1 << 32) - 1
"""A probability of 1 in netem."""
_WRITTEN = re.compile(r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>[A-Za-z]*(?:/[A-Za-z]+)?)\s*", re.ASCII)


ANY_EXPECTED = "a number, with a unit if the key has one, such as 10ms, 10mbit, 64kB, 100p, 0.5bdp or 1%"
"""Expected text for a quantity of any kind."""


def _quoted(written: object) -> str:
    """The written form for messages, not longer than a line."""
    return shortened(repr(written), 60)


def _split(written: object, kind: type[Quantity | Limit]) -> tuple[Fraction, str]:
    """The number and the unit of the written form; `ValueError` in the words of `kind` if it has not both."""
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        raise Unfit(f"{_quoted(written)} is not a {kind.__name__.lower()}", kind.EXPECTED)
    match = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if isinstance(written, str) and match is None:
        raise Unfit(f"{_quoted(written)} is not a number with a unit", kind.EXPECTED)
    if match is None or not match["unit"]:
        raise Unfit(f"{_quoted(written)} has no unit", kind.EXPECTED)
    try:
        number = Decimal(match["number"]) if len(match["number"]) <= _MOST_CHARACTERS else None
    except InvalidOperation:  # an exponent beyond all
        number = None
    if number is None or abs(number.adjusted()) > 30:
        raise Unfit(f"{_quoted(written)} is out of range", kind.EXPECTED)
    return Fraction(number), match["unit"]


def _meant(unit: str, *kinds: type[Quantity]) -> str:
    """A hint at the unit that was probably meant, if there is one."""
    for kind in kinds:
        spellings = {each.lower(): each for each in kind.UNITS} | dict(kind.MEANT)
        if meant := spellings.get(unit.lower()):
            return f" (did you mean {meant}?)"
    return ""


# The cells of a sweep have most of their quantities in common, so that each is parsed and formatted once.


def _validated(kind: Any, written: object) -> Any:
    return _parsed(kind, written) if type(written) is str else kind.parse(written)


@lru_cache(maxsize=10_000)
def _parsed(kind: Any, written: str) -> Any:
    return kind.parse(written)


@lru_cache(maxsize=10_000)
def _formatted(kind: Any, value: int) -> str:
    unit = next(unit for unit in kind.FORMAT if value % kind.UNITS[unit] == 0)
    return f"{value // kind.UNITS[unit]}{unit}"


class Quantity(int):
    """A whole number of a base unit, written with a unit."""

    EXPECTED: ClassVar[str]
    BASE: ClassVar[str]
    UNITS: ClassVar[dict[str, int]]
    """Accepted spellings (lower case where `FOLD`) and their size in base units."""
    FORMAT: ClassVar[tuple[str, ...]]
    """Units tried when formatting, largest first; the last one is the base unit."""
    FOLD: ClassVar[bool] = False
    MEANT: ClassVar[Mapping[str, str]] = {}
    """Other spellings, in lower case, and the unit that each means. They are an error, because some tools mean something else."""

    @classmethod
    def parse(cls, written: object) -> Self:
        """Read the written form, e.g. `"20ms"`. Raises `ValueError` with the expected form."""
        if isinstance(written, cls):
            return written
        number, unit = _split(written, cls)
        factor = cls.UNITS.get(unit.lower() if cls.FOLD else unit)
        if factor is None:
            raise Unfit(f"{_quoted(written)} has an unknown unit {unit!r}{_meant(unit, cls)}", cls.EXPECTED)
        value = number * factor
        if value < 0:
            raise Unfit(f"{_quoted(written)} is negative", cls.EXPECTED)
        if value.denominator != 1:
            raise Unfit(f"{_quoted(written)} is not a whole number of {cls.BASE}", cls.EXPECTED)
        if value >= 1 << 63:
            raise Unfit(f"{_quoted(written)} is out of range", cls.EXPECTED)
        return cls(value)

    def __str__(self) -> str:
        kind: Any = type(self)
        return _formatted(kind, int(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}.parse({str(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            partial(_validated, cls), serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _json_schema(cls.EXPECTED, cls.UNITS, cls.FOLD)


class Rate(Quantity):
    """A rate in bit/s."""

    EXPECTED = "a rate such as 10mbit (bit, kbit, mbit, gbit)"
    BASE = "bit/s"
    UNITS: ClassVar[dict[str, int]] = {"gbit": 10**9, "mbit": 10**6, "kbit": 10**3, "bit": 1}
    FORMAT = ("gbit", "mbit", "kbit", "bit")
    FOLD = True
    # tc's mbps are megabytes per second.
    MEANT: ClassVar = {
        **{f"{prefix}{unit}": f"{prefix}bit" for prefix in ("", "k", "m", "g") for unit in ("bps", "bits", "bit/s", "bits/s", "b/s")},
        "b": "bit",
        "kb": "kbit",
        "mb": "mbit",
        "gb": "gbit",
        "k": "kbit",
        "m": "mbit",
        "g": "gbit",
    }

    @classmethod
    def parse(cls, written: object) -> Self:
        rate = super().parse(written)
        if rate == 0:
            raise Unfit(f"{_quoted(written)}: a rate of 0 never sends", f"{cls.EXPECTED} above 0")
        return rate


class Duration(Quantity):
    """A length of time in ns."""

    EXPECTED = "a time such as 20ms (ns, us, ms, s, min, h)"
    BASE = "ns"
    UNITS: ClassVar[dict[str, int]] = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    FORMAT = ("s", "ms", "us", "ns")
    MEANT: ClassVar = {
        **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
        **dict.fromkeys(("m", "mins", "minute", "minutes"), "min"),
        **dict.fromkeys(("hr", "hour", "hours"), "h"),
        "msec": "ms",
        "msecs": "ms",
        "usec": "us",
        "usecs": "us",
        "nsec": "ns",
    }


class Size(Quantity):
    """An amount of data in bytes."""

    EXPECTED = "a size such as 100MiB (B, kB, MB, GB, KiB, MiB, GiB)"
    BASE = "bytes"
    UNITS: ClassVar[dict[str, int]] = {
        "GiB": 1 << 30,
        "GB": 10**9,
        "MiB": 1 << 20,
        "MB": 10**6,
        "KiB": 1 << 10,
        "kB": 10**3,
        "B": 1,
    }
    FORMAT = ("GiB", "GB", "MiB", "MB", "KiB", "kB", "B")
    MEANT: ClassVar = {"byte": "B", "bytes": "B", "k": "kB", "m": "MB", "g": "GB"}


class Packets(Quantity):
    """A number of packets."""

    EXPECTED = "a number of packets such as 180p"
    BASE = "packets"
    UNITS: ClassVar[dict[str, int]] = {"p": 1}
    MEANT: ClassVar = dict.fromkeys(("packet", "packets", "pkt", "pkts", "pck"), "p")
    FORMAT = ("p",)


class Limit:
    """Room of a queue: packets (`180p`), bytes (`64KiB`) or bandwidth-delay products (`0.5bdp`)."""

    EXPECTED = "a limit such as 180p, 64KiB or 0.5bdp"

    __slots__ = ("_text", "unit", "value")

    def __init__(self, value: Fraction, unit: str) -> None:
        self.value = value
        """Packets, bytes or bandwidth-delay products."""
        self.unit = unit
        """`p`, `B` or `bdp`."""
        self._text: str | None = None
        """Once it has been asked for."""

    @classmethod
    def parse(cls, written: object) -> Limit:
        """Read the written form. Raises `ValueError` with the expected form."""
        if isinstance(written, Limit):
            return written
        if isinstance(written, Packets):
            return cls(Fraction(int(written)), "p")
        if isinstance(written, Size):
            return cls(Fraction(int(written)), "B")
        number, unit = _split(written, cls)
        if unit == "bdp":
            limit = cls(number, "bdp")
        elif unit == "p":
            limit = cls(number, "p")
        elif unit in Size.UNITS:
            limit = cls(number * Size.UNITS[unit], "B")
        else:
            meant = " (did you mean bdp?)" if unit.lower() == "bdp" else _meant(unit, Packets, Size)
            raise Unfit(f"{_quoted(written)} has an unknown unit {unit!r}{meant}", cls.EXPECTED)
        if limit.value <= 0:
            raise Unfit(f"{_quoted(written)} leaves no room for a packet", f"{cls.EXPECTED} above 0")
        if limit.unit != "bdp" and limit.value.denominator != 1:
            raise Unfit(f"{_quoted(written)} is not a whole number", cls.EXPECTED)
        if limit.value >= (_MOST_BDP if limit.unit == "bdp" else 1 << 63):
            raise Unfit(f"{_quoted(written)} is out of range", cls.EXPECTED)
        return limit

    def packets(self, rate_bps: int, base_rtt_ns: int, frame_bytes: int = FRAME_BYTES) -> int:
        """The limit in packets of `frame_bytes`; a `bdp` is `rate_bps` x `base_rtt_ns`, rounded up, at least 1."""
        if self.unit == "B":
            raise ValueError("a limit in bytes has no number of packets")
        if self.unit == "p":
            return int(self.value)
        bits, frame_bits = self.value.numerator * rate_bps * base_rtt_ns, self.value.denominator * 10**9 * 8 * frame_bytes
        return max(1, -(-bits // frame_bits))

    def bytes(self, rate_bps: int, base_rtt_ns: int, frame_bytes: int = FRAME_BYTES) -> int:
        """The limit in bytes; a `bdp` is that of `packets` in whole frames."""
        if self.unit == "p":
            raise ValueError("a limit in packets has no number of bytes")
        if self.unit == "B":
            return int(self.value)
        return self.packets(rate_bps, base_rtt_ns, frame_bytes) * frame_bytes

    def __str__(self) -> str:
        if self._text is None:
            if self.unit == "p":
                self._text = str(Packets(self.value))
            elif self.unit == "B":
                self._text = str(Size(self.value))
            else:
                self._text = f"{decimal(self.value)}bdp"
        return self._text

    def __repr__(self) -> str:
        return f"Limit.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limit) and (self.unit, self.value) == (other.unit, other.value)

    def __hash__(self) -> int:
        return hash((self.unit, self.value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            partial(_validated, cls), serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _json_schema(cls.EXPECTED, ("p", *Size.UNITS, "bdp"))


class Share:
    """A part of all packets, in per cent."""

    EXPECTED = "a share such as 1% (0% to 100%)"

    __slots__ = ("value",)

    def __init__(self, value: Fraction) -> None:
        self.value = value
        """From 0 to 1."""

    @classmethod
    def parse(cls, written: object) -> Share:
        """Read the written form. Raises `ValueError` with the expected form."""
        if isinstance(written, cls):
            return written
        quoted = _quoted(written)
        if not isinstance(written, str) or not written.strip().endswith("%"):
            raise Unfit(f"{quoted} is no share", cls.EXPECTED)
        digits = written.strip()[:-1].strip()
        try:
            number = Decimal(digits) if len(digits) <= _MOST_CHARACTERS and digits.isascii() else None
        except ArithmeticError:
            number = None
        if number is None or not number.is_finite() or not 0 <= number <= 100 or (number and number.adjusted() < -_MOST_PLACES):
            raise Unfit(f"{quoted} is no share", cls.EXPECTED)
        return cls(Fraction(number) / 100)

    @property
    def planned(self) -> int:
        """Return netem's value, in which 2^32 - 1 means always."""
        return round(self.value * CERTAIN)

    def __str__(self) -> str:
        return f"{decimal(self.value * 100)}%"

    def __repr__(self) -> str:
        return f"Share.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Share) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(str))

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": r"^\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%\s*$",
            "description": cls.EXPECTED,
            "examples": ["1%"],
        }


def of_any_kind(written: str) -> Quantity | Limit | Share:
    """Return a quantity of the kind that its unit says. Raises `ValueError` with the expected form."""
    if written.strip().endswith("%"):
        return Share.parse(written)
    match = _WRITTEN.fullmatch(written)
    unit = match["unit"] if match else ""
    for kind in (Duration, Rate, Size, Packets):
        if (unit.lower() if kind.FOLD else unit) in kind.UNITS:
            return kind.parse(written)
    if unit == "bdp":
        return Limit.parse(written)
    raise Unfit(f"{_quoted(written)} is no quantity{_meant(unit, Duration, Rate, Size, Packets)}", ANY_EXPECTED)


def _json_schema(expected: str, units: Iterable[str], fold: bool = False) -> dict[str, Any]:
    """Text that looks like a quantity; whether it is in range is not part of it."""
    spelled = "|".join("".join(f"[{c.lower()}{c.upper()}]" for c in unit) if fold else unit for unit in units)
    pattern = rf"^\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({spelled})\s*$"
    example = expected.partition("such as ")[2].split(" ", 1)[0].rstrip(",")
    return {"type": "string", "pattern": pattern, "description": expected, "examples": [example]}


def decimal(value: Fraction) -> str:
    """A finite decimal fraction, exactly; `value` came from a `Decimal`, so its denominator divides a power of ten."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    whole = int(value * 10**digits)
    if digits == 0:
        return str(whole)
    text = str(whole).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}"
