"""Tables over seeds: a row for each cell of a sweep, and in it for each group and direction, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dumbbell.comparing.across.coordinates import ENGINE, FOLDER, LABELS, NAME, RunSet, completed, swept_keys
from dumbbell.comparing.across.derived import TABLE_COLUMNS, derived, observed
from dumbbell.comparing.across.estimates import Estimate, by_run, estimate, plus_minus, rounded
from dumbbell.comparing.across.observations import Observation, observations, varying
from dumbbell.comparing.across.questions import check_statistic
from dumbbell.comparing.across.words import COMMAND, Manner, Words, conditions, narrowed, selected
from dumbbell.comparing.tables import Cell, Shown, Table
from dumbbell.errors import BadInput, nearest, one_of
from dumbbell.results.columns import find_column, unknown_column
from dumbbell.results.summary import FLOW_GOODPUT

_COMPUTED = {"port": ("port",), "class": ("class",)}
"""Kinds of rows without columns of their own: all their numbers are computed from the series."""
ROWS = {
    "run": (),
    "flow": ("flow", "group", "direction"),
    "group": ("group", "direction"),
    "stream": ("stream", "direction"),
}
"""Kind of row -> its coordinates in addition to the cell."""
_MOST_DIGITS = 4
"""Digits of a mean with its interval, unless more are before the point."""


def repeats_table(
    sources: Sequence[RunSet],
    title: str,
    per: str | None = None,
    statistic: str = "mean",
    y: Sequence[str] = (),
    where: Sequence[str] = (),
    over: Sequence[str] = (),
    apart: bool = False,
    manner: Manner = COMMAND,
) -> Table:
    """Return a table with a row for each cell and, in it, each group and direction (`per` group), flow, stream, or for the run as a whole.

    For a group, goodput and retransmissions are those of its flows together. The other columns are means over the flows (`flow_goodput`,
    the mean of the flows' own goodput, only if it is asked for). Columns without a value are left out.

    `y`: only these columns. `over`: keys whose values are taken together. `apart`: limits have columns of their own, for programs; else
    they stand in the field, `9.41±0.02` for the mean and `9.41 [9.38, 9.43]` otherwise. `manner`: how errors write options. Raises
    `BadInput` for a wrong name.
    """
    check_statistic(statistic, manner)
    coordinates = {**ROWS, **_COMPUTED}
    if per is not None and per not in coordinates:
        plotted = manner.together(manner.offered("x", "time"), manner.offered("per", per))
        what = (
            f"has series and no columns; dumbbell.plot draws them with {plotted}"
            if per in LABELS
            else f"is unknown{nearest(per, coordinates)}"
        )
        raise BadInput(f"{manner.given('per', per)} {what}; expected {one_of(coordinates)}")
    sources = completed(sources)
    words = Words(sources, per, manner, "per" if manner.python else "groups")
    per = per or "group"
    together = [words.key("over", word) for word in over]
    sources, wanted = narrowed(sources, conditions(where, words, manner))
    found = selected(observed(sources, per) if per in _COMPUTED else observations(sources, per), wanted)
    swept, several = swept_keys(sources), varying(found)
    keys = [
        key for key in (*(each for each in (FOLDER, ENGINE, NAME) if each in several), *swept, *coordinates[per]) if key not in together
    ]
    for word, key in zip(over, together, strict=True):
        if not any(key in each.at for each in found):
            raise BadInput(f"{manner.given('over', word)}: a {per} has no {key}; expected a key that tells rows apart")
    columns = _columns(found, per, y, manner)
    found = derived(found, sources, per, columns)
    if not y:
        columns = [column for column in columns if any(not math.isnan(each.values.get(column, math.nan)) for each in found)]
    cells: dict[tuple[Any, ...], list[Observation]] = {}
    for each in found:
        cells.setdefault(tuple(each.at.get(key, "") for key in keys), []).append(each)
    rows: list[list[Cell]] = []
    for place, members in cells.items():
        numbers = [estimate(by_run((each.run, each.values.get(column, math.nan)) for each in members), statistic) for column in columns]
        at: list[Cell] = [*place] if apart else [Shown(each, str) for each in place]
        of: list[Cell] = [
            part
            for each in numbers
            for part in ((each.centre, each.low, each.high) if apart else (Shown(each.centre, _written(each, statistic)),))
        ]
        rows.append([*at, len({each.run for each in members}), *of])
    heads = [head for column in columns for head in ((column, f"{column}_low", f"{column}_high") if apart else (column,))]
    return Table(title, [*keys, "runs", *heads], rows, len(keys))


def _columns(found: Sequence[Observation], per: str, y: Sequence[str], manner: Manner) -> list[str]:
    """The columns of a kind of row that have values, or those that are asked for."""
    known = TABLE_COLUMNS[per]
    if not y:
        if per in _COMPUTED:
            return list(known)
        shown = [column for column in known if per != "group" or column != FLOW_GOODPUT]
        return [column for column in shown if any(not math.isnan(each.values.get(column, math.nan)) for each in found)]
    columns = []
    for word in y:
        column = find_column(word, known)
        if column is None:
            raise unknown_column(word, known, manner.given("y", word))
        columns.append(column)
    return columns


def _written(number: Estimate, statistic: str) -> Callable[[Any], str]:
    """Return the function that writes an estimate with its interval."""
    return lambda _centre: _field(number, statistic)


def _field(number: Estimate, statistic: str) -> str:
    """Estimate and interval as people read them."""
    centre, low, high = rounded(number)
    if not low:
        return centre
    if statistic != "mean":
        return f"{centre} [{low}, {high}]"
    half, places = (number.high - number.low) / 2, len(centre.partition(".")[2])
    enough = max(0, _MOST_DIGITS - 1 - (math.floor(math.log10(abs(number.centre))) if number.centre else 0))
    seen = max(0, -math.floor(math.log10(half))) if half > 0 else 0  # so that the interval does not read as 0
    return plus_minus(number, min(places, max(enough, seen)))
