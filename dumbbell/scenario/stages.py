"""Stages of paths with their queues, and what may happen to them, as a user writes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from dumbbell.scenario.generated import paths as generated
from dumbbell.scenario.generated.impairments import Drop, Hold, Outage, RateStep
from dumbbell.scenario.generated.paths import DelayStage, ShaperKind
from dumbbell.scenario.qdiscs import Cake, Dummynet


class Bottleneck(generated.Bottleneck):
    __doc__ = generated.Bottleneck.__doc__

    @property
    def shaper_kind(self) -> ShaperKind:
        """The shaper; the default one if none is given."""
        if self.shaper is not None:
            return self.shaper
        by_rate = self.trace is None or self.trace.opportunities_ms is None
        return "cake" if isinstance(self.qdisc, Cake) and by_rate else "dummynet" if isinstance(self.qdisc, Dummynet) else "link"

    @property
    def rate_bps(self) -> int | None:
        """The rate at which packets leave, bit/s, that of a trace on average; None if nothing limits it."""
        if self.trace is not None:
            return self.trace.mean_bps
        own = self.qdisc.rate if isinstance(self.qdisc, Cake) else None
        rate = self.rate if self.rate is not None else own
        return None if rate is None else int(rate)


class QueueStage(generated.QueueStage, Bottleneck):
    __doc__ = generated.QueueStage.__doc__


def _stage_tag(value: Any) -> str:
    keys = value.keys() if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    return "QueueStage" if {"qdisc", "shaper", "burst"} & set(keys) else "DelayStage"


Stage = Annotated[Annotated[DelayStage, Tag("DelayStage")] | Annotated[QueueStage, Tag("QueueStage")], Discriminator(_stage_tag)]


def _reverse_tag(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "stages"
    return "Bottleneck" if isinstance(value, dict | Bottleneck) else "word"


Reverse = Annotated[
    Annotated[Literal["mirror", "none"], Tag("word")] | Annotated[Bottleneck, Tag("Bottleneck")] | Annotated[list[Stage], Tag("stages")],
    Discriminator(_reverse_tag),
]

Impairment = Annotated[Outage | RateStep | Drop | Hold, Field(discriminator="kind")]
"""A disturbance of a path; `kind` says which."""
