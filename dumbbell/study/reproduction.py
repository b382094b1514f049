"""Running a part of a study, comparing it with the published numbers, and writing the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.agreement import (
    agreement_table,
    breakdown_heads,
    breakdown_numbers,
    breakdown_table,
    every_cell_table,
    percent,
    spread_table,
    worst_table,
)
from dumbbell.comparing.difference import Difference, difference
from dumbbell.comparing.format import Format
from dumbbell.comparing.tables import Table
from dumbbell.errors import BadInput
from dumbbell.escaping import csv_text
from dumbbell.files import SafeFolder, write_within
from dumbbell.results.folder import Folder, open_folder
from dumbbell.results.runs import Runs
from dumbbell.study import beside
from dumbbell.study.claims import count_statuses, share_passed
from dumbbell.study.folders import open_store, study_of
from dumbbell.study.model import Claim, Fitted, Part, Request, Study, View
from dumbbell.study.today import is_kernel, is_of_today, on_hosts_of_today

if TYPE_CHECKING:
    from dumbbell.executor import Executor
    from dumbbell.executor.progress_state import Progress
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario


Drawing = Callable[[int, int], None]
"""Called with (figures drawn, figures to draw)."""


SIMULATED = "sim"
"""The folder of the simulator's runs next to those of a kernel."""


@dataclass(frozen=True)
class Reproduction:
    """The runs of a part of a study, compared with its published values."""

    folder: Folder
    study: Study
    part: Part
    differences: dict[str, Difference]
    """By name of the format. The first is the principal one."""
    left_out: Sequence[str] = ()
    """Reasons why the engine's hosts leave runs out, one line each."""
    beside: Mapping[str, Table] = field(default_factory=dict)
    """Tables by name that compare runs of the kernel with the simulator's runs of the same scenarios. The first is printed."""

    @property
    def principal(self) -> tuple[Format, Difference]:
        """The principal format, and the difference in it."""
        return self.part.formats[0], self.differences[self.part.formats[0].name]

    @property
    def parts(self) -> list[Reproduction]:
        """One reproduction per part that this part combines; itself if it combines none."""
        return [
            replace(self, part=part, differences={format_.name: self.differences[format_.name] for format_ in part.formats})
            for part in self.part.parts or [self.part]
        ]

    @property
    def notes(self) -> list[str]:
        """Notes that a reader of the numbers needs: quick mode, seeds, invalid runs."""
        repeats = int(self.folder.request.get("seeds", 1))
        return [
            *([f"--quick: {self.part.quick_note}"] if self.folder.quick else []),
            *([f"{self._centre} over {repeats} seeds with jittered starts"] if repeats > 1 else []),
            *self.left_out,
            *(f"INVALID {run.name}: {'; '.join(run.reasons)}" for run in self.folder.invalid),
        ]

    @property
    def _centre(self) -> str:
        """The estimate that the principal format makes of several seeds, in a word."""
        return next(iter(self.part.formats[0].metrics.values())).centre.__name__.removeprefix("f")

    def tables(self) -> list[Table]:
        """The tables to print: agreement by metric, then every run or the worst cells. Without published values, claims and summaries."""
        if self.beside:
            return [next(iter(self.beside.values())), *replace(self, beside={}).tables()]
        if self.part.parts:
            return [table for each in self.parts for table in each.tables()]
        format_, found = self.principal
        if not self.part.published:
            claims = [self._short_claims()] if self.part.claims else []
            return [*claims, *self.part.summaries(self.folder.runs).values()][:2]
        tables = [agreement_table(found, format_, self.part.title)]
        tables += [agreement_table(self.differences[each.name], each, f"The same ({each.name})") for each in self.part.judged_formats[1:]]
        if self.part.every_cell:
            good = f"every metric agrees in {percent(found.share_all_metrics)} of {len(found.by_key)} runs"
            tables.append(every_cell_table(found, format_, f"Reference and dumbbell, value by value: {good}"))
        else:
            tables.append(worst_table(found))
        return tables

    def _short_claims(self) -> Table:
        """The claims without their statements."""
        full = claims_table(self.part, self.folder.runs)
        return Table(full.title, ["claim", "status", "measured"], [[row[0], row[1], row[3]] for row in full.rows])

    def claims_below_bar(self) -> list[str]:
        """One line if fewer claims pass than the target demands; otherwise empty."""
        if self.part.claims is None or self.part.claims_bar is None:
            return []
        reached = share_passed(_claims(self.part, self.folder.runs))
        if reached is not None and reached >= self.part.claims_bar:
            return []
        return [f"claims: {percent(reached)} of the applicable pass, the target is {percent(self.part.claims_bar, 0)}"]

    def as_json(self) -> dict[str, Any]:
        """The contents of agreement.json."""
        request = self.folder.request
        claims = {} if self.part.claims is None else {"claims": count_statuses(_claims(self.part, self.folder.runs))}
        return {
            **{name: request[name] for name in ("study", "part", "engine", "quick", "seeds")},
            "runs": len(self.folder.runs),
            "invalid": [{"name": run.name, "reasons": list(run.reasons)} for run in self.folder.invalid],
            **claims,
            **self.principal[1].as_json(),
            "further": {name: found.as_json() for name, found in self.differences.items() if name != self.part.formats[0].name},
        }


