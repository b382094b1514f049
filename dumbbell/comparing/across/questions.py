"""Questions about many runs: which values, over which key, and which keys tell the values apart. The answer settles all that the user left
open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dumbbell.comparing.across.answer import answer_of
from dumbbell.comparing.across.coordinates import FOLDER, LABELS, NAME, Coordinate, RunSet, completed
from dumbbell.comparing.across.derived import ALL_COLUMNS, TABLE_COLUMNS, derived
from dumbbell.comparing.across.estimates import STATISTICS
from dumbbell.comparing.across.measures import measured
from dumbbell.comparing.across.observations import (
    RATE,
    Observation,
    Progress,
    is_rate,
    observations,
    runs_of,
    sampled,
    series_kinds,
    series_names,
    varying,
)
from dumbbell.comparing.across.places import MOST_STROKES, axis_of, left_over, placed
from dumbbell.comparing.across.words import COMMAND, TIME, Condition, Manner, Words, conditions, narrowed, selected
from dumbbell.errors import BadInput, all_of
from dumbbell.results.columns import COLUMNS, SEED, as_numbers, find_column, is_delay, short, unknown_column
from dumbbell.results.summary import GOODPUT

KINDS = ("lines", "box", "cdf", "ccdf", "scatter", "heat")
DISTRIBUTIONS = ("cdf", "ccdf")
"""Kinds of figures whose x axis has the values."""
_OF_SAMPLES = (*DISTRIBUTIONS, "box")
"""Kinds of figures that may show samples of series."""
FEWEST_OVER_TIME = 10
"""Runs from which on a line over time has the interval of its mean. Student's t of fewer is far wider than all that was seen: over
hundreds of bins, some have three values that lie apart."""
MOST_MARKERS = 12
"""Values of a second key where there are points and no lines."""
_ROWS = (GOODPUT, "srtt_mean_ms", "rtt_median_ms", "latency_median_ms", "jain_index", "drops")
"""Columns of the summary of a sweep, as far as there are values."""
_MOST_ROWS = 4
_MOST_JUDGED = 5
"""Panels of the numbers that traffic is judged by: goodput each way, ping, MOS, and the time of pages."""
MOST_NAMES = 2
"""Maximum number of scenarios that a title names."""
_COMPLETION = "completion_median_ms"
"""Columns of groups whose connections are not listed as flows."""
_LABELS = frozenset(label for labels in LABELS.values() for label in labels)
_ALL_VALUES = {"box": "all values", "cdf": "all values", "ccdf": "all values", "scatter": "means with their ellipses"}
"""Kinds of figures that show no estimates over seeds -> their content."""


@dataclass(frozen=True)
class Asked:
    """A user's question; empty fields are chosen by dumbbell."""

    kind: str | None = None
    """One of `KINDS`."""
    x: str | None = None
    """A key, `time`, or of a scatter plot a column."""
    y: Sequence[str] = ()
    """Columns or series, a row of panels each."""
    by: Sequence[str] = ()
    """One key for colours, or two: the second for styles of lines. For a heat map, the key along its y axis."""
    panels: str | None = None
    """A key with a panel for each value."""
    where: Sequence[str] = ()
    """`KEY=VALUE`: only these; several values of a key are alternatives."""
    over: Sequence[str] = ()
    """Keys whose values are taken together."""
    per: str | None = None
    """Kind of row of a value: `run`, `flow`, `group`, `stream` or `port`."""
    statistic: str | None = None
    """One of `STATISTICS`."""
    samples: bool = False
    """For a CDF or boxes: true to draw samples of a series rather than a column."""
    window_s: float | None = None
    """Window of goodput over time."""
    summary: bool = False
    """True if keys that are left over may be taken together unasked."""

    @property
    def is_over_time(self) -> bool:
        """True if all that it asks for are series, whose time axis can be cut by itself."""
        return self.x == "time" or self.samples or (bool(self.y) and all(series_kinds(name) for name in self.y))


