"""xplot's files (`.xpl`), one for each series of a run: a coloured line for each entity, by its name at its end.

Time is that of the run's captures, from 2020-01-01 00:00 UTC, so that the files lie over tcptrace's graphs of the captures (time-sequence
graphs and others, which tcptrace makes). The format is as tcptrace 6.6 writes it: types of x and y, title and labels, commands, `go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from dumbbell.errors import BadInput, printable
from dumbbell.exchange.exported import Exported
from dumbbell.exchange.streams import title
from dumbbell.results import schema

if TYPE_CHECKING:
    from dumbbell.metrics import Series
    from dumbbell.results import Run

_EPOCH_NS = 1_577_836_800 * 10**9
_COLOURS = ("green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink", "white")
"""xplot's own, on its black ground."""


def write(run: Run, base: str) -> Exported:
    """The files of a run. Raises `BadInput` if it has no series."""
    names = dict.fromkeys(name for listed in run.sampled.values() for name in listed)
    found: dict[str, dict[str, Series]] = {}
    for (entity, name), series in run.all_series(*names).items():
        found.setdefault(name, {})[entity] = series
    if not found:
        raise BadInput(f"run {run.key[:10]} ({run.name}) has no series; expected one with samples, see `sample`")
    return Exported({f"{base}-{name}.xpl": _file(run, name, entities).encode() for name, entities in found.items()})


def _file(run: Run, name: str, entities: dict[str, Series]) -> str:
    unit = schema().units[name]
    lines = [
        "timeval double",
        "title",
        printable(f"{title(run)}: {name}"),
        "xlabel",
        "time",
        "ylabel",
        f"{name} ({unit})" if unit else name,
    ]
    for i, (entity, (t_s, values)) in enumerate(entities.items()):
        lines += _line(entity, t_s.tolist(), values.tolist(), _COLOURS[i % len(_COLOURS)])
    return "\n".join([*lines, "go", ""])


def _line(entity: str, t_s: Sequence[float], values: Sequence[float], colour: str) -> list[str]:
    points = [f"{_time(time_s)} {value:.9g}" for time_s, value in zip(t_s, values, strict=True)]
    drawn = [f"line {before} {after}" for before, after in pairwise(points)] or [f"dot {points[0]}"]
    return [colour, *drawn, f"ltext {points[-1]}", printable(entity)]


def _time(t_s: float) -> str:
    """Seconds since 1970 with six decimals, which a float does not hold."""
    us = (_EPOCH_NS + round(t_s * 1e9) + 500) // 1000
    return f"{us // 1_000_000}.{us % 1_000_000:06d}"
