"""Traffic that is not bulk, one kind a file: a class with an entry in `Background`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from dumbbell.scenario.traffic.arrivals import Arrivals
from dumbbell.scenario.traffic.base import Traffic
from dumbbell.scenario.traffic.exchange import Exchange
from dumbbell.scenario.traffic.onoff import OnOff
from dumbbell.scenario.traffic.page import Page
from dumbbell.scenario.traffic.ping import Ping
from dumbbell.scenario.traffic.streaming import Streaming
from dumbbell.scenario.traffic.transfers import Transfers
from dumbbell.scenario.traffic.udp import Udp
from dumbbell.scenario.traffic.voip import Voip

__all__ = [
    "Arrivals",
    "Exchange",
    "OnOff",
    "Page",
    "Ping",
    "Streaming",
    "Transfers",
    "Udp",
    "Voip",
]  # exported by dumbbell and dumbbell.scenario


def kind(value: Any) -> Any:
    """Return the kind that an entry says; datagrams need not say it."""
    return value.get("kind", "udp") if isinstance(value, dict) else getattr(value, "kind", "udp")


Background = Annotated[
    Annotated[Exchange, Tag("exchange")]
    | Annotated[OnOff, Tag("onoff")]
    | Annotated[Page, Tag("page")]
    | Annotated[Ping, Tag("ping")]
    | Annotated[Streaming, Tag("streaming")]
    | Annotated[Transfers, Tag("transfers")]
    | Annotated[Udp, Tag("udp")]
    | Annotated[Voip, Tag("voip")],
    Discriminator(kind),
]
"""Traffic of any kind."""
KINDS: Mapping[str, type[Traffic]] = {
    str(each.model_fields["kind"].default): each for each in (Exchange, OnOff, Page, Ping, Streaming, Transfers, Udp, Voip)
}
"""By `kind`."""