def run_part(
    study: Study, part: Part, request: Request, engine: str, out: Path, executor: Executor | None = None, progress: Progress | None = None
) -> Reproduction:
    """Make the runs that are missing in OUT, and compare all of them with the published values. Writes the runs, not the report.

    On real hosts, and on a kernel unless the part has runs for it, the runs are those that hosts of today can have; raises `BadInput` if
    there is none.
    """
    from dumbbell.running.execute import execute
    from dumbbell.running.prepare import prepare

    engine = kernel_of(part, engine)
    as_they_are = bool(is_kernel(engine) and (part.kernel or part.is_of_kernel))
    if is_of_today(engine) and not as_they_are:
        asked, left_out = on_hosts_of_today(part.scenarios(request), engine)
        if not asked:
            raise BadInput(f"--engine {engine}: no run of this part is one that hosts of today can have ({'; '.join(left_out)})")
    else:
        asked, left_out = [scenario.on(engine) for scenario in part.scenarios(request)], []
    store = open_store(out, study, part, request, engine)
    runs = execute(prepare(asked), store, executor, progress)
    # The store does not keep runs that crashed.
    done = compare_folder(replace(open_folder(out), invalid=tuple(run for run in runs if run.status == "invalid")))
    if not is_kernel(engine) or as_they_are:
        return replace(done, left_out=tuple(left_out))
    return replace(done, left_out=tuple(left_out), beside=_beside_simulator(out, asked, done.folder.runs, executor, progress))


def _beside_simulator(
    out: Path, asked: Sequence[ResolvedScenario], runs: Sequence[Run], executor: Executor | None, progress: Progress | None
) -> dict[str, Table]:
    """Make the simulator's runs of the scenarios that a kernel had, in OUT/sim. Returns tables that compare them."""
    from dumbbell.engines import default
    from dumbbell.results import Store
    from dumbbell.running.execute import execute
    from dumbbell.running.prepare import prepare

    store = Store(SafeFolder(out).below(SIMULATED))
    simulated = list(execute(prepare([scenario.on(default()) for scenario in asked]), store, executor, progress))
    return {"beside-simulator": beside.agreement(runs, simulated), "beside-simulator-misses": beside.misses(runs, simulated)}


def kernel_of(part: Part, engine: str) -> str:
    """Return the engine for a part: if it is the kernel, the one with the changes that the part's runs need."""
    from dumbbell.engines.kernel.capabilities import NAME
    from dumbbell.engines.kernel.series import DEFAULT

    return f"{NAME}:{DEFAULT}-{part.kernel}" if part.kernel and engine == NAME else engine


def compare_folder(folder: Folder) -> Reproduction:
    """Compare the runs in a folder of `run_part` with the published values. Raises `BadInput` if it does not belong to a study."""
    found = study_of(folder)
    if found is None:
        raise BadInput(f"{folder.path}: is not of a study; expected a folder written by dumbbell reproduce")
    study, part = found
    differences = {format_.name: compare_format(folder, part, format_) for format_ in part.formats}
    return Reproduction(folder, study, part, differences)