@dataclass(frozen=True)
class Settled:
    """A settled question: all that is drawn. Keys are those of observations."""

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
    """Kind of row of a value, for each y."""
    data: Mapping[str, Sequence[Observation]]
    """For each y."""
    keys: Mapping[str, Sequence[Coordinate]]
    """The keys with several values."""
    window_s: float | None = None
    names: Sequence[str] = field(default_factory=tuple)
    """Names of the scenarios, or of the folders if there are many."""
    manner: Manner = COMMAND
    """Way of writing options, as the user does."""
    asked: Asked = field(default_factory=Asked)
    """The question as it was asked."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Column -> its name with its unit, where the column's own name does not tell: `upload goodput (Mbit/s)`."""

    @property
    def over_time(self) -> bool:
        """True if the x axis is the time of runs."""
        return self.x == TIME[0]

    @property
    def of_points(self) -> bool:
        """True if there are points rather than lines: in scatter plots, and over words or one value alone."""
        if self.kind != "lines" or self.over_time:
            return self.kind == "scatter"
        return as_numbers(self.keys.get(self.x, ())) is None

    @property
    def of_series(self) -> bool:
        """True if the values are samples."""
        return any(each.series is not None for listed in self.data.values() for each in listed[:1])

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return len({each.run for listed in self.data.values() for each in listed})

    @property
    def named(self) -> Sequence[str]:
        """Return the keys that the figure names."""
        return [key for key in (self.x, *self.by, self.panels, *self.pooled) if key]

    def short(self, key: str) -> str:
        """The name of a key in figures: in full if a flow has a label that is called like its last word."""
        name = short(key, [*self.keys, key])
        return key if name in _LABELS and name != key else name

    def sentence(self) -> str:
        """Return a description in a line."""
        what = {"lines": "", "box": "boxes of ", "scatter": "", "heat": "heat map of "}.get(self.kind, "distribution of ")
        axis = [] if not self.x else [f"over {self.x}" if self.kind != "scatter" else f"against {self.x}"]
        told = [f"by {' and '.join(self.by)}"] if self.by else []
        panels = [f"a panel for each {self.panels}"] if self.panels else []
        return f"{what}{all_of(self.y)} {', '.join([' '.join([*axis, *told]), *panels])}".strip().replace(" ,", ",")


def check_statistic(name: str, manner: Manner = COMMAND) -> None:
    """Raises `BadInput` for a statistic that there is not."""
    if name not in STATISTICS:
        raise BadInput(f"{manner.given('statistic', name)} is unknown; expected one of {', '.join(STATISTICS)}")


