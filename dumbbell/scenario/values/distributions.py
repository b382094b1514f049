"""Distributions that sizes and times are drawn from: a plain value, or a mapping with one key that says which.

`Drawn[Size]` and `Drawn[Duration]` are the types of these settings. Every drawn value is a whole number of bytes or ns
(`crates/sim/src/draw`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypeVar, Union, cast

from pydantic import Discriminator, Field, GetJsonSchemaHandler, Tag, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema

from dumbbell.documents.model import Model
from dumbbell.documents.problems import Unfit
from dumbbell.scenario.units import Duration, Quantity, Size
from dumbbell.scenario.values.csv_files import located, read_columns

Q = TypeVar("Q", Size, Duration)
Known = Literal["web-search", "data-mining"]
"""Measured sizes that come with dumbbell; the files in `known/` name their sources."""
_KNOWN = Path(__file__).parent / "known"
_MOST_SIGMA = 10
"""Maximum sigma of a lognormal distribution: a standard deviation is then a factor of 22,000."""
_MOST_SHAPE = 100
_MOST_POINTS = 10_000
_BILLIONTH = 1e-9
_ROUNDING = 1e-9
"""Maximum distance of the sum of shares from 1."""


class OfQuantity(Model):
    """Base class of models with a parameter, `Exponential[Duration]` for example."""

    def __reduce__(self) -> tuple[Callable[..., OfQuantity], tuple[Any, ...], dict[Any, Any]]:
        """Pickle looks a class up by its name, and no module has one of the name `Exponential[Duration]`."""
        made = self.__pydantic_generic_metadata__
        return _unfilled, (made["origin"] or type(self), made["args"]), self.__getstate__()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        origin = cls.__pydantic_generic_metadata__["origin"] or cls  # which has the docstring
        return {**handler(schema), "description": origin.__doc__}


def _unfilled(model: Any, args: tuple[Any, ...]) -> OfQuantity:
    """An object of a model with these parameters that has no values yet."""
    model = model[args] if args else model
    return cast("OfQuantity", model.__new__(model))


class Distribution(OfQuantity):
    """Base class of all that are not a plain value."""

    @abstractmethod
    def planned(self) -> dict[str, Any]:
        """Return the plan's values, in bytes or ns."""

    @property
    @abstractmethod
    def mean(self) -> Decimal:
        """In bytes or ns, before draws are rounded to whole numbers."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[int, int | None]:
        """The minimum and the maximum draw, bytes or ns; None: there is no largest."""

    @abstractmethod
    def quantile(self, share: float) -> float:
        """The value (bytes or ns) that this share of all draws, above 0 and below 1, does not exceed."""


class Exponential(Distribution, Generic[Q]):
    """Draws from an exponential distribution."""

    exponential: Q
    """Mean of the draws."""

    def planned(self) -> dict[str, Any]:
        """See `Distribution`."""
        return {"kind": "exponential", "mean": int(self.exponential)}

    @property
    def mean(self) -> Decimal:
        """See `Distribution`."""
        return Decimal(int(self.exponential))

    @property
    def bounds(self) -> tuple[int, int | None]:
        """See `Distribution`."""
        return 0, None if self.exponential else 0

    def quantile(self, share: float) -> float:
        """See `Distribution`."""
        return -math.log1p(-share) * int(self.exponential)


class Uniform(Distribution, Generic[Q]):
    """Draws between two values, each whole number (bytes or ns) as likely as any other."""

    uniform: Annotated[list[Q], Field(min_length=2, max_length=2)]
    """Smallest and largest value."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        low, high = self.uniform
        if low > high:
            raise Unfit(f"{low} to {high} is no range", "the lower one first")
        return self

    def planned(self) -> dict[str, Any]:
        """See `Distribution`."""
        low, high = map(int, self.uniform)
        return {"kind": "uniform", "low": low, "high": high}

    @property
    def mean(self) -> Decimal:
        """See `Distribution`."""
        return Decimal(sum(map(int, self.uniform))) / 2

    @property
    def bounds(self) -> tuple[int, int | None]:
        """See `Distribution`."""
        return int(self.uniform[0]), int(self.uniform[1])

    def quantile(self, share: float) -> float:
        """See `Distribution`."""
        low, high = map(int, self.uniform)
        return low + share * (high - low)


