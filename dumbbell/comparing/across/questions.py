"""What is asked of many runs: which values, over what, told apart by what; and the answer to all that was left open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dumbbell.comparing.across.estimates import STATISTICS
from dumbbell.comparing.across.observations import (
    ENGINE,
    FOLDER,
    LABELS,
    NAME,
    Coordinate,
    Observation,
    Source,
    observations,
    sampled,
    series_kinds,
    series_names,
    varying,
)
from dumbbell.errors import BadInput
from dumbbell.results.columns import (
    COLUMNS,
    SEED,
    as_numbers,
    find_column,
    find_key,
    is_delay,
    short,
    title_of,
    unknown_column,
)

KINDS = ("lines", "box", "cdf", "scatter", "heat")
TIME = ("time", "t")
"""What `--x` calls the time of a run."""
MOST_COLOURS, MOST_PANELS, MOST_STROKES = 12, 16, 4
"""Values of a key that is given colours, panels and styles of lines without having been named for it."""
_ROWS = ("goodput_mbit", "srtt_mean_ms", "rtt_median_ms", "latency_median_ms", "jain_index", "drops")
"""Columns of the summary of a sweep, as far as there are values."""
_MOST_ROWS, _MOST_NAMES = 4, 2
_LABELS = frozenset(label for labels in LABELS.values() for label in labels)
_WHOSE = (ENGINE, FOLDER, NAME)
"""Coordinates of runs that are compared as a whole."""


@dataclass(frozen=True)
class Asked:
    """What a user asks for; what is empty is chosen."""

    kind: str | None = None
    """One of `KINDS`."""
    x: str | None = None
    """A key, `time`, or of a scatter plot a column."""
    y: Sequence[str] = ()
    """Columns or series, a row of panels each."""
    by: Sequence[str] = ()
    """One key for colours, or two: the second for styles of lines. Of a heat map the one along its y axis."""
    panels: str | None = None
    """A key with a panel for each value."""
    where: Sequence[str] = ()
    """`KEY=VALUE`: only these; several values of a key are alternatives."""
    over: Sequence[str] = ()
    """Keys whose values are taken together."""
    per: str | None = None
    """What a value is of: `run`, `flow`, `group`, `stream` or `port`."""
    statistic: str | None = None
    """One of `STATISTICS`."""
    samples: bool = False
    """Of a CDF or boxes: samples of a series rather than a column."""
    window_s: float | None = None
    """Window of goodput over time."""
    summary: bool = False
    """Whether keys that are left over may be taken together unasked."""


@dataclass(frozen=True)
class Settled:
    """What is drawn. Keys are those of observations."""

    kind: str
    x: str
    """A key, a column, `time`, or empty."""
    y: Sequence[str]
    by: Sequence[str]
    panels: str
    pooled: Sequence[str]
    """Keys whose values are taken together."""
    statistic: str
    per: Mapping[str, str]
    """What a value is of, for each y."""
    data: Mapping[str, Sequence[Observation]]
    """For each y."""
    keys: Mapping[str, Sequence[Coordinate]]
    """The keys with several values."""
    window_s: float | None = None
    names: Sequence[str] = field(default_factory=tuple)
    """Of the scenarios, or if there are many of the folders."""

    @property
    def over_time(self) -> bool:
        """Whether the x axis is the time of runs."""
        return self.x == TIME[0]

    @property
    def of_series(self) -> bool:
        """Whether the values are samples."""
        return any(each.series is not None for listed in self.data.values() for each in listed[:1])

    @property
    def runs(self) -> int:
        """How many there are."""
        return len({each.run for listed in self.data.values() for each in listed})

    def short(self, key: str) -> str:
        """The name of a key in figures: in full if a flow has a label that is called like its last word."""
        name = short(key, [*self.keys, key])
        return key if name in _LABELS and name != key else name

    def sentence(self) -> str:
        """What is drawn, in a line."""
        what = {"lines": "", "box": "boxes of ", "cdf": "distribution of ", "scatter": "", "heat": "heat map of "}[self.kind]
        axis = [] if not self.x else [f"over {self.x}" if self.kind != "scatter" else f"against {self.x}"]
        told = [f"by {' and '.join(self.by)}"] if self.by else []
        panels = [f"a panel for each {self.panels}"] if self.panels else []
        return f"{what}{_listed(self.y)} {', '.join([' '.join([*axis, *told]), *panels])}".strip().replace(" ,", ",")


def _listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def check_statistic(name: str) -> None:
    """Raises `BadInput` for a statistic that there is not."""
    if name not in STATISTICS:
        raise BadInput(f"--statistic {name!r} is unknown; expected one of {', '.join(STATISTICS)}")


def needs_series(asked: Asked) -> bool:
    """Whether series must be read for it; summaries are enough otherwise."""
    if asked.x in TIME or asked.samples:
        return True
    return any(find_column(word, _columns(asked.per)) is None and find_column(word, series_names()) is not None for word in asked.y)


def settle(asked: Asked, sources: Sequence[Source], tick: Callable[[], None] = lambda: None) -> Settled:
    """Chooses what was left open. Raises `BadInput`, one line, for a name that is none, or keys that have no place in the figure."""
    if asked.kind is not None and asked.kind not in KINDS:
        raise BadInput(f"--kind {asked.kind!r} is unknown; expected one of {', '.join(KINDS)}")
    if asked.statistic is not None:
        check_statistic(asked.statistic)
    if asked.per is not None and asked.per not in LABELS:
        raise BadInput(f"--per {asked.per!r} is unknown; expected one of {', '.join(LABELS)}")
    if asked.window_s is not None and not 0 < asked.window_s < math.inf:
        raise BadInput(f"--window {asked.window_s:g} is no time; expected a number of s above 0")
    if len(asked.by) > 2:
        raise BadInput(f"--by was given {len(asked.by)} times; expected at most two keys, one for colours and one for styles of lines")
    if not any(source.runs for source in sources):
        raise BadInput("no valid runs; expected a folder of results with some")
    kind = asked.kind or ("scatter" if _is_column(asked.x) else "lines")
    over_time = kind == "lines" and asked.x in TIME
    if asked.x in TIME and not over_time:
        raise BadInput(f"--x {asked.x} was given with --kind {kind}; expected --kind lines")
    data, per, window_s = _data(asked, sources, over_time, kind, tick)
    data = {y: selected(found, asked.where) for y, found in data.items()}
    everything = [each for found in data.values() for each in found]
    keys = _all_varying(data.values())
    all_keys = dict.fromkeys(key for each in everything for key in each.at if key != SEED)

    def key_of(word: str, option: str) -> str:
        return find_key(word, [*keys, *(key for key in all_keys if key not in keys)] if word in all_keys else keys or all_keys, option)

    by, panels = [key_of(word, "--by") for word in asked.by], key_of(asked.panels, "--panels") if asked.panels else ""
    over = [key_of(word, "--over") for word in asked.over]
    x = ""
    if over_time:
        x = TIME[0]
    elif kind == "scatter":
        x = _delay(asked.x, data)
    elif asked.x is not None:
        if kind == "cdf":
            raise BadInput("--x was given with --kind cdf, whose x axis has the values of --y; expected one of the two")
        x = key_of(asked.x, "--x")
    named = [*([x] if x in all_keys else []), *by, *([panels] if panels else []), *over]
    left = _left(everything, keys, named)
    if kind in ("lines", "box", "heat") and not x and left:
        x = _axis(left, keys)
        left = _left(everything, keys, [*named, x])
    if kind == "heat" and not by:
        if not left:
            there = f"{'is' if len(keys) == 1 else 'are'} {', '.join(keys) or 'none'}"
            raise BadInput(f"--kind heat: there {there}; expected two keys with several values")
        by = [_axis(left, keys)]
        left = _left(everything, keys, [*named, x, *by])
    if len(by) > 1 and len(keys.get(by[1], ())) > MOST_STROKES:
        raise BadInput(f"--by {by[1]} has {len(keys[by[1]])} values; expected at most {MOST_STROKES} as the second, or it as the first")
    by, panels, left = _placed(kind, by, panels, left, lambda more: _left(everything, keys, [*named, x, *more]), keys)
    if left and not asked.summary:
        raise BadInput(
            f"{' and '.join(left)} {'has' if len(left) == 1 else 'have'} several values, too; expected --by {left[0]}, --panels {left[0]}, "
            f"--where {left[0]}={next(filter(None, map(str, keys[left[0]])))}, or --over {left[0]} to take them together"
        )
    pooled = [*over, *left]
    statistic = asked.statistic or ("spread" if pooled else "mean")
    names = _names(everything, NAME)
    if len(names) > _MOST_NAMES:
        names = _names(everything, FOLDER)
    return Settled(kind, x, tuple(data), tuple(by), panels, tuple(pooled), statistic, per, data, keys, window_s, names)


def _names(found: Sequence[Observation], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(each.at.get(key, "")) for each in found))


def _all_varying(data: Iterable[Sequence[Observation]]) -> dict[str, list[Coordinate]]:
    """The coordinates with several values among the observations of one y or another, which need not have the same coordinates."""
    keys: dict[str, list[Coordinate]] = {}
    for found in data:
        for key, values in varying(found).items():
            keys[key] = list(dict.fromkeys((*keys.get(key, ()), *values)))
    return keys


def summary(sources: Sequence[Source]) -> Settled:
    """The figure of a sweep that nobody asked anything of: its main columns over its axis with the most numbers."""
    found = settle(Asked(y=("goodput",), summary=True), sources)
    if not found.x:
        return settle(Asked(kind="box", y=_rows(sources, "flow"), x="group", per="flow", summary=True), sources)
    return settle(Asked(y=_rows(sources, None), summary=True), sources)


def _rows(sources: Sequence[Source], per: str | None) -> list[str]:
    there = []
    for column in _ROWS:
        kinds = [kind for kind, columns in COLUMNS.items() if column in columns and per in (None, kind)]
        values = [each.values.get(column, math.nan) for kind in kinds[:1] for each in observations(sources, kind)]
        values = [value for value in values if not math.isnan(value)]
        if values and (len(set(values)) > 1 or column in _ROWS[:2]):
            there.append(column)
    return there[:_MOST_ROWS] or ["goodput"]


def _is_column(word: str | None) -> bool:
    return word is not None and find_column(word, _columns(None)) is not None


def _columns(per: str | None) -> list[str]:
    return [column for kind, columns in COLUMNS.items() if per in (None, kind) or (per == "group" and kind == "flow") for column in columns]


def _data(
    asked: Asked, sources: Sequence[Source], over_time: bool, kind: str, tick: Callable[[], None]
) -> tuple[dict[str, Sequence[Observation]], dict[str, str], float | None]:
    """The observations of each y, and what they are of."""
    per = asked.per or _per_of_words(asked, sources)
    data: dict[str, Sequence[Observation]] = {}
    pers: dict[str, str] = {}
    window_s = asked.window_s
    for word in asked.y or ("goodput",):
        column = None if over_time or asked.samples else find_column(word, _columns(per))
        if column is not None:
            pers[column] = per or next(kind for kind, columns in COLUMNS.items() if column in columns)
            data[column] = observations(sources, pers[column])
            continue
        series = find_column(word, series_names())
        if series is None or not (over_time or kind in ("cdf", "box")):
            if series is not None:
                raise BadInput(f"--y {word!r} is a series; expected --x time, --kind cdf or --kind box with it, or {_near_columns(series)}")
            raise unknown_column(
                word, [*([] if over_time else _columns(per)), *(series_names() if over_time or kind != "lines" else ())], "--y"
            )
        kinds = series_kinds(series)
        if per is not None and per not in kinds:
            raise BadInput(f"--y {word!r} is a series of a {' or a '.join(kinds)}; expected --per {kinds[0]}")
        pers[series] = per or kinds[0]
        found, used = sampled(sources, series, pers[series], window_s, tick)
        window_s = used if window_s is None else window_s
        busy = [each for each in found if pers[series] != "port" or (each.series is not None and each.series[1].any())]
        data[series] = busy or found
    if not any(any(_has(each, y) for each in found) for y, found in data.items()):
        raise BadInput(f"--y {' '.join(data)}: no run has a value of it; expected a column that `dumbbell table` shows values of")
    return data, pers, window_s


def _has(each: Observation, column: str) -> bool:
    return each.series is not None or not math.isnan(each.values.get(column, math.nan))


def _near_columns(series: str) -> str:
    stem = series.partition("_")[0]
    return " or ".join(dict.fromkeys(column for column in _columns(None) if column.startswith(stem))) or "a column of `dumbbell table`"


def _per_of_words(asked: Asked, sources: Sequence[Source]) -> str | None:
    """What values are of, if a key that is named says so: flows, if it is one of theirs and the sweep has none of that name."""
    words = [*asked.by, *([asked.panels] if asked.panels else []), *asked.over, *(each.partition("=")[0] for each in asked.where)]
    words += [asked.x] if asked.x else []
    swept = dict.fromkeys(key for source in sources for run in source.runs for key in run.cell)
    for word in words:
        if any(key == word or key.endswith(f".{word}") for key in swept):
            continue
        for per, labels in LABELS.items():
            if word in labels:
                return per
    return None


def selected(found: Sequence[Observation], where: Sequence[str]) -> Sequence[Observation]:
    """The observations with these values. Raises `BadInput` if there are none."""
    wanted: dict[str, set[str]] = {}
    keys = list(dict.fromkeys(key for each in found for key in each.at))
    for each in where:
        word, equals, value = each.partition("=")
        if not equals:
            raise BadInput(f"--where {each!r} has no =; expected KEY=VALUE")
        key = find_key(word, keys, "--where")
        known = list(dict.fromkeys(str(one.at[key]) for one in found if key in one.at))
        if value not in known:
            raise BadInput(f"--where {each!r}: {key} is never {value!r}; expected one of {', '.join(known[:MOST_PANELS])}")
        wanted.setdefault(key, set()).add(value)
    chosen = [each for each in found if all(str(each.at.get(key)) in values for key, values in wanted.items())]
    if not chosen:
        raise BadInput(f"--where {' --where '.join(where)}: no run has all of these; expected values that occur together")
    return chosen


def _delay(word: str | None, data: Mapping[str, Sequence[Observation]]) -> str:
    """The column of the x axis of a scatter plot; a delay by default."""
    columns = list(dict.fromkeys(column for found in data.values() for each in found for column in each.values))
    if word is not None:
        found = find_column(word, columns)
        if found is None:
            raise unknown_column(word, columns, "--x")
        return found
    for column in columns:
        if is_delay(column) and any(_has(each, column) for found in data.values() for each in found):
            return column
    raise BadInput("--kind scatter found no delay in these runs; expected --x COLUMN")


def _left(found: Sequence[Observation], keys: Mapping[str, Sequence[Coordinate]], named: Sequence[str]) -> list[str]:
    """The keys that still have several values when those that are named have one each; not the one that says the same as another.

    Of a flow's labels its group is enough, and is left only if none is named.
    """
    chosen = [key for key in named if key]
    left: list[str] = []
    labels = {label for listed in LABELS.values() for label in listed}
    of_flows = [key for key in keys if key in labels]
    one_of_them = any(key in labels for key in chosen)
    for key in sorted(keys, key=_preference):
        if key == NAME and _determined(found, NAME, [other for other in keys if other != NAME]):
            continue  # the scenarios are named after their cells
        if key in chosen or key == "flow" or (key in labels and (one_of_them or key != next(iter(of_flows), None)) and key != "port"):
            continue
        if not _determined(found, key, [*chosen, *left]):
            left.append(key)
    return left


def _preference(key: str) -> int:
    """Controls first, then what was run by whom, then the rest."""
    word = key.rpartition(".")[2]
    return 0 if word == "cc" else 1 + _WHOSE.index(key) if key in _WHOSE else 1 + len(_WHOSE)


def _determined(found: Sequence[Observation], key: str, others: Sequence[str]) -> bool:
    seen: dict[tuple[Coordinate, ...], Coordinate] = {}
    return all(
        seen.setdefault(tuple(each.at.get(other, "") for other in others), each.at.get(key, "")) == each.at.get(key, "") for each in found
    )


def _axis(left: Sequence[str], keys: Mapping[str, Sequence[Coordinate]]) -> str:
    """The key for an axis: numbers before words, many values before few."""
    return max(left, key=lambda key: (as_numbers(keys[key]) is not None, len(keys[key])))


def _placed(
    kind: str,
    by: list[str],
    panels: str,
    left: list[str],
    rest: Callable[[Sequence[str]], list[str]],
    keys: Mapping[str, Sequence[Coordinate]],
) -> tuple[list[str], str, list[str]]:
    """Gives keys that are left a colour, panels or a style of lines, and says which are left then."""
    while left:
        key, count = left[0], len(keys[left[0]])
        if not by and count <= MOST_COLOURS:
            by = [key]
        elif key in _WHOSE and len(by) == 1 and kind != "heat" and count <= MOST_STROKES:
            by = [*by, key]  # laid over each other rather than beside each other
        elif not panels and count <= MOST_PANELS:
            panels = key
        elif len(by) == 1 and kind != "heat" and count <= MOST_STROKES:
            by = [*by, key]
        else:
            return by, panels, left
        left = rest([*by, panels])
    return by, panels, left


def between(settled: Settled, start_s: float, stop_s: float) -> Settled:
    """With the samples of this range of times alone. Raises `BadInput` if there are none, or what is drawn is of no samples."""
    if start_s == 0 and math.isinf(stop_s):
        return settled
    if not settled.of_series:
        raise BadInput("--from and --to were given, and columns are of whole runs; expected --x time, or --kind cdf or box of a series")
    data = {y: [_clipped(each, start_s, stop_s) for each in found] for y, found in settled.data.items()}
    data = {y: [each for each in found if each.series is not None and len(each.series[0])] for y, found in data.items()}
    if not all(data.values()):
        last = max(float(each.series[0][-1]) for found in settled.data.values() for each in found if each.series is not None)
        raise BadInput(f"no samples from {start_s:g} s to {min(stop_s, last):g} s; expected a time up to {last:g} s")
    return replace(settled, data=data)


def _clipped(each: Observation, start_s: float, stop_s: float) -> Observation:
    assert each.series is not None
    t_s, values = each.series
    keep = (t_s >= start_s) & (t_s <= stop_s)
    return replace(each, series=(t_s[keep], values[keep]))


def with_titles(settled: Settled) -> str:
    """A title: which scenario, what, and over what."""
    names = ", ".join(name for name in settled.names[:_MOST_NAMES] if name) + (" ..." if len(settled.names) > _MOST_NAMES else "")
    rows = ", ".join(title_of(y) for y in settled.y) if len(settled.y) < 3 else ""
    over = f" over {settled.x}" if settled.x and settled.kind in ("lines", "box") else ""
    return f"{names}: {rows}{over}" if names and rows else f"{names}{over}" or rows
