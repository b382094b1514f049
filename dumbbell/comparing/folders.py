"""Two folders of one's own compared, cell by cell: the difference of each metric, with its interval and how likely chance makes it.

A cell is a place of the sweep, and in it a group, a flow, a stream or the run as a whole. Where both folders have runs of the same seeds,
the runs are compared seed by seed (paired: Student's t of the differences), which takes out what the seed does to both. Elsewhere the two
means are compared (Welch's t, which does not take the spreads for equal). With many cells some fall below 5 % by chance: the
Holm-Bonferroni correction says which do not (`metrics.statistics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dumbbell.comparing.across.coordinates import ENGINE, NAME, Coordinate, RunSet, completed, everywhere, swept_keys
from dumbbell.comparing.across.derived import TABLE_COLUMNS, derived
from dumbbell.comparing.across.estimates import Estimate, plus_minus, rounded
from dumbbell.comparing.across.observations import Observation, observations
from dumbbell.comparing.across.tables import ROWS
from dumbbell.comparing.tables import Cell as Field
from dumbbell.comparing.tables import Shown, Table
from dumbbell.errors import BadInput, nearest, one_of
from dumbbell.metrics import harm
from dumbbell.metrics.statistics import holm, paired, welch
from dumbbell.results.columns import COLUMNS, SEED, find_column, more_is_better, unknown_column
from dumbbell.results.summary import FLOW_GOODPUT

LEVEL = 0.05
Test = Literal["paired", "welch"]
Place = tuple[tuple[str, Coordinate], ...]


@dataclass(frozen=True)
class Compared:
    """A metric of a cell in both folders."""

    place: Place
    metric: str
    first: float
    """Mean over the runs of the first folder."""
    second: float
    low: float
    """Lower limit of the 95 % interval of the difference, second minus first; NaN without enough runs."""
    high: float
    p: float
    """Probability of such a difference, or a greater one, by chance alone; NaN without enough runs."""
    test: Test | None
    """None if there are too few runs for a test, or if no seed makes a difference."""
    counts: tuple[int, int]
    """Runs in the first and in the second folder, or pairs."""
    stands: bool = False
    """True if the difference remains after Holm's correction for all metrics of all cells."""

    @property
    def harm(self) -> float:
        """Share of the performance that is lost in the second folder (`dumbbell.metrics.harm`); the first has the flows alone."""
        if min(self.first, self.second) < 0:
            return math.nan
        return harm(self.first, self.second, more_is_better(self.metric))

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first

    def plain(self, with_harm: bool = False) -> dict[str, Any]:
        """Return data for JSON."""
        names = ("first", "second", "difference", "low", "high", "p", *(("harm",) if with_harm else ()))
        numbers = {name: getattr(self, name) for name in names}
        known = {name: None if math.isnan(value) else value for name, value in numbers.items()}
        return {**dict(self.place), "metric": self.metric, **known, "test": self.test, "runs": list(self.counts), "stands": self.stands}


@dataclass(frozen=True)
class Comparison:
    """Two folders, compared."""

    labels: tuple[str, str]
    per: str
    compared: Sequence[Compared]
    only: tuple[int, int]
    """Cells that only the first folder has, and only the second."""

    @property
    def differing(self) -> list[Compared]:
        """The differences that remain after the correction, the surest first."""
        return sorted((each for each in self.compared if each.stands), key=lambda each: each.p)

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        tested = sum(each.test is not None for each in self.compared)
        cells = len({each.place for each in self.compared})
        if not tested:
            same = all(each.difference == 0 or math.isnan(each.difference) for each in self.compared)
            return (
                f"{cells} cells, {'all equal' if same else 'without a test: it takes at least two runs of a cell that differ, see repeat'}"
            )
        found = len({(each.place, each.metric) for each in self.compared if each.stands})
        method = " and ".join(dict.fromkeys(each.test for each in self.compared if each.test))
        return f"{found} of {tested} numbers of {cells} cells differ beyond chance ({method}, 5 %, Holm's correction)"

    def table(self, with_harm: bool = False) -> Table:
        """A row for each metric of each cell: both means, the difference with its interval, and p.

        `with_harm` adds the share of its performance that a flow loses next to the competitors of the second folder.
        """
        keys = list(dict.fromkeys(key for each in self.compared for key, _ in each.place))
        rows: list[list[Field]] = []
        for each in self.compared:
            at = dict(each.place)
            difference = Shown(each.difference, _written(each))
            p = Shown(each.p, _probability(each))
            change = each.difference / abs(each.first) * 100 if each.first else math.nan
            numbers: list[Field] = [each.first, each.second, difference, Shown(change, _per_cent), p]
            harmed: list[Field] = [Shown(each.harm, _share)] if with_harm else []
            rows.append([*(at.get(key, "") for key in keys), each.metric, *numbers, *harmed, _runs(each)])
        harm_head = ["harm"] if with_harm else []
        heads = [*keys, "metric", self.labels[0], self.labels[1], "difference", "change", "p", *harm_head, "runs"]
        return Table(f"{self.labels[1]} minus {self.labels[0]}: {self.sentence}", heads, rows)


def _written(each: Compared) -> Callable[[Any], str]:
    def text(_value: Any) -> str:
        number = Estimate(each.difference, each.low, each.high, 2)
        centre, low, _ = rounded(number)
        return plus_minus(number, len(centre.partition(".")[2])) if low else centre

    return text


