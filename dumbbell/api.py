"""Running a scenario from Python, and figures and tables of the results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dumbbell.engines.prepared import Allowed
from dumbbell.executor import Executor, Threads
from dumbbell.executor.progress_state import Progress
from dumbbell.notebooks import notebook_progress
from dumbbell.results import Results, Store
from dumbbell.results.summary import Summary, summarise_window
from dumbbell.results.windowed import WHOLE, Window, window_of
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.comparing.across.coordinates import RunSet
    from dumbbell.comparing.folders import Comparison
    from dumbbell.comparing.tables import Table
    from dumbbell.drawing.across.scales import Limits
    from dumbbell.drawing.layout import Way
    from dumbbell.drawing.style import Size
    from dumbbell.results import Run

Where: TypeAlias = Mapping[str, object] | str | Sequence[str]
"""`{"rtt": "20ms"}`, a list of values where several will do, or as on the command line `"rtt=20ms"`."""


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    allow_library: bool = False,
    allow_program: bool = False,
    allow_module: bool = False,
) -> Results:
    """Run all cells of a scenario, each as often as its `repeat` or `until` says.

    Args:
        scenario: The scenario to run.
        out: A results folder. The runs are kept there, and existing runs are not rerun. None: all stays in memory.
        workers: Threads that compute; None: one a processor.
        progress: Called with the progress. None: a notebook shows a progress bar while runs take longer than a second.
        executor: Computes the runs in place of threads: `dumbbell.executor` has others.
        allow_library: Load and run the libraries that the scenario names as congestion controls (`cc: {library: ./mine.so}`).
        allow_program: Run the programs that the scenario describes (`programs`).
        allow_module: Let the guest's kernel load what the scenario names as congestion controls (`cc: {struct_ops: ./mine.bpf.o}`).

    A stored run that is damaged is left out with a warning, see `Results.damaged`. Raises `ScenarioError` (a `BadInput`) if the scenario
    cannot be run, `BadInput` for an impossible number of workers, for a library without `allow_library`, for a program without
    `allow_program`, or for a module or a BPF program without `allow_module`.
    """
    allowed = Allowed(allow_library, allow_program, allow_module)
    if progress is None:
        with notebook_progress(scenario.name) as shown:
            return _run(scenario, out, executor or Threads(workers), shown, allowed)
    return _run(scenario, out, executor or Threads(workers), progress, allowed)


def _run(scenario: Scenario, out: str | Path | None, executor: Executor, progress: Progress | None, allowed: Allowed) -> Results:
    """Run all cells of a scenario."""
    store = None if out is None else Store(out)
    folder = None if out is None else Path(out)
    if scenario.until is not None:
        from dumbbell.running.until.rounds import repeat_until

        outcome = repeat_until(scenario, store, executor, progress, allowed).outcome
        return Results(tuple(outcome), tuple(outcome.damaged.values()), folder)
    found = execute(prepare(scenario.runs()), store, executor, progress, allowed=allowed)
    return replace(found, folder=folder)


def plot(
    what: Results | Comparison | str | Path | Sequence[Results | str | Path] | Mapping[str, Results | str | Path],
    x: str | None = None,
    y: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    *,
    kind: str | None = None,
    panels: str | None = None,
    where: Where = (),
    over: str | Sequence[str] = (),
    per: str | None = None,
    statistic: str | None = None,
    samples: bool = False,
    window_s: float | None = None,
    title: str | None = None,
    x_label: str = "",
    y_label: str = "",
    labels: Mapping[str, str] | None = None,
    log: str | Sequence[str] = (),
    xlim: Limits | None = None,
    ylim: Limits | None = None,
    size: Size = "screen",
    start_s: float = 0.0,
    stop_s: float = math.inf,
) -> Figure:
    """Draw a figure of many runs, as `dumbbell plot` does with options of the same names; without any, the summary of a sweep.

    Args:
        what: Results, a results folder, several of these, or several by the names that the figure has for them; or a comparison of two, of
            which only `title` and `size` say more.
        x: A key of the sweep or its last word, `time`, or for `kind="scatter"` a column.
        y: Columns of `dumbbell table` with or without their unit, or series: a row of panels each.
        by: One key for colours, or two, the second for styles of lines.
        kind: `lines`, `box`, `cdf`, `ccdf`, `scatter` or `heat`.
        panels: A key with a panel for each value.
        where: Only these runs or flows.
        over: Keys whose values are taken together.
        per: Kind of row of a value: `run`, `flow`, `group`, `stream` or `port`.
        statistic: `mean` or `median`, each with its 95 % interval, or `spread`.
        samples: For boxes and distributions: samples of the series instead of a number for each run or flow.
        window_s: Goodput over time is averaged over this many seconds.
        title: Your title. Empty or `none`: no title, and no line below it that says what is drawn.
        x_label: Your label of the x axis.
        y_label: Your label of the y axis.
        labels: Names of values and keys in the figure.
        log: `x`, `y` or both: logarithmic axes.
        xlim: Ends of the x axis; None for one that the data determine.
        ylim: Ends of the y axis.
        size: `screen`, `one-column` or `two-column`.
        start_s: Start of the time axis; without a time axis, of the window that metrics are taken over.
        stop_s: End of either.

    Raises `BadInput` for an unknown name.
    """
    from dumbbell.comparing.across.questions import Asked, settle, summary
    from dumbbell.comparing.across.words import PYTHON
    from dumbbell.comparing.folders import Comparison
    from dumbbell.drawing.across.figure import across_figure
    from dumbbell.drawing.across.scales import Scales, logarithmic
    from dumbbell.drawing.across.wording import Wording

    asked = Asked(
        kind=kind,
        x=x,
        y=_several(y),
        by=_several(by),
        panels=panels,
        where=_conditions(where),
        over=_several(over),
        per=per,
        statistic=statistic,
        samples=samples,
        window_s=window_s,
    )
    if isinstance(what, Comparison):
        from dumbbell.drawing.forest import forest

        return forest(what, size, title)
    sources = _sources(what, WHOLE if asked.is_over_time else Window(start_s, stop_s))
    settled = summary(sources, PYTHON) if asked == Asked() else settle(asked, sources, manner=PYTHON)
    given: dict[Way, Limits | None] = {"x": xlim, "y": ylim}
    limits: dict[Way, Limits] = {way: ends for way, ends in given.items() if ends is not None}
    scales = Scales(logarithmic("log =", _several(log)), limits)
    return across_figure(settled, Wording(title, x_label, y_label, labels or {}), size, start_s, stop_s, scales)


def table(
    what: Results | str | Path | Sequence[Results | str | Path] | Mapping[str, Results | str | Path],
    per: str | None = None,
    statistic: str = "mean",
    y: str | Sequence[str] = (),
    where: Where = (),
    over: str | Sequence[str] = (),
    from_: str | float | None = None,
    until: str | float | None = None,
) -> Table:
    """A table over seeds: a row for each cell and, in it, each group and direction, or `per` `group`, `run`, `flow`, `stream`,
    `port` or `class` (a tin of cake, a queue of dualpi2).

    It has `csv()`, `markdown()`, `latex()`, `text(width)` and `records()`; notebooks show it. The other arguments are those of `plot`.
    `from_` and `until` (`"40s"`, or seconds) take the metrics over a part of each run, which the title says.
    """
    from dumbbell.comparing.across.tables import repeats_table
    from dumbbell.comparing.across.words import PYTHON

    asked = _several(y), _conditions(where), _several(over)
    window = window_of(from_, until, ("from_", "until"))
    return repeats_table(_sources(what, window), window.words, per, statistic, *asked, manner=PYTHON)


def compare(
    first: Results | str | Path,
    second: Results | str | Path,
    per: str | None = None,
    y: str | Sequence[str] = (),
    from_: str | float | None = None,
    until: str | float | None = None,
) -> Comparison:
    """Compare two results, or two results folders, cell by cell, with a test: paired by seed where both have the same seeds, else Welch's.

    The comparison has a `sentence`, a `table()` and the numbers in `compared`; `plot` draws it. `per` and `y` are as for `table`, `from_`
    and `until` as well. Raises `BadInput` for an unknown name, or if no cell is in both.
    """
    from dumbbell.comparing.folders import compare_folders

    sources = _sources([first, second], window_of(from_, until, ("from_", "until")))
    return compare_folders(sources[0], sources[1], per, _several(y))


def _sources(what: object, window: Window = WHOLE) -> list[RunSet]:
    """The runs that are meant, without invalid ones. Their metrics are those of a window."""
    from dumbbell.comparing.across.coordinates import RunSet
    from dumbbell.results.folder import open_outlines, run_of
    from dumbbell.study.folders import find_folder

    if isinstance(what, Results | str | Path):
        what = [what]
    named = list(what.items() if isinstance(what, Mapping) else [("", each) for each in what])  # type: ignore[attr-defined]
    found = []
    for number, (name, each) in enumerate(named, 1):
        if isinstance(each, Results):
            runs = [run for run in each if run.status != "invalid"]
            if not window.is_whole:
                runs = [replace(run, summarised=partial(_summary_in, window)) for run in runs]
            found.append(RunSet(name or f"results {number}", runs, window=window))
        else:
            path = find_folder(Path(each))
            found.append(RunSet(name or path.resolve().name, open_outlines(path, window), run_of(path), window=window))
    labels = [source.label for source in found]
    paths = {number: str(each) for number, (_, each) in enumerate(named) if not isinstance(each, Results)}
    alike = {number for number, label in enumerate(labels) if labels.count(label) > 1}
    return [replace(source, label=paths.get(i, source.label)) if i in alike else source for i, source in enumerate(found)]


def _summary_in(window: Window, run: Run) -> Summary:
    """The metrics of a run over a window."""
    return summarise_window(run, window)


def _several(words: str | Sequence[str]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


def _conditions(where: Where) -> tuple[str, ...]:
    if not isinstance(where, Mapping):
        return _several(where)
    several = {key: value if isinstance(value, list | tuple) else [value] for key, value in where.items()}
    return tuple(f"{key}={value}" for key, values in several.items() for value in values)
