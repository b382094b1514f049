"""Running a part of a study and writing down what came out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from dumbbell.files import write_text
from dumbbell.studies.claims import count_statuses, share_passed
from dumbbell.studies.folder import Folder, begin, open_folder
from dumbbell.studies.runs import Runs
from dumbbell.studies.study import Claim, Fitted, Part, Request, Study, View

if TYPE_CHECKING:
    from dumbbell.engines.execute import Progress
    from dumbbell.executor import Executor
    from dumbbell.results import Run


Drawing = Callable[[int, int], None]
"""Called with (figures drawn, figures to draw)."""


@dataclass(frozen=True)
class Reproduction:
    """A part of a study beside what is published of it."""

    folder: Folder
    study: Study
    part: Part
    differences: dict[str, Difference]
    """By format; the first is the principal one."""

    @property
    def principal(self) -> tuple[Format, Difference]:
        """The format that the part is judged by, and the difference."""
        return self.part.formats[0], self.differences[self.part.formats[0].name]

    @property
    def parts(self) -> list[Reproduction]:
        """Of a part that is several together each of them; otherwise this one."""
        return [
            replace(self, part=part, differences={format_.name: self.differences[format_.name] for format_ in part.formats})
            for part in self.part.parts or [self.part]
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers must know."""
        repeats = int(self.folder.asked.get("seeds", 1))
        return [
            *([f"--quick: {self.part.quick_note}"] if self.folder.quick else []),
            *([f"median over {repeats} repeats with jittered start"] if repeats > 1 else []),
            *(f"INVALID {run.name}: {'; '.join(run.reasons)}" for run in self.folder.invalid),
        ]

    def tables(self) -> list[Table]:
        """Agreement by metric, the worst cells; run by run where there are few. Of a part without published numbers claims and our own."""
        if self.part.parts:
            return [table for each in self.parts for table in each.tables()]
        format_, found = self.principal
        if not self.part.published:
            verdicts = [self._verdicts()] if self.part.claims else []
            return [*verdicts, *self.part.summaries(self.folder.runs).values()][:2]
        tables = [agreement_table(found, format_, self.part.title)]
        tables += [agreement_table(self.differences[each.name], each, f"The same ({each.name})") for each in self.part.judged[1:]]
        if self.part.every_cell:
            good = f"every metric agrees in {percent(found.share_all_metrics)} of {len(found.by_key)} runs"
            tables.append(every_cell_table(found, format_, f"The reference, and how far ours is from it: {good}"))
        else:
            tables.append(worst_table(found))
        return tables

    def _verdicts(self) -> Table:
        """The claims in short."""
        full = claims_table(self.part, self.folder.runs)
        return Table(full.title, ["claim", "status", "measured"], [[row[0], row[1], row[3]] for row in full.rows])

    def claims_lacking(self) -> list[str]:
        """What falls short of the bar of the claims, a line."""
        if self.part.claims is None or self.part.claims_bar is None:
            return []
        reached = share_passed(_claims(self.part, self.folder.runs))
        if reached is not None and reached >= self.part.claims_bar:
            return []
        return [f"claims: {percent(reached)} of the applicable pass, the bar is {percent(self.part.claims_bar, 0)}"]

    def as_json(self) -> dict[str, Any]:
        """Plain data for agreement.json."""
        asked = self.folder.asked
        claims = {} if self.part.claims is None else {"claims": count_statuses(_claims(self.part, self.folder.runs))}
        return {
            **{name: asked[name] for name in ("study", "part", "engine", "quick", "seeds")},
            "runs": len(self.folder.runs),
            "invalid": [{"name": run.name, "reasons": list(run.reasons)} for run in self.folder.invalid],
            **claims,
            **self.principal[1].as_json(),
            "further": {name: found.as_json() for name, found in self.differences.items() if name != self.part.formats[0].name},
        }


def run_part(
    study: Study, part: Part, request: Request, engine: str, out: Path, executor: Executor | None = None, progress: Progress | None = None
) -> Reproduction:
    """Run what is missing in OUT, and set all of it beside the published numbers. Writes the runs only."""
    from dumbbell.engines import engine as find_engine
    from dumbbell.engines.execute import execute

    find_engine(engine)
    store = begin(out, study, part, request, engine)
    runs = execute([scenario.on(engine) for scenario in part.scenarios(request)], store, executor, progress)
    # A run that crashed is not kept in the store.
    return reopened(replace(open_folder(out), invalid=tuple(run for run in runs if run.status == "invalid")))


def reopened(folder: Folder) -> Reproduction:
    """A folder that `run_part` left, beside the published numbers again. BadInput if it is no study's."""
    if folder.study is None or folder.part is None:
        raise BadInput(f"{folder.path}: is not of a study; expected a folder written by dumbbell reproduce")
    differences = {format_.name: judge(folder, folder.part, format_) for format_ in folder.part.formats}
    return Reproduction(folder, folder.study, folder.part, differences)


def judge(folder: Folder, part: Part, format_: Format) -> Difference:
    """The folder's runs beside the published values of a format; of a quick request only the cells that were run count."""
    measured = format_.measure(folder.runs)
    values = part.reference(format_).values
    if folder.quick:
        values = tuple(value for value in values if (value.key, value.metric) in measured)
    return difference(measured, values, format_)