def compare_format(folder: Folder, part: Part, format_: Format) -> Difference:
    """Compare the runs in a folder with the values published in a format. A quick request is compared only where it has runs."""
    measured = format_.measure(folder.runs)
    values = part.reference(format_).values
    if folder.quick:
        values = tuple(value for value in values if (value.key, value.metric) in measured)
    return difference(measured, values, format_)


def beside_published(folder: Folder) -> list[tuple[Format, Difference]]:
    """The formats of a folder's part that have published numbers, compared. If the part has none, those of the first part of the study that
    has: some of its conditions may be among the runs."""
    found = study_of(folder)
    if found is None:
        return []
    study, of_folder = found
    parts = [part for part in (of_folder, *study.parts.values()) if part.published]
    return [(each, compare_format(folder, parts[0], each)) for each in parts[0].formats if each.name in parts[0].published] if parts else []


def write_report(reproduction: Reproduction, view: View, draw: bool = True, drawing: Drawing | None = None) -> list[Path]:
    """Write agreement.json, agreement.md, tables/ and figures/, calling `drawing` after each figure. Returns the files of the figures."""
    folder, part = reproduction.folder, reproduction.part
    out = folder.path
    write_within(out, "agreement.json", json.dumps(reproduction.as_json(), indent=1) + "\n")
    write_within(out, "agreement.md", agreement_markdown(reproduction))
    for number, table in part.tables(folder.runs).items():
        write_within(out, f"tables/table{number:02d}.csv", table.csv())
        write_within(out, f"tables/table{number:02d}.md", table.markdown())
    for name, table in {**_named_tables(part, folder.runs), **reproduction.beside}.items():
        write_within(out, f"tables/{name}.csv", table.csv())
        write_within(out, f"tables/{name}.md", table.markdown())
    for format_ in part.formats:
        write_within(out, f"tables/{format_.name}.csv", tidy(folder.runs, format_))
    return write_figures(part, folder.runs, out, view, drawing) if draw else []


def agreement_markdown(reproduction: Reproduction) -> str:
    """The contents of agreement.md: tables of agreement, and the claims."""
    study, part = reproduction.study, reproduction.part
    parts = [f"# Agreement: {study.title}\n", f"{study.source}. {part.title}.\n", *(f"{note}.\n" for note in reproduction.notes)]
    if not part.published:
        claims = [claims_table(part, reproduction.folder.runs)] if part.claims else []
        tables = [*claims, *part.summaries(reproduction.folder.runs).values()][:2]
        return "\n".join([*parts, *(table.markdown() for table in tables)])
    for each in reproduction.parts:
        parts += [table.markdown() for table in _agreement_tables(each)]
    if part.claims is not None:
        parts.append(claims_table(part, reproduction.folder.runs).markdown())
    return "\n".join(parts)


def _agreement_tables(reproduction: Reproduction) -> list[Table]:
    """The tables of agreement of one part: overall, by key column, the spread over seeds, and the derived formats."""
    part, differences = reproduction.part, reproduction.differences
    tables = reproduction.tables()
    format_, found = reproduction.principal
    if not part.every_cell:
        tables += [breakdown_table(found, format_, column) for column in format_.keys]
    for judged in part.judged_formats:
        tables += [spread_table(differences[judged.name], judged)] if _has_repeats(differences[judged.name]) else []
    derived = [format_ for format_ in part.formats if format_ not in part.judged_formats]
    return tables + [agreement_table(differences[format_.name], format_, f"Derived tables ({format_.name})") for format_ in derived]


def _has_repeats(found: Difference) -> bool:
    return any(cell.repeats > 1 for cell in found.cells)


def claims_table(part: Part, runs: Sequence[Run], every: bool = False) -> Table:
    """The claims that are applicable to these runs, or every claim."""
    claims = _claims(part, runs)
    rows = [
        [claim.id, claim.status.replace("_", " "), claim.statement, claim.measured, claim.expected]
        for claim in claims
        if every or claim.status != "not_applicable"
    ]
    counts = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in count_statuses(claims).items() if count)
    return Table(f"Claims of the authors: {counts}", ["claim", "status", "statement", "measured", "expected"], rows)


