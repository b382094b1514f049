"""Entities of a run that get series, and points at which its packets are captured."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from dumbbell.documents.model import Model
from dumbbell.documents.problems import Unfit

HOSTS = "hosts"
"""The hosts, in a list of points."""


def _points(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, list) and value and all(isinstance(each, str) for each in value)):
        return value
    shown = repr(value) if isinstance(value, str) else "this"
    raise Unfit(f"{shown} is no place to capture at", f"true (the hosts), false, or a list of {HOSTS} and ports")


Points = Annotated[bool | list[str], BeforeValidator(_points)]
"""At the hosts (`true`), nowhere, or where a list says: `hosts`, and ports by the names that they have in results."""


def at_hosts(points: bool | list[str]) -> bool:
    """True if the hosts are among the points."""
    return HOSTS in points if isinstance(points, list) else points


def at_ports(points: bool | list[str]) -> list[tuple[int, str]]:
    """The ports among them, each with its place in the list."""
    return [(i, name) for i, name in enumerate(points) if name != HOSTS] if isinstance(points, list) else []


ALL, NONE = "all", "none"


def _chosen(value: object) -> object:
    if value in (ALL, NONE) or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        return value
    shown = repr(value) if isinstance(value, str) else "this"
    raise Unfit(f"{shown} chooses nothing", f"{ALL}, {NONE} or a list of names")


Choice = Annotated[str | list[str], BeforeValidator(_chosen)]
"""All that there are of a kind, none, or some by name."""

CONTROL, QUEUE = "control", "queue"
"""All state variables of senders and their congestion controls; of queue disciplines."""
KINDS = ("acks", "losses", "marks", "state")
"""Kinds of events that may be recorded."""


def _several(value: object) -> object:
    """A word by itself is a list of one; `{acks, losses}` is a mapping without values in YAML."""
    if value == NONE:
        return []
    if isinstance(value, dict) and not any(each is not None for each in value.values()):
        return list(value)
    return [value] if isinstance(value, str) else value


def _variables(value: object) -> object:
    listed = _several(value)
    if isinstance(listed, list) and all(isinstance(each, str) for each in listed):
        return listed
    raise Unfit("this chooses no state variables", f"{CONTROL}, {QUEUE} or names as of `dumbbell list state`")


def _kinds(value: object) -> object:
    listed = _several(value)
    if listed == [ALL]:
        return list(KINDS)
    if isinstance(listed, list) and all(each in KINDS for each in listed):
        return listed
    wrong = next((each for each in listed if each not in KINDS), value) if isinstance(listed, list) else value
    raise Unfit(f"{wrong!r} is no kind of events", f"{ALL}, {NONE} or a list of {', '.join(KINDS)}")


Events = Annotated[list[str], BeforeValidator(_kinds)]
"""Kinds of events, in any order."""


class Series(Model):
    """Entities that get series, one sample every `sample:`. The totals of a run (the tables of flows and ports) do not depend on it."""

    flows: Choice = ALL
    """Entries of `flows:`, by name (or cc, where they have none): each of their flows. Named applications of `background:` over TCP that
    keep their connections open: each connection (simulator only)."""
    groups: Choice = NONE
    """Entries of `flows:`, and those of `background:` whose connections come and go: their connections together."""
    ports: Choice = ALL
    """Ports by the names that they have in results, such as `bottleneck-reverse`."""
    shares: Choice = NONE
    """Ports that count the bytes of each of these flows and groups."""
    state: Annotated[list[str], BeforeValidator(_variables)] = Field(default_factory=list)
    """State variables of these flows and ports, as further series: `control` for all of senders and their congestion controls, `queue` for
    all of queue disciplines and the totals of cake's tins, or names of `dumbbell list state`. `series: [control, queue]` is short for
    `series: {state: [control, queue]}`."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, written: Any) -> Any:
        """A list chooses state variables."""
        return {"state": written} if isinstance(written, list | str) else written