def write_report(reproduction: Reproduction, view: View, draw: bool = True, drawing: Drawing | None = None) -> list[Path]:
    """Write agreement.json, agreement.md, tables/ and figures/; returns the figures. `drawing` is told (figures drawn, figures)."""
    folder, part = reproduction.folder, reproduction.part
    out = folder.path
    write_text(out / "agreement.json", json.dumps(reproduction.as_json(), indent=1) + "\n")
    write_text(out / "agreement.md", agreement_markdown(reproduction))
    for number, table in part.tables(folder.runs).items():
        write_text(out / "tables" / f"table{number:02d}.csv", table.csv())
        write_text(out / "tables" / f"table{number:02d}.md", table.markdown())
    for name, table in _named_tables(part, folder.runs).items():
        write_text(out / "tables" / f"{name}.csv", table.csv())
        write_text(out / "tables" / f"{name}.md", table.markdown())
    for format_ in part.formats:
        write_text(out / "tables" / f"{format_.name}.csv", tidy(folder.runs, format_))
    return write_figures(part, folder.runs, out / "figures", view, drawing) if draw else []


def agreement_markdown(reproduction: Reproduction) -> str:
    """The tables of agreement and the claims."""
    study, part = reproduction.study, reproduction.part
    parts = [f"# Agreement: {study.title}\n", f"{study.source}. {part.title}.\n", *(f"{note}.\n" for note in reproduction.notes)]
    if not part.published:
        claims = [claims_table(part, reproduction.folder.runs)] if part.claims else []
        own = [*claims, *part.summaries(reproduction.folder.runs).values()][:2]
        return "\n".join([*parts, *(table.markdown() for table in own)])
    for each in reproduction.parts:
        parts += [table.markdown() for table in _agreement_tables(each)]
    if part.claims is not None:
        parts.append(claims_table(part, reproduction.folder.runs).markdown())
    return "\n".join(parts)


def _agreement_tables(each: Reproduction) -> list[Table]:
    """Of one part: the tables of agreement, by every key column, of repeats how far they are apart, and the formats derived."""
    tables = each.tables()
    format_, found = each.principal
    if not each.part.every_cell:
        tables += [breakdown_table(found, format_, column) for column in format_.keys]
    for judged in each.part.judged:
        tables += [spread_table(each.differences[judged.name], judged)] if _repeated(each.differences[judged.name]) else []
    derived = [format_ for format_ in each.part.formats if format_ not in each.part.judged]
    return tables + [agreement_table(each.differences[format_.name], format_, f"Derived tables ({format_.name})") for format_ in derived]


def _repeated(found: Difference) -> bool:
    return any(cell.repeats > 1 for cell in found.cells)


def claims_table(part: Part, runs: Sequence[Run], every: bool = False) -> Table:
    """The claims that these runs decide, or every one."""
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
    return (runs if isinstance(runs, Runs) else Runs(runs)).once(part.claims)


def _named_tables(part: Part, runs: Sequence[Run]) -> dict[str, Table]:
    return {**part.summaries(runs), **({"claims": claims_table(part, runs, every=True)} if part.claims else {})}


def write_figures(part: Part, runs: Sequence[Run], folder: Path, view: View, drawing: Drawing | None = None) -> list[Path]:
    """Draw the part's figures as PNG and SVG."""
    from dumbbell.drawing import style

    tell = drawing or (lambda _done, _total: None)
    tell(0, len(part.figures))
    written: list[Path] = []
    for done, (name, draw) in enumerate(part.figures.items(), 1):
        written += style.save(draw(runs, view), folder, name)
        tell(done, len(part.figures))
    return written


def tidy(runs: Sequence[Run], format_: Format) -> str:
    """CSV with the columns of the format: a row a cell and metric (a row a cell where the format is wide), medians over repeats."""
    import numpy as np

    measured = {cell: float(np.median(values)) for cell, values in format_.measure(runs).items()}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")

    def number(value: float) -> str:
        return f"{value:.6g}"

    def fields(key: Sequence[str | float]) -> dict[str, str]:
        return {column: value if isinstance(value, str) else f"{value:g}" for column, value in zip(format_.keys, key, strict=True)}

    if format_.long:
        writer.writerow(format_.columns)
        order = list(format_.metrics)
        for (key, metric), value in sorted(measured.items(), key=lambda item: order.index(item[0][1])):
            table = format_.table_number(key, metric)
            row = {**fields(key), "table": "" if table is None else str(table), "metric": metric, "value": number(value)}
            writer.writerow([row[column] for column in format_.columns])
    else:
        writer.writerow([*format_.keys, *format_.metrics])
        for key in dict.fromkeys(key for key, _ in measured):
            values = (measured.get((key, metric)) for metric in format_.metrics)
            writer.writerow([*fields(key).values(), *("" if value is None or value != value else number(value) for value in values)])
    return out.getvalue()


def run_ablations(
    study: Study, part: Part, request: Request, engine: str, out: Path, executor: Executor | None = None, progress: Progress | None = None
) -> Table:
    """Run the part once without each fitted choice, in OUT/ablations/NAME; the agreement of all, the unchanged part first.

    Writes OUT/ablations.csv and .md.
    """
    rows = []
    unchanged = Fitted("none", "", "", "", {})
    for fitted in (unchanged, *part.fitted):
        where = out if fitted is unchanged else out / "ablations" / fitted.name
        done = run_part(study, part, replace(request, override=fitted.override), engine, where, executor, progress)
        rows.append([fitted.name, fitted.instead, *_ablation_numbers(done)])
    heads = [head for format_ in part.judged for head in breakdown_heads(format_)]
    table = Table("Agreement without each fitted choice", ["ablation", "instead", *heads], rows)
    write_text(out / "ablations.csv", table.csv())
    write_text(out / "ablations.md", table.markdown())
    return table


def _ablation_numbers(done: Reproduction) -> list[str]:
    return [
        number
        for format_ in done.part.judged
        for name, metric in format_.metrics.items()
        for number in breakdown_numbers(done.differences[format_.name].cells_of(name), metric)
    ]
