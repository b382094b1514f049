"""Faults of links: losses, jitter, reordering, duplicates and wrong bits, as Linux's netem defines them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, GetJsonSchemaHandler, Tag, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema

from dumbbell.documents.model import Flag, Model
from dumbbell.documents.problems import Location, Unfit
from dumbbell.errors import shortened
from dumbbell.files import read_regular
from dumbbell.scenario.base import parameters
from dumbbell.scenario.bounds import beyond
from dumbbell.scenario.generated import faults as generated
from dumbbell.scenario.generated.faults import BitErrors as BitErrors
from dumbbell.scenario.generated.faults import Regular as Regular
from dumbbell.scenario.units import CERTAIN, Duration, Share
from dumbbell.scenario.values.csv_files import located

_MOST_ENTRIES = 16_384
"""Maximum number of entries in a table of jitter: the kernel's NETEM_DIST_MAX."""
_MOST_TABLE_BYTES = 1 << 20


class Random(generated.Random):
    __doc__ = generated.Random.__doc__

    @property
    def planned(self) -> dict[str, Any]:
        """Return the plan's values."""
        return {"share": self.rate.planned, "correlation": self.correlation.planned}


class Gilbert(generated.Gilbert):
    __doc__ = generated.Gilbert.__doc__

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


class Jitter(generated.Jitter):
    __doc__ = generated.Jitter.__doc__

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
            what = "a table without a deviation" if self.deviation is None else f"a deviation with {shapes[0]}"
            raise Unfit(what, "table: FILE and deviation: TIME")
        if self.table is None and self.entries is not None:
            raise Unfit("entries without a table", "table: FILE")
        for each in parameters(type(self)).values():
            for _, what, expected in beyond((), each, getattr(self, each.name)):
                raise Unfit(f"a jitter of {what}", expected)
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


class Reorder(generated.Reorder):
    __doc__ = generated.Reorder.__doc__

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
    for model, key in ((BitErrors, "bit_error_rate"), (Regular, "regular")):
        if isinstance(value, model) or (isinstance(value, dict) and key in value):
            return model.__name__
    return "Random"


Loss = Annotated[
    Annotated[Share, Tag("share")]
    | Annotated[Random, Tag("Random")]
    | Annotated[BitErrors, Tag("BitErrors")]
    | Annotated[Regular, Tag("Regular")],
    Discriminator(_share_tag),
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
    """Share of the packets that are lost: `1%`, `{rate: 1%, correlation: 25%}`, `{regular: 1%}`, or `{bit_error_rate: 1e-8}`."""
    ecn: Flag = False
    """An ECN-capable packet that would be lost is marked instead, as with the word `ecn` of tc's netem."""
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
        elif isinstance(self.loss, Regular):
            planned["loss"] = {"kind": "regular", "share": self.loss.regular.planned}
        elif self.loss is not None:
            planned["loss"] = {"kind": "random", **_random(self.loss)}
        if self.gilbert is not None:
            planned["loss"] = self.gilbert.planned
        planned |= {"ecn": True} if self.ecn else {}
        planned |= {} if self.jitter is None else {"jitter": self.jitter.planned}
        planned |= {} if self.reorder is None else {"reorder": self.reorder.planned}
        planned |= {} if self.duplicate is None else {"duplicate": _random(self.duplicate)}
        planned |= {} if self.corrupt is None else {"corrupt": _random(self.corrupt)}
        return planned or None

    def wrong_faults(self, delay: Duration) -> list[tuple[Location, str, str]]:
        """Return the contradictions: key, what is wrong, and what was expected. `delay` is the link's."""
        found: list[tuple[Location, str, str]] = []
        if self.ecn and self.loss is None and self.gilbert is None:
            found.append((("ecn",), "there is no loss that marks could replace", "loss or gilbert besides"))
        if self.loss is not None and self.gilbert is not None:
            found.append((("gilbert",), "cannot be combined with loss, because a link has one model of losses", "the one or the other"))
        if delay == 0:
            found += [
                ((key,), "needs a delay, which is 0s", "a delay above 0") for key in ("jitter", "reorder") if getattr(self, key) is not None
            ]
        return found


_KEYS = frozenset(Faults.model_fields)
Ways = Literal["forward", "reverse", "both"]
"""Directions in which there are faults."""