class LognormalKeys(OfQuantity, Generic[Q]):
    """Parameters of a lognormal distribution."""

    median: Q
    """Median of the draws."""
    sigma: Annotated[float, Field(ge=0, le=_MOST_SIGMA, strict=False)]
    """Standard deviation of the natural logarithm."""


class Lognormal(Distribution, Generic[Q]):
    """Draws from a lognormal distribution."""

    lognormal: LognormalKeys[Q]
    """Median, and standard deviation of the logarithm."""

    def planned(self) -> dict[str, Any]:
        """See `Distribution`."""
        return {"kind": "lognormal", "median": int(self.lognormal.median), "sigma": self.lognormal.sigma}

    @property
    def mean(self) -> Decimal:
        """See `Distribution`."""
        return int(self.lognormal.median) * (Decimal(str(self.lognormal.sigma)) ** 2 / 2).exp()

    @property
    def bounds(self) -> tuple[int, int | None]:
        """See `Distribution`."""
        return 0, None

    def quantile(self, share: float) -> float:
        """See `Distribution`."""
        return int(self.lognormal.median) * math.exp(self.lognormal.sigma * NormalDist().inv_cdf(share))


class ParetoKeys(OfQuantity, Generic[Q]):
    """Parameters of a Pareto distribution."""

    shape: Annotated[float, Field(gt=0, le=_MOST_SHAPE, strict=False)]
    """Exponent of the tail, often called alpha. The smaller, the heavier the tail."""
    least: Q
    """Minimum of the draws."""
    most: Q
    """Maximum of the draws: the distribution is cut off there."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not 0 < self.least <= self.most:
            raise Unfit(f"{self.least} to {self.most} is no range", "least above 0, and most no less than that")
        return self


class Pareto(Distribution, Generic[Q]):
    """Draws from a Pareto distribution that is cut off: many small values, and few large ones."""

    pareto: ParetoKeys[Q]
    """Shape, minimum and maximum."""

    def planned(self) -> dict[str, Any]:
        """See `Distribution`."""
        return {"kind": "pareto", "shape": self.pareto.shape, "least": int(self.pareto.least), "most": int(self.pareto.most)}

    @property
    def mean(self) -> Decimal:
        """See `Distribution`."""
        shape, least, most = Decimal(str(self.pareto.shape)), Decimal(int(self.pareto.least)), Decimal(int(self.pareto.most))
        if least == most:
            return least
        ratio = least / most
        if shape == 1:
            return least * -ratio.ln() / (1 - ratio)
        return shape * least / (shape - 1) * (1 - ratio ** (shape - 1)) / (1 - ratio**shape)

    @property
    def bounds(self) -> tuple[int, int | None]:
        """See `Distribution`."""
        return int(self.pareto.least), int(self.pareto.most)

    def quantile(self, share: float) -> float:
        """See `Distribution`."""
        shape, least, most = self.pareto.shape, int(self.pareto.least), int(self.pareto.most)
        return float(least * (1 - share * (1 - (least / most) ** shape)) ** (-1 / shape))


def _quantity(model: type[Distribution]) -> type[Quantity]:
    """Return the type of a distribution's values."""
    return cast("type[Quantity]", model.__pydantic_generic_metadata__["args"][0])


def _check_points(points: list[tuple[Any, float]]) -> None:
    """Raises `Unfit` unless the points are a distribution."""
    before: tuple[int, float] = (0, 0.0)
    for value, share in points:
        if value < before[0] or not before[1] <= share <= 1:
            raise Unfit(f"{value} with a share of {share} does not follow its line before", "rising values, and shares that rise to 1")
        before = value, share
    if before[1] != 1:
        raise Unfit(f"the shares end with {before[1]}", "a last line with a share of 1")


def _planned_points(points: list[tuple[Any, float]]) -> dict[str, Any]:
    return {"kind": "empirical", "points": [[int(value), share] for value, share in points]}


def _mean_of_points(points: list[tuple[Any, float]]) -> Decimal:
    """Values are linear between the points, and a first share is of the first value."""
    mean = Decimal(int(points[0][0])) * Decimal(str(points[0][1]))
    for (low, before), (high, share) in pairwise(points):
        mean += (Decimal(int(low)) + Decimal(int(high))) / 2 * (Decimal(str(share)) - Decimal(str(before)))
    return mean