def settle(asked: Asked, sources: Sequence[RunSet], progress: Progress | None = None, manner: Manner = COMMAND) -> Settled:
    """Choose what the user left open; `progress` hears of runs whose series are read.

    Raises `BadInput`, one line, for an unknown name, an option that would do nothing, or keys that have no place in the figure.
    """
    kind = _checked(asked, manner)
    if not any(source.runs for source in sources):
        raise BadInput("no valid runs; expected a folder of results with some")
    over_time = kind == "lines" and asked.x in TIME
    sources = completed(sources)
    words = Words(sources, asked.per, manner)
    by = [words.key("by", word) for word in asked.by]
    panels = words.key("panels", asked.panels) if asked.panels else ""
    over = [words.key("over", word) for word in asked.over]
    on_axis = over_time or kind == "scatter" or asked.x is None
    x = "" if on_axis or asked.x is None else _axis_word(asked.x, words, kind, manner)
    wanted = conditions(asked.where, words, manner)
    _check_places([("by", key) for key in by] + ([("panels", panels)] if panels else []), over, manner)
    of = words.pers([*by, *([panels] if panels else []), *over, *([x] if x else []), *(each.key for each in wanted)])
    of = (asked.per,) if asked.per else of if kind in _ALL_VALUES else tuple(sorted(of, key=lambda per: per != "group"))
    sources, wanted = narrowed(sources, wanted)
    data, pers, window_s = _data(asked, sources, wanted, of, kind, progress, manner)
    apart = kind == "scatter" and not of and not asked.y
    data, titles = _each_way(sources, data) if apart else (data, {})
    pers = {y: pers.get(y, "run") for y in data}
    everything = [each for found in data.values() for each in found]
    keys = _all_varying(data.values())
    all_keys = dict.fromkeys(key for each in everything for key in each.at)
    for option, key in (*(("by", key) for key in by), ("panels", panels), *(("over", key) for key in over), ("x", x)):
        if key and key not in all_keys:
            what = " and ".join(dict.fromkeys(pers.values()))
            raise BadInput(f"{manner.given(option, key)}: a {what} has no {key}; expected {', '.join(keys) or 'another key'}")
    if over_time:
        x = TIME[0]
    elif kind == "scatter":
        x = _delay(asked.x, data, manner)
        if x in data:
            raise BadInput(f"{manner.offered('x', x)} is drawn along the y axis, too; expected another {manner.name('y')}, or a key")
    named = [*([x] if x in all_keys else []), *by, *([panels] if panels else []), *over]
    left = left_over(everything, keys, named, x)
    if kind in ("lines", "box", "heat") and not x and left:
        x = axis_of(left, keys)
        left = left_over(everything, keys, [*named, x], x)
    if kind == "heat" and not by:
        if not left:
            there = f"{'is' if len(keys) == 1 else 'are'} {', '.join(keys) or 'none'}"
            raise BadInput(f"{manner.offered('kind', 'heat')}: there {there}; expected two keys with several values")
        by = [axis_of(left, keys)]
        left = left_over(everything, keys, [*named, x, *by], x)
    by, panels, left = placed(kind, by, panels, left, lambda more: left_over(everything, keys, [*named, x, *more], x), keys)
    if left and not asked.summary:
        value = next(filter(None, map(str, keys[left[0]])))
        raise BadInput(
            f"{' and '.join(left)} {'has' if len(left) == 1 else 'have'} several values, too; expected {manner.offered('by', left[0])}, "
            f"{manner.offered('panels', left[0])}, {manner.offered('where', f'{left[0]}={value}')}, or {manner.offered('over', left[0])} "
            "to take them together"
        )
    pooled = [*over, *left]
    few = over_time and len({each.run for each in everything}) < FEWEST_OVER_TIME * _cells(everything)
    statistic = asked.statistic or ("spread" if pooled or few else "mean")
    names = _names(everything, NAME)
    if len(names) > MOST_NAMES:
        names = _names(everything, FOLDER)
    settled = Settled(
        kind, x, tuple(data), tuple(by), panels, tuple(pooled), statistic, pers, data, keys, window_s, names, manner, asked, titles
    )
    most = MOST_MARKERS if settled.of_points else MOST_STROKES
    if len(by) > 1 and len(keys.get(by[1], ())) > most:
        given = manner.offered("by", by[1])
        raise BadInput(f"{given} has {len(keys[by[1]])} values; expected at most {most} as the second, or it as the first")
    return settled


def _each_way(
    sources: Sequence[RunSet], data: Mapping[str, Sequence[Observation]]
) -> tuple[dict[str, Sequence[Observation]], dict[str, str]]:
    """Return the data with the goodput of each direction in place of that of the run, and the titles of the columns of such runs.

    Runs whose bulk flows have one direction keep their goodput. A sum of both directions would exceed the capacity of either.
    """
    runs = [run for *_, run in runs_of(sources)]
    found = {each.run: measured(runs[each.run].summary) for each in data.get(GOODPUT, ())}
    if not found or not all(f"forward.{GOODPUT}" in {measure.column for measure in numbers} for numbers in found.values()):
        return dict(data), {}
    titles = {measure.column: measure.title for measure in answer_of("", map(runs.__getitem__, found)).judged}
    placed: dict[str, Sequence[Observation]] = {}
    for y, listed in data.items():
        # The ping, if there is one, comes before the smoothed RTT, so that a scatter plot takes it.
        both = [
            replace(each, values={**{m.column: v for m, v in found[each.run].items()}, **each.values}) for each in listed if y == GOODPUT
        ]
        placed |= {f"{way}.{GOODPUT}": both for way in ("forward", "reverse")} if y == GOODPUT else {y: listed}
    return placed, titles


def _cells(found: Sequence[Observation]) -> int:
    """The number of cells that the runs belong to."""
    labels = {label for listed in LABELS.values() for label in listed}
    return len({tuple((key, value) for key, value in each.at.items() if key not in (SEED, NAME) and key not in labels) for each in found})


