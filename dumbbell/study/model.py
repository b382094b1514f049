"""The parts of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.format import Format, Key
from dumbbell.comparing.reference import Reference, read_reference
from dumbbell.comparing.tables import Table
from dumbbell.drawing.style import Size
from dumbbell.study.calibration import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario


@dataclass(frozen=True)
class Request:
    """Which runs of a part to make."""

    quick: bool = False
    """Only a representative subset of the cells."""
    seeds: int = 1
    """Runs of each cell. The second and later ones start with jitter."""
    override: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path into the scenario -> value. An ablation overrides one fitted choice.

    A study may have words of its own for the first part of a path, such as a congestion control.
    """

    def without(self, word: str) -> Request:
        """Return the request without the overrides of a study's word."""
        return replace(self, override={key: value for key, value in self.override.items() if not key.startswith(f"{word}.")})


def overrides_of(word: str, override: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides of a study's word: the rest of each path -> value."""
    return {key.removeprefix(f"{word}."): value for key, value in override.items() if key.startswith(f"{word}.")}


@dataclass(frozen=True)
class Fitted:
    """A choice that the publication leaves open and that was made to fit its numbers. An ablation runs the study without it."""

    name: str
    choice: str
    alternative: str
    """The behaviour of the ablation, in words."""
    evidence: str
    override: Mapping[str, Any]
    """Dotted path into the scenario -> value of the alternative."""


@dataclass(frozen=True)
class View:
    """Size and time range of figures."""

    size: Size = "screen"
    start_s: float = 0.0
    stop_s: float = float("inf")
    in_order: bool = False
    """True to draw the goodput of single runs, as it is read in order, in place of the delivery rate."""


@dataclass(frozen=True)
class Claim:
    """A claim of the authors and the outcome of its check."""

    id: str
    status: str
    """pass, fail, expected_fail or not_applicable."""
    measured: str
    expected: str
    statement: str


@dataclass(frozen=True)
class Part:
    """A part of a study: runs that belong together, and what is published about them.

    Wide because it has one field for each thing that the commands use: what to run, to compare, to tabulate and to draw. Most are optional,
    and a part sets only those that it needs.
    """

    name: str
    title: str
    formats: Sequence[Format]
    """The formats of the reference files that it can be compared with. The first is the principal one."""
    published: Mapping[str, Path]
    """Name of a format -> published file. A format without published values is missing."""
    scenarios: Callable[[Request], list[ResolvedScenario]]
    quick_note: str
    """Which cells `--quick` runs, for messages and reports."""
    figures: Mapping[str, Callable[[Sequence[Run], View], Figure]]
    tables: Callable[[Sequence[Run]], Mapping[int, Table]] = lambda _runs: {}
    """The tables of the publication, computed from our runs, by number."""
    summaries: Callable[[Sequence[Run]], Mapping[str, Table]] = lambda _runs: {}
    """Further tables by name. The first is printed, all are written."""
    claims: Callable[[Sequence[Run]], list[Claim]] | None = None
    claims_bar: float | None = None
    """The smallest share of passing claims, among the applicable ones, that `--check` accepts."""
    seeds: int = 1
    """Default number of runs of each cell."""
    quick_seeds: int = 2
    """The same of `--quick`, unless `seeds` is less."""
    fitted: Sequence[Fitted] = ()
    select: Callable[[Key], bool] = lambda _key: True
    """Which cells of the published file belong to this part."""
    every_cell: bool = False
    """True if reports show every cell. For parts with few cells."""
    parts: Sequence[Part] = ()
    """The parts that it combines, if any."""
    kernel: str = ""
    """The set of changes of the kernel that its runs need on the engine `kernel`, such as sce; empty if they need none."""
    is_of_kernel: bool = False
    """True if the kernel made the published numbers, so that it runs the scenarios as they are."""
    cell_figures: Callable[[Sequence[Run]], Mapping[str, Callable[[View], Figure]]] = lambda _runs: {}
    """Figures of single cells by name. They are drawn only on request."""

    @property
    def judged_formats(self) -> list[Format]:
        """The formats that decide the agreement: the principal one, and those with a target."""
        return [each for each in self.formats if each is self.formats[0] or any(metric.bar is not None for metric in each.metrics.values())]

    def reference(self, format_: Format | None = None) -> Reference:
        """The published values in a format, by default the principal one. Empty if nothing is published in it."""
        wanted = format_ or self.formats[0]
        if wanted.name not in self.published:
            return Reference(Path(), wanted, ())
        found = read_reference(self.published[wanted.name], [wanted])
        return replace(found, values=tuple(value for value in found.values if self.select(value.key)))


def combine(name: str, title: str, parts: Sequence[Part], seeds: int) -> Part:
    """Several parts as one, which has the runs, formats, tables and figures of all of them.

    Claims and fitted choices are those of the first part, and must be the same in all parts.
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
        quick_seeds=min(part.quick_seeds for part in parts),
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
    """Parts by name. The first is the default."""
    cpu_minutes: Mapping[str, float] = field(default_factory=dict)
    """The cost of a part by its name, for the help of `reproduce`: minutes of one processor, rounded."""
    kernel_part: str = ""
    """The part that is the default on the engine `kernel`; empty if that is the first one, too."""
    calibrations: Callable[[], Sequence[Task]] = tuple
    """The background traffic whose parameters a measurement chose."""