class FromFile(Distribution, Generic[Q]):
    """Draws from measured values in a file, linear between them.

    A line of the file has a value and the share of all values that are no larger. The first line has the unit of the values and the word
    `share`. dumbbell reads the file once. If it writes the scenario, the points are in it.
    """

    file: str
    """CSV file, relative to the scenario's folder."""
    points: SkipJsonSchema[Annotated[list[tuple[Q, Annotated[float, Field(strict=False)]]], Field(min_length=1, max_length=_MOST_POINTS)]]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, written: Any, info: ValidationInfo) -> Any:
        if not isinstance(written, dict) or "points" in written or not isinstance(written.get("file"), str):
            return written
        rows = read_columns(located(written["file"], info), [_quantity(cls), None])
        return {**written, "points": [tuple(row) for row in rows]}

    @model_validator(mode="before")
    @classmethod
    def _pairs(cls, written: Any) -> Any:
        """Points that were written are lists."""
        if isinstance(written, dict) and isinstance(points := written.get("points"), list):
            return {**written, "points": [tuple(point) if isinstance(point, list) else point for point in points]}
        return written

    @model_validator(mode="after")
    def _sound(self) -> Self:
        _check_points(cast("list[tuple[Any, float]]", self.points))
        return self

    def planned(self) -> dict[str, Any]:
        """See `Distribution`."""
        return _planned_points(cast("list[tuple[Any, float]]", self.points))

    @property
    def mean(self) -> Decimal:
        """See `Distribution`."""
        return _mean_of_points(cast("list[tuple[Any, float]]", self.points))

    @property
    def bounds(self) -> tuple[int, int | None]:
        """See `Distribution`."""
        return int(self.points[0][0]), int(self.points[-1][0])

    def quantile(self, share: float) -> float:
        """See `Distribution`."""
        return _quantile_of_points(cast("list[tuple[Any, float]]", self.points), share)


class KnownSizes(Distribution, Generic[Q]):
    """Draws from measured sizes that come with dumbbell."""

    known: Known
    """Name of the measurement."""

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if _quantity(type(self)) is not Size:
            raise Unfit(f"{self.known} is a distribution of sizes", "one of times")
        return self

    def planned(self) -> dict[str, Any]:
        """See `Distribution`."""
        return _planned_points(_known(self.known))

    @property
    def mean(self) -> Decimal:
        """See `Distribution`."""
        return _mean_of_points(_known(self.known))

    @property
    def bounds(self) -> tuple[int, int | None]:
        """See `Distribution`."""
        points = _known(self.known)
        return int(points[0][0]), int(points[-1][0])

    def quantile(self, share: float) -> float:
        """See `Distribution`."""
        return _quantile_of_points(_known(self.known), share)


def _quantile_of_points(points: list[tuple[Any, float]], share: float) -> float:
    """Values are linear between the points, and a first share is of the first value."""
    if share <= points[0][1]:
        return float(points[0][0])
    for (low, before), (high, after) in pairwise(points):
        if before < share <= after:
            return float(low + (high - low) * (share - before) / (after - before))
    return float(points[-1][0])


