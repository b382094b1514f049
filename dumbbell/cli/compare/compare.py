"""`dumbbell compare DIR REFERENCE`: how far runs are from published numbers, or from the runs of another folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.figure_options import folder_of_figures
from dumbbell.cli.measuring import FromTimeOption, UntilOption
from dumbbell.cli.output import JsonOption, note, print_json
from dumbbell.cli.tables import print_tables
from dumbbell.comparing.agreement import agreement_table, every_cell_table, worst_table
from dumbbell.comparing.difference import below_bar, difference
from dumbbell.comparing.format import Format, Tolerance
from dumbbell.comparing.reference import Reference, read_reference, why_missing, without_run
from dumbbell.errors import BadInput, nearest
from dumbbell.results.folder import Folder, open_folder
from dumbbell.results.windowed import Window, window_of
from dumbbell.study import find_part, formats, study_names
from dumbbell.study.folders import find_folder, part_of


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or a study.")],
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE|DIR", help="A study (sce, sce/one-flow), a CSV file with the columns of a published one, or another folder."
        ),
    ],
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="METRIC=TERMS",
            help="Tolerance of a metric, such as rtt_ms=10%,1 (the greater) or throughput_mbit=3%bandwidth_mbit.",
        ),
    ] = None,
    per: Annotated[
        str | None, typer.Option("--per", help="With two folders: one row per run, group (the default), flow or stream.")
    ] = None,
    y: Annotated[
        list[str] | None, typer.Option("--y", help="With two folders: only this metric, with or without its unit. Repeatable.")
    ] = None,
    from_: FromTimeOption = None,
    until: UntilOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", callback=folder_of_figures, help="With two folders: draw the differences, into this folder.")
    ] = None,
    harm: Annotated[
        bool,
        typer.Option(
            "--harm",
            help="With two folders: the share of its performance that a group loses. In the first folder the group runs alone.",
        ),
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit status 1 if the agreement misses the study's target.")] = False,
    json: JsonOption = False,
) -> None:
    """Compare runs with published numbers, metric by metric, or the runs of two folders, cell by cell.

    A reference value without a run is missing, not wrong. Two folders are compared with a test: paired by seed where both have the same
    seeds, else Welch's.
    """
    if Path(reference).is_dir():
        if tolerance or check:
            raise BadInput(
                f"{'--tolerance' if tolerance else '--check'} was given with two folders; expected it with a study or a CSV file"
            )
        _folders(folder, Path(reference), per, y or (), window_of(from_, until), out, json, harm)
        return
    for option, given in (("--per", per), ("--y", y), ("--from", from_), ("--until", until), ("--out", out), ("--harm", harm or None)):
        if given is not None:
            raise BadInput(f"{option} was given with {reference}; expected it with two folders")
    opened = open_folder(find_folder(folder))
    found_reference, every_cell = _reference(reference, opened)
    format_ = found_reference.format
    measured = format_.measure(opened.runs)
    if not measured:
        keys = ", ".join(format_.keys)
        made = "" if Path(reference).is_file() else f", as `dumbbell reproduce {reference}` makes them"
        raise BadInput(
            f"{opened.path}: none of its {len(opened.runs)} runs is named by {keys}; expected runs of a cell of {reference}{made}"
        )
    missing = without_run(found_reference, measured)
    if len(missing) == len(found_reference.values):
        raise BadInput(why_missing(found_reference, missing[0], measured))
    found = difference(measured, found_reference.values, format_, _tolerances(tolerance or [], format_))
    lacking = below_bar(found, format_) if check else []
    invalid = [{"name": run.name, "reasons": list(run.reasons)} for run in opened.invalid]
    if json:
        print_json({"format": format_.name, "reference": reference, **found.as_json(), "invalid": invalid, "below_bar": lacking})
    else:
        every = [every_cell_table(found, format_, "Reference and dumbbell, value by value")] if every_cell else []
        print_tables([agreement_table(found, format_, f"{opened.path} compared with {reference}"), *every, worst_table(found)])
    if opened.quick and (part := part_of(opened)) is not None:
        note(f"--quick: {part.quick_note}: the other cells are missing")
    elif missing and not json:
        first = why_missing(found_reference, missing[0], measured)
        note(f"{len(missing)} of {len(found_reference.values)} reference values have no run and count as missing, the first: {first}")
    for run in opened.invalid:
        note(f"invalid, left out: {run.name}: {'; '.join(run.reasons)}")
    for line in lacking:
        note(f"below the target: {line}")
    if invalid or lacking:
        raise typer.Exit(1)


def _folders(
    first: Path, second: Path, per: str | None, y: Sequence[str], window: Window, out: Path | None, json: bool, harm: bool
) -> None:
    """Compare two folders of one's own."""
    from dumbbell.cli.sources import runs_of_folders
    from dumbbell.comparing.folders import compare_folders

    sources, _ = runs_of_folders([first, second], window)
    labels = [source.label for source in sources]
    found = compare_folders(sources[0], sources[1], per, y)
    if json:
        print_json(
            {"folders": labels, "per": found.per, "window": window.words or None, "compared": [each.plain(harm) for each in found.compared]}
        )
    else:
        table = found.table(harm)
        print_tables([replace(table, title=f"{table.title}{f', {window.words}' if window.words else ''}")])
        note(found.sentence)
        if any(each.stands for each in found.compared):
            note("* remains after the correction for many comparisons")
    for label, count in zip(labels, found.only, strict=True):
        if count:
            note(f"{count} {'cell is' if count == 1 else 'cells are'} only in {label}, and left out")
    if out is not None:
        from dumbbell.drawing import style
        from dumbbell.drawing.forest import forest

        written = style.save(forest(found), out, f"{labels[1]}-minus-{labels[0]}", ("png", "svg"))
        note(f"1 figure in {out}: {written[0].stem}{', '.join(path.suffix for path in written)}")


def _reference(name: str, opened: Folder) -> tuple[Reference, bool]:
    """Return the reference, and true if all its cells are to be listed. For a part with several references it is the first one that has
    runs."""
    if not Path(name).is_file() and name.split("/", 1)[0] in study_names():
        _, part = find_part(name)
        if not part.published:
            instead = f", only claims; expected a CSV file, or `dumbbell claims {name} DIR`" if part.claims else "; expected a CSV file"
            raise BadInput(f"{name}: {part.title} has no published numbers{instead}")
        published = [format_ for format_ in part.formats if format_.name in part.published]
        chosen = next((format_ for format_ in published if format_.measure(opened.runs)), published[0])
        return part.reference(chosen), part.every_cell
    if not Path(name).exists() and "." not in name and "/" not in name:
        raise BadInput(
            f"{name}: no such study or file{nearest(name, study_names())}; expected one of {', '.join(study_names())} or a CSV file"
        )
    return read_reference(Path(name), [format_ for _, _, format_ in formats().values()]), False


def _tolerances(written: list[str], format_: Format) -> dict[str, Tolerance]:
    found = {}
    for each in written:
        metric, equals, terms = each.partition("=")
        if not equals or metric not in format_.metrics:
            raise BadInput(f"--tolerance {each!r}: expected METRIC=TERMS with METRIC one of {', '.join(format_.metrics)}")
        found[metric] = Tolerance.parse(terms, format_.keys)
    return found