def _checked(asked: Asked, manner: Manner) -> str:
    """The kind of figure. Raises `BadInput` for words that are none, and for options that this kind has no use for."""
    if asked.kind is not None and asked.kind not in KINDS:
        raise BadInput(f"{manner.given('kind', asked.kind)} is unknown; expected one of {', '.join(KINDS)}")
    if asked.statistic is not None:
        check_statistic(asked.statistic, manner)
    if asked.per is not None and asked.per not in LABELS:
        raise BadInput(f"{manner.given('per', asked.per)} is unknown; expected one of {', '.join(LABELS)}")
    if asked.window_s is not None and not 0 < asked.window_s < math.inf:
        raise BadInput(f"{manner.offered('window', _number(asked.window_s))} is no time; expected a number of s above 0")
    if len(asked.by) > 2:
        by = manner.name("by")
        raise BadInput(f"{by} was given {len(asked.by)} times; expected at most two keys, one for colours and one for styles of lines")
    kind = asked.kind or ("scatter" if _is_column(asked.x) else "lines")
    with_kind = manner.offered("kind", kind)
    if kind == "heat" and len(asked.by) > 1:
        raise BadInput(f"{manner.name('by')} was given twice with {with_kind}; expected one key, that of the rows")
    if asked.x in TIME and kind != "lines":
        raise BadInput(f"{manner.offered('x', asked.x)} was given with {with_kind}; expected {manner.offered('kind', 'lines')}")
    if asked.x is not None and kind in DISTRIBUTIONS:
        raise BadInput(
            f"{manner.name('x')} was given with {with_kind}, whose x axis has the values of {manner.name('y')}; expected one of the two"
        )
    if asked.samples and kind not in _OF_SAMPLES:
        with_kind = manner.offered("x", asked.x) if asked.x in TIME else with_kind
        kinds = f"{manner.offered('kind', 'cdf')} or {manner.offered('kind', 'box')}"
        raise BadInput(f"{manner.offered('samples')} was given with {with_kind}; expected {kinds}")
    if asked.statistic is not None and kind in _ALL_VALUES:
        given = f"{manner.offered('statistic', asked.statistic)} was given with {with_kind}"
        raise BadInput(f"{given}, which shows {_ALL_VALUES[kind]}; expected {manner.offered('kind', 'lines')} or heat with it")
    return kind


def _number(value: float) -> float | int:
    return int(value) if math.isfinite(value) and value == int(value) else value


def _axis_word(word: str, words: Words, kind: str, manner: Manner) -> str:
    """The key of the x axis. Raises `BadInput` if there is none, with a hint if it is a column."""
    try:
        return words.key("x", word)
    except BadInput:
        if _is_column(word):
            with_kind = manner.offered("kind", kind)
            expected = f"{manner.offered('kind', 'scatter')}, or a key"
            raise BadInput(f"{manner.given('x', word)} is a column, and was given with {with_kind}; expected {expected}") from None
        raise


def _check_places(named: Sequence[tuple[str, str]], over: Sequence[str], manner: Manner) -> None:
    """Raise `BadInput` if a key is named twice, where the second would change nothing, or is distinguished and taken together."""
    seen: dict[str, str] = {}
    for option, key in named:
        if key in seen:
            raise BadInput(f"{manner.offered(seen[key], key)} and {manner.offered(option, key)} were both given; expected one of them")
        if key in over:
            raise BadInput(f"{manner.offered(option, key)} and {manner.offered('over', key)} were both given; expected one of them")
        seen[key] = option


def _names(found: Sequence[Observation], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(each.at.get(key, "")) for each in found))


def _all_varying(data: Iterable[Sequence[Observation]]) -> dict[str, list[Coordinate]]:
    """The coordinates with several values among the observations of one y or another, which need not have the same coordinates."""
    keys: dict[str, list[Coordinate]] = {}
    for found in data:
        for key, values in varying(found).items():
            keys[key] = list(dict.fromkeys((*keys.get(key, ()), *values)))
    return keys