def _bisect(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return where a rising function reaches a value."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= wanted else (middle, high)
    return high


def _share_up_to(value: Quantity | Distribution, most: float) -> float:
    """The share of draws that do not exceed `most`, to a billionth."""
    if not is_drawn(value):
        return float(mean(value) <= most)
    return _bisect(lambda share: quantile(value, share) - most, 0, _BILLIONTH, 1 - _BILLIONTH)


@cache
def _known(name: Known) -> list[tuple[Any, float]]:
    points = [(value, share) for value, share in read_columns(_KNOWN / f"{name}.csv", [Size, None])]
    _check_points(points)
    return points


def _key(model: type[Distribution]) -> str:
    """The key that says that it is of this kind: the first."""
    return next(iter(model.model_fields))


def distribution(value: Any) -> str:
    """The key of a distribution that says which it is; `value` for a plain value."""
    if isinstance(value, dict):
        known = {_key(model) for model in (*_SIMPLE, Mixture)}
        return next((key for key in value if key in known), next(map(str, value), "nothing"))
    return _key(type(value)) if isinstance(value, Distribution) else "value"


if TYPE_CHECKING:
    Simple = Union[Q, Distribution]  # noqa: UP007 - an alias with a parameter
    Drawn = Union[Q, Distribution]  # noqa: UP007
else:

    class Simple:
        """`Simple[Size]`: a part of a mixture. A mixture of mixtures is one with more parts."""

        def __class_getitem__(cls, quantity: Any) -> Any:
            """A value of this quantity, or the distribution that it is drawn from."""
            return _tagged(quantity, _SIMPLE)

    class Drawn:
        """`Drawn[Size]`: a size or a time, or the distribution that it is drawn from."""

        def __class_getitem__(cls, quantity: Any) -> Any:
            """A value of this quantity, or the distribution that it is drawn from."""
            return _tagged(quantity, (*_SIMPLE, Mixture))


def _tagged(quantity: Any, models: Sequence[Any]) -> Any:
    # Type aliases cannot be parameters of models, so that these are made here.
    branches = [Annotated[model[quantity], Tag(_key(model))] for model in models]
    return Annotated[Union[Annotated[quantity, Tag("value")], *branches], Discriminator(distribution)]


_SIMPLE = (Exponential, Uniform, Lognormal, Pareto, FromFile, KnownSizes)


class Part(OfQuantity, Generic[Q]):
    """A part of a mixture."""

    share: Annotated[float, Field(ge=0, le=1, strict=False)]
    """Share of all draws that come from this part."""
    of: Simple[Q]
    """Value of this part, or the distribution that it is drawn from."""


class Mixture(Distribution, Generic[Q]):
    """Draws from several values and distributions, each with its share."""

    mixture: Annotated[list[Part[Q]], Field(min_length=1, max_length=100)]
    """The parts. Their shares add up to 1."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        total = math.fsum(part.share for part in self.mixture)
        if abs(total - 1) > _ROUNDING:
            raise Unfit(f"shares of {total:g} together", "shares that add up to 1")
        return self

    def planned(self) -> dict[str, Any]:
        """See `Distribution`."""
        return {"kind": "mixture", "parts": [{"share": part.share, "of": planned(part.of)} for part in self.mixture]}

    @property
    def mean(self) -> Decimal:
        """See `Distribution`."""
        return sum((Decimal(str(part.share)) * mean(part.of) for part in self.mixture), Decimal(0))

    @property
    def bounds(self) -> tuple[int, int | None]:
        """See `Distribution`."""
        each = [bounds(part.of) for part in self.mixture if part.share]
        most = [high for _, high in each if high is not None]
        return min(low for low, _ in each), max(most) if len(most) == len(each) else None

    def quantile(self, share: float) -> float:
        """See `Distribution`."""
        # The share up to a value is that of the parts, each by its own quantiles: both are bisected, to a billionth.
        low, high = (pick(quantile(part.of, at) for part in self.mixture) for pick, at in ((min, _BILLIONTH), (max, 1 - _BILLIONTH)))
        return _bisect(lambda value: sum(part.share * _share_up_to(part.of, value) for part in self.mixture), share, low, high)


def planned(value: Quantity | Distribution) -> Any:
    """A value or a distribution as the plan has it, in bytes or ns."""
    return value.planned() if isinstance(value, Distribution) else int(value)


def mean(value: Quantity | Distribution) -> Decimal:
    """The mean in bytes or ns."""
    return value.mean if isinstance(value, Distribution) else Decimal(int(value))


def bounds(value: Quantity | Distribution) -> tuple[int, int | None]:
    """The minimum and the maximum draw, bytes or ns; None: there is no largest."""
    return value.bounds if isinstance(value, Distribution) else (int(value), int(value))


def quantile(value: Quantity | Distribution, share: float) -> float:
    """The value (bytes or ns) that this share of all draws, above 0 and below 1, does not exceed."""
    return value.quantile(share) if isinstance(value, Distribution) else float(value)


def is_drawn(value: Quantity | Distribution) -> bool:
    """True if it may differ from one draw to the next."""
    low, high = bounds(value)
    return low != high