def _probability(each: Compared) -> Callable[[Any], str]:
    return lambda _value: "" if math.isnan(each.p) else f"{'<.0001' if each.p < 1e-4 else f'{each.p:.4f}'}{' *' if each.stands else ''}"


def _per_cent(value: Any) -> str:
    return "" if math.isnan(value) else f"{value:+.1f} %"


def _share(value: Any) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _runs(each: Compared) -> str:
    if each.test == "paired":
        return f"{each.counts[0]} pairs"
    return str(each.counts[0]) if each.counts[0] == each.counts[1] else f"{each.counts[0]} and {each.counts[1]}"


def compare_folders(first: RunSet, second: RunSet, per: str | None = None, y: Sequence[str] = ()) -> Comparison:
    """Compare the runs of two folders, metric by metric (`y`, all by default).

    `per`: run, group, flow or stream; by default group, or run if no group is in both.

    Raises `BadInput` for an unknown metric or kind of row, and if no cell is in both folders.
    """
    if per is not None and per not in ROWS:
        raise BadInput(f"--per {per!r} is unknown{nearest(per, ROWS)}; expected {one_of(ROWS)}")
    sources = completed([first, second])
    keys = _keys(sources)
    for rows in (per,) if per is not None else ("group", "run"):  # groups of other congestion controls have other names
        known = list(dict.fromkeys((*COLUMNS[rows], *(COLUMNS["flow"] if rows == "group" else ()))))
        asked = list(dict.fromkeys((*known, *TABLE_COLUMNS[rows])))
        if rows == "group" and not y:
            known.remove(FLOW_GOODPUT)
        metrics = [_column(word, asked) for word in y] or known
        found = [_values(derived(observations([source], rows), [source], rows, metrics), keys, rows, metrics) for source in sources]
        shared = [place for place in found[0] if place in found[1]]
        if shared:
            break
    if not shared:
        swept = ", ".join(keys) or "no key"
        raise BadInput(
            f"{first.label} and {second.label}: no cell is in both folders (they differ in {swept}); expected runs of the same sweep"
        )
    compared = [
        each for place in shared for metric in metrics if (each := _compared(place, metric, found[0][place], found[1][place])) is not None
    ]
    return Comparison((first.label, second.label), rows, _corrected(compared), (len(found[0]) - len(shared), len(found[1]) - len(shared)))


def _column(word: str, known: Sequence[str]) -> str:
    column = find_column(word, known)
    if column is None:
        raise unknown_column(word, known, f"--y {word!r}")
    return column


def _keys(sources: Sequence[RunSet]) -> list[str]:
    """The keys that tell cells apart within a folder. A key with one value in each folder may be what they differ in."""
    keys = dict.fromkeys((ENGINE, NAME, *swept_keys(sources)))
    several = [[everywhere(source, cell, run) for cell, run in source.placed()] for source in sources]
    return [key for key in keys if any(len({str(cell.get(key)) for cell in cells}) > 1 for cells in several)]


_Values = dict[Place, dict[str, dict[Coordinate, list[float]]]]


def _values(found: Sequence[Observation], keys: Sequence[str], per: str, metrics: Sequence[str]) -> _Values:
    """Place -> metric -> seed -> values."""
    values: _Values = {}
    for each in found:
        own = [key for key in ROWS[per] if key in each.at]
        place = tuple((key, each.at.get(key, "")) for key in (*keys, *own))
        for metric in metrics:
            value = each.values.get(metric, math.nan)
            if not math.isnan(value):
                seed = each.at.get(SEED, f"run {each.run}")
                values.setdefault(place, {}).setdefault(metric, {}).setdefault(seed, []).append(value)
    return values


def _compared(place: Place, metric: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Compared | None:
    ours, theirs = first.get(metric), second.get(metric)
    if not ours or not theirs:
        return None
    a, b = ({seed: math.fsum(listed) / len(listed) for seed, listed in each.items()} for each in (ours, theirs))
    means = math.fsum(a.values()) / len(a), math.fsum(b.values()) / len(b)
    none = Compared(place, metric, *means, math.nan, math.nan, math.nan, None, (len(a), len(b)))
    if a.keys() == b.keys() and len(a) > 1:
        differences = np.array([b[seed] - a[seed] for seed in a])
        if np.all(differences == differences[0]):
            return none
        low, high, p = paired(differences)
        return Compared(place, metric, *means, low, high, p, "paired", (len(a), len(b)))
    x, y = np.array(list(a.values())), np.array(list(b.values()))
    if len(x) < 2 or len(y) < 2 or (np.all(x == x[0]) and np.all(y == y[0])):
        return none
    low, high, p = welch(x, y)
    return Compared(place, metric, *means, low, high, p, "welch", (len(a), len(b)))


def _corrected(compared: Sequence[Compared]) -> list[Compared]:
    """Mark the differences that remain after Holm's correction."""
    tested = [i for i, each in enumerate(compared) if each.test is not None]
    adjusted = dict(zip(tested, holm([compared[i].p for i in tested]), strict=True))
    return [Compared(**{**vars(each), "stands": adjusted.get(i, 1.0) <= LEVEL}) for i, each in enumerate(compared)]
