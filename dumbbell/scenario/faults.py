"""Faults of links: losses, jitter, reordering, duplicates and wrong bits, as Linux's netem defines them."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, GetJsonSchemaHandler, Tag, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema

from dumbbell.documents.model import Flag, Model
from dumbbell.documents.problems import Location, Unfit
from dumbbell.errors import shortened
from dumbbell.files import read_regular
from dumbbell.scenario.csv_files import located
from dumbbell.scenario.units import CERTAIN, Duration, Share

_MOST_ENTRIES = 16_384
"""Maximum number of entries in a table of jitter: the kernel's NETEM_DIST_MAX."""
_MOST_TABLE_BYTES = 1 << 20
LONGEST_JITTER = Duration.parse("2s")
"""netem keeps it in 31 bits of ns."""
_MOST_GAP = 1_000_000


_NEVER, _ALWAYS = Share(Fraction(0)), Share(Fraction(1))


class Random(Model):
    """A share of all packets."""

    rate: Share
    """Share of the packets that it hits."""
    correlation: Share = _NEVER
    """Dependence of a draw on the one before. Correlated draws are not uniform, so that a small `rate` hits fewer packets than it says."""

    @property
    def planned(self) -> dict[str, Any]:
        """Return the plan's values."""
        return {"share": self.rate.planned, "correlation": self.correlation.planned}


class BitErrors(Model):
    """Losses of frames in which a bit is wrong."""

    bit_error_rate: Annotated[float, Field(ge=0, le=1, strict=False)]
    """Probability that a bit is wrong, each by itself: a frame of n bits is lost with 1 - (1 - rate)^n."""


class Gilbert(Model):
    """Losses in bursts: Gilbert and Elliott's chain of two states, with netem's four parameters and their defaults."""

    p: Share
    """Probability of a change from the good state to the bad one, per packet."""
    r: Share | None = None
    """Probability of a change from the bad state to the good one; by default 100% - p."""
    one_minus_h: Share = _ALWAYS
    """Share of the packets in the bad state that are lost."""
    one_minus_k: Share = _NEVER
    """Share of the packets in the good state that are lost."""

    @property
    def planned(self) -> dict[str, Any]:
        """Return the plan's values."""
        r = CERTAIN - self.p.planned if self.r is None else self.r.planned
        return {
            "kind": "gilbert",
            "p": self.p.planned,
            "r": r,
            "h": CERTAIN - self.one_minus_h.planned,
            "one_minus_k": self.one_minus_k.planned,
        }


_SHAPES = ("uniform", "normal", "pareto", "paretonormal")


class Jitter(Model):
    """Variation of the delay from packet to packet: one of `uniform`, `normal`, `pareto`, `paretonormal`, `table`.

    A time alone is `uniform`.
    """

    uniform: Duration | None = None
    """Half-width of a uniform distribution: from the delay minus this to the delay plus this."""
    normal: Duration | None = None
    """Standard deviation of a normal distribution."""
    pareto: Duration | None = None
    """Scale of a Pareto distribution of shape 3 around the delay, netem's table: most packets are a little below the delay, few far
    above."""
    paretonormal: Duration | None = None
    """Scale of a mixture: a quarter normal, three quarters Pareto."""
    table: str | None = None
    """A file in the format of tc's distributions (/usr/lib/tc/NAME.dist): whole numbers, 8192 of which are one `deviation`."""
    deviation: Duration | None = None
    """Scale of a `table`."""
    keep_order: Flag = False
    """No packet overtakes the one before. Without it packets leave in the order of their times, as in netem."""
    correlation: Share = _NEVER
    """Dependence of a draw on the one before."""
    entries: SkipJsonSchema[
        Annotated[list[Annotated[int, Field(ge=-(1 << 15), lt=1 << 15)]], Field(min_length=1, max_length=_MOST_ENTRIES)] | None
    ] = None
    """Content of the file, once it is read."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, written: Any, info: ValidationInfo) -> Any:
        if isinstance(written, str):
            return {"uniform": written}
        if not isinstance(written, dict) or written.get("entries") is not None or not isinstance(written.get("table"), str):
            return written
        return {**written, "entries": _entries(written["table"], info)}

    @model_validator(mode="after")
    def _sound(self) -> Self:
        shapes = [name for name in (*_SHAPES, "table") if getattr(self, name) is not None]
        if len(shapes) != 1:
            raise Unfit(f"{' and '.join(shapes) or 'no distribution'}", f"one of {', '.join(_SHAPES)}, table")
        if (self.table is None) != (self.deviation is None):
            what = "a table without a deviation" if self.deviation is None else f"a deviation beside {shapes[0]}"
            raise Unfit(what, "table: FILE and deviation: TIME")
        if self.table is None and self.entries is not None:
            raise Unfit("entries without a table", "table: FILE")
        if not 0 < self.scale <= LONGEST_JITTER:
            raise Unfit(f"a jitter of {self.scale}", f"a time above 0, at most {LONGEST_JITTER}")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _alone_or_mapping(cls.__name__, "uniform", handler(schema))

    @property
    def scale(self) -> Duration:
        """Return the length of one deviation."""
        return next(value for name in (*_SHAPES, "deviation") if (value := getattr(self, name)) is not None)  # type: ignore[no-any-return]

    @property
    def planned(self) -> dict[str, Any]:
        """Return the plan's values."""
        shape: Any = (
            {"table": self.entries} if self.entries is not None else next(name for name in _SHAPES if getattr(self, name) is not None)
        )
        return {"deviation_ns": int(self.scale), "correlation": self.correlation.planned, "keep_order": self.keep_order, "shape": shape}


