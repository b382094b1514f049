"""Cells that are spread over a space of settings: drawn at random, by Sobol's sequence, or as a Latin hypercube.

The points are the same on every machine, as they are made of whole numbers: of hashes, and of the direction numbers of Joe and Kuo (SIAM
Journal on Scientific Computing 30, 2008) as scipy.stats.qmc has them. Sobol's points are shifted digit by digit (an exclusive or with a
hash of the seed and the key), which leaves them as even as they are (L'Ecuyer and Lemieux, Recent Advances in Randomized Quasi-Monte Carlo
Methods, 2002). A Latin hypercube is that of McKay, Beckman and Conover (Technometrics 21, 1979): each key has one value in each of `count`
equal parts of its range.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from dumbbell.documents.problems import Unfit
from dumbbell.scenario.values.amount import Amount, as_written, rounded

Values = Annotated[list[Any], Field(min_length=1)]

_BITS = 32
"""Bits of a point of Sobol's sequence, and of a shift."""
_MOST_POINTS = 100
"""For each cell that is wanted: to meet all of a million cells at random takes 15 times as many draws."""
_EXACT = Context(prec=30, rounding=ROUND_FLOOR)
"""In which logarithms are taken: the decimal module rounds them rightly, and C libraries differ in their last digits."""


class Range(BaseModel):
    """All values between two ends."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_by_name=True, serialize_by_alias=True)

    from_: Annotated[Amount, Field(alias="from")]
    """Minimum; the key is `from`."""
    to: Amount
    """Maximum."""
    scale: Literal["linear", "log"] = "linear"
    """`linear`: equal differences are equally likely. `log`: equal ratios are equally likely."""
    step: Amount | None = None
    """Step between one value and the next, from the first on. By default the unit in which the key is counted: 1 ns, bit/s, byte or packet,
    or 1 for two whole numbers. Plain numbers, shares and `bdp` are rounded to six digits."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        low, high, step = self.from_, self.to, self.step
        for amount, name in ((high, "to"), (step, "step")):
            if amount is not None and amount.kind != low.kind and not {amount.kind, low.kind} <= {"number", "whole number"}:
                raise Unfit(f"from {low} and {name} {amount} are of two kinds", f"two of a kind, such as a {low.noun}")
        if high.value <= low.value:
            raise Unfit(f"{low} to {high} is no range", "a higher end")
        if self.scale == "log" and low.value <= 0:
            raise Unfit(f"from {low} has no logarithm", "more than 0, or scale: linear")
        if step is not None and not 0 < step.value <= high.value - low.value:
            raise Unfit(f"step {step} does not lead from {low} to {high}", "a step above 0 that is no longer than the range")
        return self

    @cached_property
    def kind(self) -> str:
        """See `Amount.kind`."""
        numbers = [each.kind for each in (self.from_, self.to, self.step) if each is not None]
        return "number" if "number" in numbers else self.from_.kind

    @cached_property
    def steps(self) -> int | None:
        """The number of values; None if there is no end of them."""
        each = self._each
        return None if each is None else math.floor((self.to.value - self.from_.value) / each) + 1

    def at(self, place: Fraction) -> str | int | float:
        """The value at a place from 0 to below 1."""
        low, high = self._ends
        if self.scale == "linear":
            value = low + place * (high - low)
        else:
            first, ratio = self._logarithms
            value = min(max(Fraction(_EXACT.exp(_EXACT.fma(_decimal(place), ratio, first))), low), high)
        if (each := self._each) is not None:
            value = low + each * min(math.floor((value - low) / each), (self.steps or 1) - 1)
        return as_written(min(rounded(value, self.kind), self.to.value), self.kind)

    @cached_property
    def _each(self) -> Fraction | None:
        if self.step is not None:
            return self.step.value
        return Fraction(1) if self.from_.is_whole and self.kind != "number" else None

    @cached_property
    def _ends(self) -> tuple[Fraction, Fraction]:
        """The last of whole steps is as long as the others, so that all are met equally often."""
        low = self.from_.value
        return low, self.to.value if self._each is None else low + self._each * (self.steps or 1)

    @cached_property
    def _logarithms(self) -> tuple[Decimal, Decimal]:
        """Return the logarithm of the lower end, and that of the ratio of the two ends."""
        low, high = self._ends
        return _EXACT.ln(_decimal(low)), _EXACT.ln(_decimal(high / low))


