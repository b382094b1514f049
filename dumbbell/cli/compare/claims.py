"""`dumbbell claims STUDY DIR`: the claims of a study's authors, checked on dumbbell's runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, print_json
from dumbbell.cli.tables import print_tables
from dumbbell.comparing.tables import Table
from dumbbell.errors import BadInput
from dumbbell.results.folder import open_folder
from dumbbell.study import find_part
from dumbbell.study.claims import count_statuses
from dumbbell.study.folders import find_folder


def command(
    study: Annotated[str, typer.Argument(help="Study, or STUDY/PART.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or a study.")],
    check: Annotated[bool, typer.Option("--check", help="Exit status 1 if a claim fails.")] = False,
    json: JsonOption = False,
) -> None:
    """Check the claims of a study. A claim without runs is not applicable."""
    opened = open_folder(find_folder(folder))
    chosen, part = find_part(study)
    if part.claims is None:
        raise BadInput(f"{chosen.name}/{part.name} makes no claims; expected a study or part with claims, such as sce")
    if not any(format_.measure(opened.runs) for format_ in part.formats):
        raise BadInput(f"{opened.path}: none of its {len(opened.runs)} runs is a cell of {chosen.name}/{part.name}; expected some")
    claims = part.claims(opened.runs)
    counts = count_statuses(claims)
    if json:
        print_json({**counts, "claims": [asdict(claim) for claim in claims]})
    else:
        rows = [[claim.id, claim.status.replace("_", " "), f"{claim.statement}\n{claim.measured}"] for claim in claims]
        print_tables(
            [Table(", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts.items()), ["claim", "status", "what"], rows)]
        )
    if check and counts["fail"]:
        raise typer.Exit(1)