def _entries(name: str, info: ValidationInfo) -> list[int]:
    path = located(name, info)
    try:
        text = read_regular(path, _MOST_TABLE_BYTES).decode("ascii")
        return [int(word) for line in text.splitlines() for word in line.partition("#")[0].split()]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or shortened(str(error), 80)
        raise Unfit(f"cannot read {path}: {reason}", "a file of whole numbers, relative to the scenario's file") from None


def _alone_or_mapping(name: str, alone: str, mapping: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of one value, or of a mapping of that value and further keys."""
    return {"title": name, "description": mapping.pop("description"), "anyOf": [mapping["properties"][alone], mapping]}


class Reorder(Model):
    """Packets that go at once, past those that are delayed: a share, or keys."""

    share: Share
    """Share of the packets that go at once, among those that may."""
    gap: Annotated[int, Field(ge=1, le=_MOST_GAP)] = 1
    """One packet in this number may go at once: the others are delayed."""
    correlation: Share = _NEVER
    """Dependence of a draw on the one before."""

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, written: Any) -> Any:
        return {"share": written} if isinstance(written, str | Share) else written

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _alone_or_mapping(cls.__name__, "share", handler(schema))

    @property
    def planned(self) -> dict[str, Any]:
        """Return the plan's values."""
        return {"share": self.share.planned, "correlation": self.correlation.planned, "gap": self.gap}


def _share_tag(value: Any) -> str:
    if not isinstance(value, dict | Model):
        return "share"
    return "BitErrors" if isinstance(value, BitErrors) or (isinstance(value, dict) and "bit_error_rate" in value) else "Random"


Loss = Annotated[
    Annotated[Share, Tag("share")] | Annotated[Random, Tag("Random")] | Annotated[BitErrors, Tag("BitErrors")], Discriminator(_share_tag)
]
"""A share, or the model of losses."""


def _random_tag(value: Any) -> str:
    return "Random" if isinstance(value, dict | Model) else "share"


Shared = Annotated[Annotated[Share, Tag("share")] | Annotated[Random, Tag("Random")], Discriminator(_random_tag)]
"""A share, correlated or not."""


def _random(written: Share | Random) -> dict[str, Any]:
    return (Random(rate=written) if isinstance(written, Share) else written).planned


class Faults(Model):
    """Faults of a link, as netem makes them, in the order duplicate, loss, corrupt, reorder, jitter."""

    loss: Loss | None = None
    """Share of the packets that are lost: `1%`, `{rate: 1%, correlation: 25%}`, or `{bit_error_rate: 1e-8}`."""
    gilbert: Gilbert | None = None
    """Losses in bursts, in place of `loss`."""
    jitter: Jitter | None = None
    """Variation of the delay."""
    reorder: Reorder | None = None
    """Packets that go at once, past those that are delayed."""
    duplicate: Shared | None = None
    """Share of the packets that are duplicated: `1%` or `{rate: 1%, correlation: 25%}`."""
    corrupt: Shared | None = None
    """Share of the packets that have a wrong bit from here on. The checksum at the receiving end finds the error."""

    def planned_faults(self) -> dict[str, Any] | None:
        """Return the plan's values of the faults, or None if there are none."""
        if self.model_fields_set.isdisjoint(_KEYS):
            return None
        planned: dict[str, Any] = {}
        if isinstance(self.loss, BitErrors):
            planned["loss"] = {"kind": "bit-errors", "rate": self.loss.bit_error_rate}
        elif self.loss is not None:
            planned["loss"] = {"kind": "random", **_random(self.loss)}
        if self.gilbert is not None:
            planned["loss"] = self.gilbert.planned
        planned |= {} if self.jitter is None else {"jitter": self.jitter.planned}
        planned |= {} if self.reorder is None else {"reorder": self.reorder.planned}
        planned |= {} if self.duplicate is None else {"duplicate": _random(self.duplicate)}
        planned |= {} if self.corrupt is None else {"corrupt": _random(self.corrupt)}
        return planned or None

    def wrong_faults(self, delay: Duration) -> list[tuple[Location, str, str]]:
        """Return the contradictions: key, what is wrong, and what was expected. `delay` is the link's."""
        found: list[tuple[Location, str, str]] = []
        if self.loss is not None and self.gilbert is not None:
            found.append((("gilbert",), "stands beside loss, and a link has one model of losses", "the one or the other"))
        if delay == 0:
            found += [
                ((key,), "needs a delay, which is 0s", "a delay above 0") for key in ("jitter", "reorder") if getattr(self, key) is not None
            ]
        return found


_KEYS = frozenset(Faults.model_fields)
Ways = Literal["forward", "reverse", "both"]
"""Directions in which there are faults."""
