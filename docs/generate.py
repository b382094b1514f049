"""Rewrites the generated blocks of the documents from folders of results and from the simulator's sources.

    python docs/generate.py results/demo results/oracle results/agree-random-1

A block stands between `<!-- generated STUDY/PART WHAT -->` (or `<!-- generated agree/SET WHAT -->` for the results of `dumbbell agree SET`)
and `<!-- end -->`. Blocks without a folder stay as they are, and so do rows of the table of congestion controls (`agree/controls`), which
are from one folder each. The block `sources omissions`, those of `benchmarks`, of the `schema` of results, of the keys of a `scenario` and
of `coverage` need no folder, and neither do those of `conform`, which run cases. `docs/controls.py` makes those of `controls`. The words
of shell completion (dumbbell/completion) are made as well. The same folders, sources and records give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import measured, side_by_side
from docs import keys
from dumbbell.agreement import outcome
from dumbbell.agreement.tables import CONTROL_COLUMNS, agree, control_row, headline, steadiness
from dumbbell.comparing.agreement import agreement_table, breakdown_table, cells_table, every_cell_table, spread_table
from dumbbell.comparing.tables import Table
from dumbbell.completion import collect
from dumbbell.conform import SUITES
from dumbbell.errors import DumbbellError
from dumbbell.native import native
from dumbbell.results import schema
from dumbbell.results.folder import open_folder
from dumbbell.results.schema import Quantity
from dumbbell.study.registry import study_names
from dumbbell.study.reproduction import Reproduction, claims_table, compare_folder
from dumbbell.trace import FACTS
from dumbbell_studies.sce.kernel import kernel_table

ROOT = Path(__file__).resolve().parent.parent
COVERAGE = ROOT / "dumbbell_studies" / "coverage.csv"
DOCUMENTS = (
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "analyze",
            "conform",
            "controls",
            "fidelity",
            "fidelity/coverage",
            "fidelity/fairness",
            "fidelity/kernel",
            "fidelity/l4s",
            "fidelity/ordering",
            "fidelity/sce",
            "fidelity/sce-and-l4s",
            "fidelity/sce-one-flow",
            "fidelity/sce-two-flows",
            "fidelity/scenarios",
            "fidelity/teacup",
            "index",
            "limits/left-out",
            "performance",
            "results",
            "scenario",
            "stacks",
            *(f"scenario/{name}" for name in keys.PAGES if name != "scenario"),
        )
    ),
)
SOURCES = ROOT / "crates" / "sim" / "src"
KEY_DIGITS = 10
"""Digits of a simulator's key that stand below its tables, as `dumbbell doctor` shows it."""
BLOCK = re.compile(r"(<!-- generated (?P<part>\S+) (?P<what>\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def agreement(done: Reproduction) -> str:
    """The table of agreement, one for each kind of published data that is judged."""
    judged = done.part.judged_formats
    return "\n".join(agreement_table(done.differences[each.name], each, each.name if len(judged) > 1 else "").markdown() for each in judged)


def spread(done: Reproduction) -> str:
    """Return the table of the spread of dumbbell's own seeds."""
    return "\n".join(spread_table(done.differences[each.name], each).markdown() for each in done.part.judged_formats)


def breakdown(done: Reproduction) -> str:
    """Agreement by each key column."""
    format_, found = done.principal
    return "\n".join(breakdown_table(found, format_, column).markdown() for column in format_.keys)


def runs(done: Reproduction) -> str:
    """Run by run."""
    format_, found = done.principal
    return every_cell_table(found, format_, "").markdown()


def outside(done: Reproduction) -> str:
    """Every cell outside the tolerance, the furthest first."""
    cells = sorted((cell for cell in done.principal[1].cells if not cell.within), key=lambda cell: -cell.error_in_tolerances)
    return cells_table(cells, "").markdown() if cells else "None.\n"


def claims(done: Reproduction) -> str:
    """The authors' claims."""
    return claims_table(done.part, done.folder.runs).markdown()


def summary_of_part(done: Reproduction) -> str:
    """The part's own first table."""
    return next(iter(done.part.summaries(done.folder.runs).values())).markdown()


def correlations(done: Reproduction) -> str:
    """Return the correlations of numbers that vary with how they are used."""
    return done.part.summaries(done.folder.runs)["correlations"].markdown()


def orders(done: Reproduction) -> str:
    """Return the table that says which of two protocols has more, or steadier, bits a second."""
    return done.part.summaries(done.folder.runs)["orders"].markdown()


def residual(done: Reproduction) -> str:
    """Why values lie outside the tolerance."""
    return done.part.summaries(done.folder.runs)["residual"].markdown()


def kernel(done: Reproduction) -> str:
    """Return the kernel's results for some cells, compared with dumbbell's and the published ones."""
    return kernel_table(done.folder.runs).markdown()


def fitted(done: Reproduction) -> str:
    """Return the table of fitted choices."""
    rows = [[each.name, each.choice, each.alternative, each.evidence] for each in done.part.fitted]
    return Table("", ["ablation", "choice", "the ablation instead", "evidence"], rows).markdown()


def ablations(done: Reproduction) -> str:
    """The agreement without each fitted choice, as `--ablations` left it."""
    return (done.folder.path / "ablations.md").read_text(encoding="utf-8").split("\n\n", 1)[1]


def omissions() -> str:
    """Return what each source file leaves out, by its head."""
    rows = []
    for path in sorted(SOURCES.rglob("*.rs")):
        head = " ".join(
            line.removeprefix("//!").strip() or "\n" for line in path.read_text(encoding="utf-8").splitlines() if line[:3] == "//!"
        )
        found = re.search(r"(?:Leaves|Left) out: ([^\n]*)", head)
        if found:
            rows.append([f"`{path.relative_to(SOURCES).with_suffix('').as_posix()}`", found[1].strip()])
    return Table("", ["file", "left out"], rows).markdown()


COVERED = ("sce", "fairness", "ordering", "teacup")
"""The studies of docs/fidelity/coverage.md."""


def coverage(study: str) -> str:
    """Return what the document of a study has, item by item, and its claims: state, command and reason."""
    with COVERAGE.open(encoding="utf-8", newline="") as file:
        items = [row for row in csv.DictReader(file) if row["study"] == study]
    rows = [[row["kind"], row["item"], row["state"], f"`{row['command']}`" if row["command"] else "", row["reason"]] for row in items]
    with (COVERAGE.parent / study / "published" / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = [(row["claim_id"], row["section"], row["statement"]) for row in csv.DictReader(file)]
    command = f"`dumbbell claims {study} DIR`"
    rows += [["claim", f"{name} (section {section}): {said}", "checked", command, ""] for name, section, said in claims]
    return Table("", ["kind", "item", "state", "command", "reason"], rows).markdown()


def schema_of(what: str) -> str:
    """The series, or the columns of one of the tables: what each is, and who has it."""
    found = schema()
    if what == "series":
        entities = {"share": "share/PORT/ENTITY"}
        alike: dict[tuple[Quantity, ...], list[str]] = {}
        for kind, listed in found.series.items():
            alike.setdefault(tuple(listed.values()), []).append(entities.get(kind, f"{kind}/NAME"))
        rows = [[", ".join(kinds), *_described(each)] for quantities, kinds in alike.items() for each in quantities]
        return Table("", ["entity", "series", "unit", "kind", "of", "meaning"], rows).markdown()
    return Table("", ["column", "unit", "kind", "of", "meaning"], [_described(each) for each in found.table(what).values()]).markdown()


def _described(each: Quantity) -> list[str]:
    of = {"every-engine": "every engine", "every-engine-of-tcp": "every engine, of TCP"}.get(each.source, each.source)
    return [f"`{each.name}`", each.unit, each.kind, of, each.meaning]


def benchmarks_measured() -> str:
    """Return the content of benchmarks/measured.json."""
    recorded = measured.read()
    return f"{measured.conditions(recorded)}\n\n{measured.table(recorded).markdown()}"


def benchmarks_side_by_side() -> str:
    """Return the content of benchmarks/side_by_side.csv."""
    return side_by_side.section(side_by_side.read())


def conform(cc: str) -> str:
    """Return the result of each test case of a congestion control's specification."""
    suite = SUITES[cc]
    rows = [[each.case, each.title, each.result, each.criterion, each.reason] for each in suite.run(suite.cases, {})]
    return Table("", ["case", "title", "result", "criterion", "measured"], rows).markdown()


def facts() -> str:
    """The facts of `dumbbell analyze`."""
    return Table("", ("column", "with --long", "what"), [[f"`{fact.name}`", fact.label, fact.meaning] for fact in FACTS]).markdown()


BLOCKS: Mapping[str, Callable[[Reproduction], str]] = {
    **{
        function.__name__: function
        for function in (agreement, spread, breakdown, runs, outside, residual, kernel, claims, fitted, ablations, correlations, orders)
    },
    "summary": summary_of_part,
}

KEYS: Mapping[str, Callable[[], str]] = {
    "units": keys.units,
    **{name: partial(keys.page_of_keys, name) for name in keys.PAGES},
    "linux-options": partial(keys.options, "linux"),
    "bsd-options": partial(keys.options, "bsd"),
}

BENCHMARKS: Mapping[str, Callable[[], str]] = {"measured": benchmarks_measured, "side-by-side": benchmarks_side_by_side}

OF_ONE_CONTROL = "random-"
"""Prefix of the names of the sets that `dumbbell agree random --cc NAME` compares."""


def controls_table(block: str, statements: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each statement of a single congestion control; the block's rows of others stay."""
    written = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines() if line.startswith("|")][2:]
    rows = {row[0]: row for row in written if len(row) == len(CONTROL_COLUMNS)}
    for name, document in statements.items():
        if name.startswith(OF_ONE_CONTROL):
            row = control_row(document)
            rows[row[0]] = row
    return Table("", CONTROL_COLUMNS, [rows[name] for name in sorted(rows)]).markdown()


AGREEMENTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {function.__name__: function for function in (agree, headline, steadiness)}


def computed_by(done: Reproduction) -> str:
    """Name the simulators that computed the runs: the first digits of the hashes of their sources. Empty for other engines."""
    engines = [run.engine for run in done.folder.runs]
    keys = sorted({str(engine["sources"])[:KEY_DIGITS] for engine in engines if "sources" in engine})
    return f"\nSimulator {', '.join(f'`{key}`' for key in keys)}.\n" if keys else ""


def stale(text: str, key: str) -> Iterator[str]:
    """Yield each block of a study whose numbers are of another simulator than the one with this key, or of an unknown one."""
    for match in BLOCK.finditer(text):
        if match["part"].partition("/")[0] in study_names() and match["what"] in BLOCKS:
            lines = [line for line in match[0].splitlines() if line.startswith("Simulator ")]
            named = re.findall(r"`([0-9a-f]+)`", lines[-1]) if lines else []
            if named != [key[:KEY_DIGITS]]:
                yield f"{match['part']} {match['what']}: simulator {', '.join(named) or 'not known'}, not {key[:KEY_DIGITS]}"


def rewritten(text: str, done: Mapping[str, Reproduction], statements: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """A document with its blocks rewritten, from reproductions by study/part and statements of agreement by set.

    A block whose data are not there stays.
    """

    def block(match: re.Match[str]) -> str:
        if match["part"] == "coverage":
            return f"{match[1]}\n{coverage(match['what'])}\n{match[4]}"
        if match["part"] == "sources":
            return f"{match[1]}\n{omissions()}\n{match[4]}"
        if match["part"] == "benchmarks":
            return f"{match[1]}\n{BENCHMARKS[match['what']]()}\n{match[4]}"
        if match["part"] == "conform":
            return f"{match[1]}\n{conform(match['what'])}\n{match[4]}"
        if match["part"] == "trace":
            return f"{match[1]}\n{facts()}\n{match[4]}"
        if match["part"] == "schema":
            return f"{match[1]}\n{schema_of(match['what'])}\n{match[4]}"
        if match["part"] == "scenario":
            return f"{match[1]}\n{KEYS[match['what']]()}\n{match[4]}"
        kind, _, name = match["part"].partition("/")
        if match["part"] == "agree/controls":
            return f"{match[1]}\n{controls_table(match[0], statements or {})}\n{match[4]}"
        if match["part"] == "controls":
            return match[0]
        if kind == "agree":
            document = (statements or {}).get(name)
            return match[0] if document is None else f"{match[1]}\n{AGREEMENTS[match['what']](document)}\n{match[4]}"
        part = done.get(match["part"])
        if part is None:
            return match[0]
        try:
            return f"{match[1]}\n{BLOCKS[match['what']](part)}{computed_by(part)}\n{match[4]}"
        except FileNotFoundError:
            return match[0]

    return BLOCK.sub(block, text)


def main(arguments: list[str] | None = None) -> None:
    """Rewrite the documents."""
    parser = argparse.ArgumentParser(description="Rewrite the generated blocks of the documents.")
    parser.add_argument("folders", metavar="DIR", nargs="*", type=Path, help="a folder that dumbbell reproduce or agree left")
    parser.add_argument("--stale", action="store_true", help="name the tables of studies that another simulator computed, and end with 1")
    given = parser.parse_args(arguments)
    if given.stale:
        key = native().SOURCE_HASH
        found = [f"{path.relative_to(ROOT)}: {line}" for path in DOCUMENTS for line in stale(path.read_text(encoding="utf-8"), key)]
        print("\n".join(found) or "every table of a study is of this simulator")
        sys.exit(bool(found))
    folders = {folder: outcome.read(folder) for folder in given.folders}
    opened = [compare_folder(open_folder(folder)) for folder, document in folders.items() if document is None]
    done = {f"{each.study.name}/{each.part.name}": each for each in opened}
    statements = {str(document["set"]): document for document in folders.values() if document is not None}
    for path in DOCUMENTS:
        if path.exists():
            path.write_text(rewritten(path.read_text(encoding="utf-8"), done, statements), encoding="utf-8")
    collect.write()


if __name__ == "__main__":
    try:
        main()
    except DumbbellError as error:
        sys.exit(str(error))