def _decimal(value: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _over_tag(value: Any) -> str:
    return "Range" if isinstance(value, dict | Range) else "list"


Over = Annotated[Annotated[Values, Tag("list")] | Annotated[Range, Tag("Range")], Discriminator(_over_tag)]


class Sample(BaseModel):
    """Cells spread over the lists and ranges of `over`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    method: Literal["random", "sobol", "latin"] = "random"
    """`random`: each key by itself. `sobol`: evenly over all keys together, most of all where `count` is a power of 2. `latin`: each key
    evenly by itself, whatever the `count`. With a larger `count` the first two have the same cells and more, `latin` has others."""
    count: Annotated[int, Field(ge=1, le=1_000_000)]
    """The number of cells."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the sample: another seed gives other cells."""
    over: Annotated[dict[str, Over], Field(min_length=1)]
    """Lists, whose values are equally likely, and ranges, by dotted keys. A further key at the end does not change the values of the
    others."""

    @property
    def most(self) -> int | None:
        """The number of different cells that there are; None if there is no end of them."""
        numbers = [each.steps if isinstance(each, Range) else len(each) for each in self.over.values()]
        known = [number for number in numbers if number is not None]
        return math.prod(known) if len(known) == len(numbers) else None

    def cells(self) -> list[dict[str, Any]]:
        """Return the cells, dotted key to value as written. Raises `Unfit` if there are too few values for this many cells."""
        points = {"random": _random, "sobol": _sobol, "latin": _latin}[self.method](self)
        found: dict[tuple[Any, ...], dict[str, Any]] = {}
        for point in itertools.islice(points, _MOST_POINTS * self.count):
            met = self._met(point)
            found.setdefault(tuple(which for which, _ in met.values()), {key: value for key, (_, value) in met.items()})
            if len(found) == self.count:
                return list(found.values())
        others = ", method: random or sobol" if self.method == "latin" else ""
        raise Unfit(
            f"count {self.count}: {self.method} meets {len(found)} different cells", f"a smaller count{others}, or keys with more values"
        )

    def _met(self, point: Sequence[Fraction]) -> dict[str, tuple[Any, Any]]:
        """Return for each key its value at a place, and what tells the value from others."""
        found = {}
        for place, (key, values) in zip(point, self.over.items(), strict=True):
            if isinstance(values, Range):
                found[key] = (value := values.at(place), value)
            else:
                found[key] = (number := math.floor(place * len(values)), values[number])
        return found


def _hash(text: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big")


def _random(sample: Sample) -> Iterator[list[Fraction]]:
    """Each key has its own stream, so that another key does not shift its draws."""

    def place(key: str, values: Any, index: int) -> Fraction:
        drawn = _hash(f"{sample.seed}/{key}/{index}", 16)
        return Fraction(drawn, 1 << 128) if isinstance(values, Range) else Fraction(drawn % len(values), len(values))

    for index in itertools.count():
        yield [place(key, values, index) for key, values in sample.over.items()]


def _sobol(sample: Sample) -> Iterator[list[Fraction]]:
    """Yield points: key i gets the i-th dimension, with a shift of its own."""
    from scipy.stats import qmc  # slow to import, and few scenarios need it

    shifts = [_hash(f"{sample.seed}/{key}", _BITS // 8) for key in sample.over]
    sequence = qmc.Sobol(len(shifts), scramble=False, bits=_BITS)
    size = max(sample.count - 1, 1).bit_length()
    for more in itertools.chain([size], itertools.count(size)):  # always up to a power of 2
        for point in sequence.random_base2(more).tolist():
            yield [Fraction(int(each * (1 << _BITS)) ^ shift, 1 << _BITS) for each, shift in zip(point, shifts, strict=True)]


def _latin(sample: Sample) -> Iterator[list[Fraction]]:
    """Yield points: each key has the parts in an order of its own, and a place in each part."""
    parts, whole = range(sample.count), sample.count << _BITS
    orders = {key: sorted(parts, key=lambda part: _hash(f"{sample.seed}/{key}/order/{part}", 16)) for key in sample.over}
    for index in parts:
        yield [
            Fraction((order[index] << _BITS) + _hash(f"{sample.seed}/{key}/place/{index}", _BITS // 8), whole)
            for key, order in orders.items()
        ]
