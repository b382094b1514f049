"""What a study consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.format import Format, Key
from dumbbell.comparing.reference import Reference, read_reference
from dumbbell.comparing.tables import Table
from dumbbell.drawing.style import Size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario


@dataclass(frozen=True)
class Request:
    """Which runs of a part are wanted."""

    quick: bool = False
    """A representative subset of the cells."""
    seeds: int = 1
    """Repeats of each cell; the second and later ones start with jitter."""
    override: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path into the scenario -> value: one fitted choice taken back."""


@dataclass(frozen=True)
class Fitted:
    """A choice made because it fits the published numbers; an ablation runs the study without it."""

    name: str
    choice: str
    instead: str
    """What the ablation does in its place."""
    evidence: str
    override: Mapping[str, Any]
    """Dotted path into the scenario -> value that takes the choice back."""


@dataclass(frozen=True)
class View:
    """What figures are asked to show."""

    size: Size = "screen"
    start_s: float = 0.0
    stop_s: float = float("inf")


@dataclass(frozen=True)
class Claim:
    """The outcome of one check."""

    id: str
    status: str
    """pass, fail, expected_fail or not_applicable."""
    measured: str
    expected: str
    statement: str


@dataclass(frozen=True)
class Part:
    """A part of a study: runs that belong together and what is published of them."""

    name: str
    title: str
    formats: Sequence[Format]
    """The kinds of reference it can be set beside; the first is the principal one."""
    published: Mapping[str, Path]
    """Format name -> file; a format of which nothing is published has none."""
    scenarios: Callable[[Request], list[ResolvedScenario]]
    quick_note: str
    """What `--quick` leaves out, without that word."""
    figures: Mapping[str, Callable[[Sequence[Run], View], Figure]]
    tables: Callable[[Sequence[Run]], Mapping[int, Table]] = lambda _runs: {}
    """The source's tables from our runs, by number."""
    summaries: Callable[[Sequence[Run]], Mapping[str, Table]] = lambda _runs: {}
    """Tables of our own, by name; the first is shown."""
    claims: Callable[[Sequence[Run]], list[Claim]] | None = None
    claims_bar: float | None = None
    """The least share of the applicable claims to pass that `--check` accepts."""
    seeds: int = 1
    """Repeats of each cell, unless the request says otherwise."""
    fitted: Sequence[Fitted] = ()
    select: Callable[[Key], bool] = lambda _key: True
    """Which cells of the published file are this part's."""
    every_cell: bool = False
    """Few cells, each of which deserves to be shown."""
    parts: Sequence[Part] = ()
    """The parts that it consists of, if it is several together."""
    cell_figures: Callable[[Sequence[Run]], Mapping[str, Callable[[View], Figure]]] = lambda _runs: {}
    """Figures of single cells by name, which are drawn only when they are asked for."""

    @property
    def judged(self) -> list[Format]:
        """The formats that its agreement is judged by: the principal one, and those with a bar."""
        return [each for each in self.formats if each is self.formats[0] or any(metric.bar is not None for metric in each.metrics.values())]

    def reference(self, format_: Format | None = None) -> Reference:
        """The published values in one format (the principal one unless given); none if none are published."""
        wanted = format_ or self.formats[0]
        if wanted.name not in self.published:
            return Reference(Path(), wanted, ())
        found = read_reference(self.published[wanted.name], [wanted])
        return replace(found, values=tuple(value for value in found.values if self.select(value.key)))


def together(name: str, title: str, parts: Sequence[Part], seeds: int) -> Part:
    """Several parts as one: their runs in one folder, everything that each makes of them side by side.

    Claims and fitted choices are those of the first, which must be the same in all.
    """
    return Part(
        name=name,
        title=title,
        formats=[format_ for part in parts for format_ in part.formats],
        published={format_: path for part in parts for format_, path in part.published.items()},
        scenarios=lambda request: [run for part in parts for run in part.scenarios(request)],
        quick_note="; ".join(part.quick_note for part in parts),
        figures={figure: draw for part in parts for figure, draw in part.figures.items()},
        tables=lambda runs: {number: table for part in parts for number, table in part.tables(runs).items()},
        summaries=lambda runs: {table: made for part in parts for table, made in part.summaries(runs).items()},
        claims=parts[0].claims,
        seeds=seeds,
        fitted=parts[0].fitted,
        parts=tuple(parts),
        cell_figures=lambda runs: {figure: draw for part in parts for figure, draw in part.cell_figures(runs).items()},
    )


@dataclass(frozen=True)
class Study:
    """A published study."""

    name: str
    title: str
    source: str
    parts: Mapping[str, Part]
    """The first is the default one."""