def summary(sources: Sequence[RunSet], manner: Manner = COMMAND) -> Settled:
    """Return the figure of a sweep without options: its main columns over its axis with the most numbers.

    Where bulk flows have two directions or there are calls, the columns are the numbers that `dumbbell run` judges the traffic by. A sum of
    both directions would exceed the capacity of either.
    """
    sources = completed(sources)
    found = settle(Asked(y=("goodput",), summary=True), sources, manner=manner)
    if not found.x:
        asked = Asked(kind="box", y=_rows(sources, "flow"), x="group", per="flow", summary=True)
        return settle(asked, sources, manner=manner)
    return _judged(found, sources) or settle(Asked(y=_rows(sources, None), summary=True), sources, manner=manner)


def _judged(found: Settled, sources: Sequence[RunSet]) -> Settled | None:
    """The same figure with a panel for each number that the traffic is judged by; None where the columns of runs and groups will do."""
    runs = [(number, at, run) for number, (_, at, run) in enumerate(runs_of(sources)) if run.summary.status != "invalid"]
    titles = {measure.column: measure.title for measure in answer_of("", (run for *_, run in runs)).judged}
    if not ({f"forward.{GOODPUT}", "mos"} & set(titles)):
        return None
    data: dict[str, list[Observation]] = {column: [] for column in list(titles)[:_MOST_JUDGED]}
    for number, at, run in runs:
        for measure, value in measured(run.summary).items():
            if measure.column in data:
                data[measure.column].append(Observation(number, at, {measure.column: value}))
    return replace(found, y=tuple(data), per=dict.fromkeys(data, "run"), data=data, titles=titles)


def _rows(sources: Sequence[RunSet], per: str | None) -> list[str]:
    there = []
    for word in _ROWS:
        found = [(kind, find_column(word, columns)) for kind, columns in COLUMNS.items() if per in (None, kind)]
        kind, column = next(((kind, column) for kind, column in found if column is not None), ("", ""))
        values = [each.values.get(column, math.nan) for each in observations(sources, kind)] if kind else []
        values = [value for value in values if not math.isnan(value)]
        if values and (len(set(values)) > 1 or word in _ROWS[:2]):
            there.append(column)
    return there[:_MOST_ROWS] or ["goodput"]


def _is_column(word: str | None) -> bool:
    return word is not None and find_column(word, _columns(())) is not None


def _columns(of: Sequence[str]) -> list[str]:
    """Return the columns of the kinds of rows in question, in this order; of all kinds if none is given."""
    return [column for per in of or ALL_COLUMNS for column in (TABLE_COLUMNS if of else ALL_COLUMNS).get(per, ())]