def _claims(part: Part, runs: Sequence[Run]) -> list[Claim]:
    assert part.claims is not None
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(part.claims)


def _named_tables(part: Part, runs: Sequence[Run]) -> dict[str, Table]:
    return {**part.summaries(runs), **({"claims": claims_table(part, runs, every=True)} if part.claims else {})}


def write_figures(part: Part, runs: Sequence[Run], folder: Path, view: View, drawing: Drawing | None = None) -> list[Path]:
    """Draw the figures of the part into FOLDER/figures as PNG and SVG, calling `drawing` after each. Returns the files."""
    from dumbbell.drawing import style

    report = drawing or (lambda _done, _total: None)
    report(0, len(part.figures))
    written: list[Path] = []
    for done, (name, draw) in enumerate(part.figures.items(), 1):
        written += style.save(draw(runs, view), folder, f"figures/{name}")
        report(done, len(part.figures))
    return written


def tidy(runs: Sequence[Run], format_: Format) -> str:
    """The medians over seeds, as CSV with the columns of the format: one row per cell and metric, or per cell if the format is wide."""
    import numpy as np

    measured = {cell: float(np.median(values)) for cell, values in format_.measure(runs).items()}

    def number(value: float) -> str:
        return f"{value:.6g}"

    def fields(key: Sequence[str | float]) -> dict[str, str]:
        return {column: value if isinstance(value, str) else f"{value:g}" for column, value in zip(format_.keys, key, strict=True)}

    if format_.long:
        rows = [list(format_.columns)]
        order = list(format_.metrics)
        for (key, metric), value in sorted(measured.items(), key=lambda item: order.index(item[0][1])):
            table = format_.table_number(key, metric)
            row = {**fields(key), "table": "" if table is None else str(table), "metric": metric, "value": number(value)}
            rows.append([row.get(column, "") for column in format_.columns])
    else:
        rows = [[*format_.keys, *format_.metrics]]
        for key in dict.fromkeys(key for key, _ in measured):
            values = (measured.get((key, metric)) for metric in format_.metrics)
            rows.append([*fields(key).values(), *("" if value is None or value != value else number(value) for value in values)])
    return csv_text(rows)


def run_ablations(
    study: Study, part: Part, request: Request, engine: str, out: Path, executor: Executor | None = None, progress: Progress | None = None
) -> Table:
    """Run the part unchanged, then once without each fitted choice in OUT/ablations/NAME.

    Returns the table of their agreement and writes it to OUT/ablations.csv and .md.
    """
    rows = []
    unchanged = Fitted("none", "", "", "", {})
    for fitted in (unchanged, *part.fitted):
        where = out if fitted is unchanged else SafeFolder(out).below(f"ablations/{fitted.name}")
        done = run_part(study, part, replace(request, override=fitted.override), engine, where, executor, progress)
        rows.append([fitted.name, fitted.alternative, *_ablation_numbers(done)])
    heads = [head for format_ in _with_values(part) for head in breakdown_heads(format_)]
    heads += ["claims that pass"] if part.claims else []
    table = Table("Agreement without each fitted choice", ["ablation", "instead", *heads], rows)
    write_within(out, "ablations.csv", table.csv())
    write_within(out, "ablations.md", table.markdown())
    return table


def _ablation_numbers(done: Reproduction) -> list[str]:
    numbers = [
        number
        for format_ in _with_values(done.part)
        for name, metric in format_.metrics.items()
        for number in breakdown_numbers(done.differences[format_.name].cells_of(name), metric)
    ]
    if done.part.claims is None:
        return numbers
    counts = count_statuses(_claims(done.part, done.folder.runs))
    return [*numbers, f"{counts['pass']} of {counts['pass'] + counts['fail']}"]


def _with_values(part: Part) -> list[Format]:
    """The judged formats with published values."""
    return [format_ for format_ in part.judged_formats if format_.name in part.published]
