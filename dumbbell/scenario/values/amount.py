"""Quantities of any kind: the values of keys with any unit, or with none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dumbbell.documents.problems import Unfit
from dumbbell.scenario.units import ANY_EXPECTED, Limit, Quantity, Share, decimal, of_any_kind

_UNITS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "Duration": (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)),
    "Rate": (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3), ("bit", 1)),
    "Size": (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1)),
    "Packets": (("p", 1),),
}
"""Kinds that are whole numbers of a base unit: the units in which they are written, the last being that one."""
_OTHERS = {"Limit": "bdp", "Share": "%"}
_DIGITS = Context(prec=6)
"""To which anything else is rounded."""
_WHOLE, _NUMBER = "whole number", "number"


class Amount:
    """A number, or a quantity with its unit."""

    __slots__ = ("kind", "text", "value")

    def __init__(self, value: Fraction, kind: str, text: str | int | float) -> None:
        self.value = value
        """In ns, bit/s, bytes, packets or bandwidth-delay products; of a share in per cent."""
        self.kind = kind
        """The name of its type in `units`; of a plain number `whole number` or `number`."""
        self.text = text
        """The text as it was written."""

    @classmethod
    def parse(cls, written: object) -> Amount:
        """Read the written form. Raises `ValueError` with the expected form."""
        if isinstance(written, cls):
            return written
        if isinstance(written, str):
            found = of_any_kind(written)
            if isinstance(found, Limit):
                return cls(found.value, "Limit", written)
            return cls(found.value * 100 if isinstance(found, Share) else Fraction(int(found)), type(found).__name__, written)
        if isinstance(written, Quantity):
            return cls(Fraction(int(written)), type(written).__name__, str(written))
        if isinstance(written, bool) or not isinstance(written, int | float) or not math.isfinite(written):
            raise Unfit(f"{'nothing' if written is None else repr(written)[:60]} is no quantity", ANY_EXPECTED)
        return cls(Fraction(written), _WHOLE if isinstance(written, int) else _NUMBER, written)

    @property
    def is_whole(self) -> bool:
        """True if a key of this kind takes only whole numbers of its unit."""
        return self.kind in _UNITS or self.kind == _WHOLE

    @property
    def is_plain(self) -> bool:
        """True if it has no unit."""
        return self.kind in (_WHOLE, _NUMBER)

    @property
    def noun(self) -> str:
        """Return the name of its kind."""
        return self.kind if self.is_plain else "bdp" if self.kind == "Limit" else self.kind.lower()

    def __str__(self) -> str:
        return str(self.text)

    def __repr__(self) -> str:
        return f"Amount.parse({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and (self.kind, self.value) == (other.kind, other.value)

    def __hash__(self) -> int:
        return hash((self.kind, self.value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain = core_schema.plain_serializer_function_ser_schema(lambda amount: amount.text)
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=plain)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"type": "string"}], "description": ANY_EXPECTED, "examples": ["10ms"]}


def rounded(value: Fraction, kind: str) -> Fraction:
    """Round to the digits that `as_written` writes: whole numbers downwards, the rest to six digits."""
    if kind in _UNITS or kind == _WHOLE:
        return Fraction(math.floor(value))
    return Fraction(_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)))


def as_written(value: Fraction, kind: str) -> str | int | float:
    """A rounded amount as a scenario file has it: in its largest unit of which it is at least one."""
    if kind == _WHOLE:
        return int(value)
    if kind == _NUMBER:
        return float(value)
    if kind in _OTHERS:
        return f"{decimal(value)}{_OTHERS[kind]}"
    unit, size = next((each for each in _UNITS[kind] if value >= each[1]), _UNITS[kind][-1])
    return f"{decimal(value / size)}{unit}"