def _data(
    asked: Asked,
    sources: Sequence[RunSet],
    wanted: Sequence[Condition],
    of: Sequence[str],
    kind: str,
    progress: Progress | None,
    manner: Manner,
) -> tuple[dict[str, Sequence[Observation]], dict[str, str], float | None]:
    """Return the observations of each y, their kind of row, and the window of goodput. `of`: the kinds in question, if given."""
    over_time = asked.x in TIME
    pers: dict[str, str] = {}
    series: dict[str, str] = {}
    for word in asked.y or (RATE if over_time else "goodput",):
        column = None if over_time or asked.samples else find_column(word, _columns(of))
        if column is not None:
            pers[column] = next(per for per in of or ALL_COLUMNS if column in _columns((per,)))
            continue
        names, given = series_names(), manner.given("y", word)
        name = find_column(word, [name for name in names if not of or set(of).intersection(series_kinds(name))]) or find_column(word, names)
        if of and not over_time and (owners := [per for per in ALL_COLUMNS if find_column(word, ALL_COLUMNS[per])]):
            what = f"{given} is a column of a {' or a '.join(owners)}"
            instead = (
                f"{manner.offered('per', owners[0])}"
                if asked.per
                else f"keys of the sweep alone, since another option names what a {of[0]} has"
            )
            raise BadInput(f"{what}, not of a {of[0]}; expected {instead}")
        if of == ("port",) and not (over_time or kind in _OF_SAMPLES):
            raise BadInput(f"{given}: a port has series and no columns; expected {manner.offered('x', 'time')} with it")
        if name is None or not (over_time or kind in _OF_SAMPLES):
            if name is not None:
                kinds = f"{manner.offered('x', 'time')}, {manner.offered('kind', 'cdf')} or {manner.offered('kind', 'box')}"
                raise BadInput(f"{given} is a series; expected {kinds} with it, or {_near_columns(name)}")
            raise unknown_column(word, [*([] if over_time else _columns(of)), *(names if over_time or kind != "lines" else ())], given)
        kinds_of = series_kinds(name)
        fitting = [per for per in kinds_of if not of or per in of]
        if not fitting:
            what = f"{given} is a series of a {' or a '.join(kinds_of)}"
            if asked.per is None:
                raise BadInput(f"{what}, and another option names what a {of[0]} has; expected keys of the sweep alone")
            raise BadInput(f"{what}; expected {manner.offered('per', kinds_of[0])}")
        pers[name] = series[name] = fitting[0]
    if asked.window_s is not None and not any(map(is_rate, series)):
        expected = manner.together(manner.offered("x", "time"), manner.offered("y", "goodput"))
        raise BadInput(
            f"{manner.offered('window', _number(asked.window_s))} was given, and no goodput over time is drawn; expected {expected} with it"
        )
    read, window_s = sampled(sources, series, asked.window_s, progress) if series else ({}, None)
    data: dict[str, Sequence[Observation]] = {}
    for y, per in pers.items():
        found: Sequence[Observation] = read[y] if y in read else observations(sources, per)
        if y in read and not found:
            expected = "expected a series that was sampled (`series:` of the scenario)"
            raise BadInput(f"{manner.offered('y', y)}: no run has samples of it for a {per}; {expected}")
        if per == "port":
            found = [each for each in found if each.series is not None and each.series[1].any()] or found
        found = selected(found, wanted)
        # Only columns in the figure have to be computed, and a column of runs belongs to none of their flows.
        data[y] = derived(found, sources, per, [y, asked.x or ""]) if y not in read else found
    if not any(any(has_value(each, y) for each in found) for y, found in data.items()):
        given = " ".join(manner.offered("y", y) for y in data)
        if "completion_s" in data and any(has_value(each, _COMPLETION) for each in observations(sources, "group")):
            what = f"{given}: transfers that come and go are no flows of the results, unless their entry of background: has `rows: true`"
            raise BadInput(f"{what}; expected that, or {manner.offered('y', _COMPLETION)}")
        raise BadInput(f"{given}: no run has a value of it; expected a column that `dumbbell table` shows values of")
    return data, pers, window_s


def has_value(each: Observation, column: str) -> bool:
    """True if it has samples, or a value of a column."""
    return each.series is not None or not math.isnan(each.values.get(column, math.nan))


def _near_columns(series: str) -> str:
    stem = series.partition("_")[0]
    return " or ".join(dict.fromkeys(column for column in _columns(()) if column.startswith(stem))) or "a column of `dumbbell table`"


def _delay(word: str | None, data: Mapping[str, Sequence[Observation]], manner: Manner) -> str:
    """The column of the x axis of a scatter plot; a delay by default."""
    columns = list(dict.fromkeys(column for found in data.values() for each in found for column in each.values))
    if word is not None:
        found = find_column(word, columns)
        if found is None:
            raise unknown_column(word, columns, manner.given("x", word))
        return found
    for column in columns:
        if is_delay(column) and any(has_value(each, column) for found in data.values() for each in found):
            return column
    raise BadInput(f"{manner.offered('kind', 'scatter')} found no delay in these runs; expected {manner.name('x')} with a column")


def between(settled: Settled, start_s: float, stop_s: float) -> Settled:
    """Return the question with the samples of this range of times alone. Raises `BadInput` if there are none, or if the figure has no
    samples."""
    if start_s == 0 and math.isinf(stop_s):
        return settled
    if not settled.of_series:
        manner = settled.manner
        given, kinds = f"{manner.name('from')} and {manner.name('to')}", f"{manner.offered('kind', 'cdf')} or box"
        raise BadInput(f"{given} were given, and columns are of whole runs; expected {manner.offered('x', 'time')}, or {kinds} of a series")
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
