"""`dumbbell check PATH...`: whether stored runs are as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.cli.executor import ClusterOption, ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.output import JsonOption, note, print_columns, print_json
from dumbbell.cli.progress import progress_bar, runs_bar
from dumbbell.cli.scenario_runs import AllowLibraryOption, AllowModuleOption, AllowProgramOption, MostCellsOption, read_sweep
from dumbbell.engines.prepared import Allowed, Prepared
from dumbbell.errors import BadInput, DamagedRun
from dumbbell.executor import Executor
from dumbbell.files import creatable
from dumbbell.results import Store
from dumbbell.results.folder import stores_in
from dumbbell.results.imported import file_of
from dumbbell.results.storage.packing import remove_damaged
from dumbbell.results.storage.place import STUDY
from dumbbell.running.execute import execute
from dumbbell.running.repair import prepare_again
from dumbbell.running.sweep import PreparedSweep, requests
from dumbbell.study.folders import find_folder


@dataclass
class _Checked:
    """A results folder, and the results of its check."""

    store: Store
    keys: list[str]
    runs: PreparedSweep | None
    """Runs of the scenario file, in the order of the keys; None if a folder was given."""
    whole: int = 0
    unsealed: int = 0
    """Runs without checksums, of an earlier version."""
    damaged: dict[str, str] = field(default_factory=dict)
    """Damage, by key."""
    missing: list[str] = field(default_factory=list)
    repaired: int = 0

    @property
    def good(self) -> bool:
        """True if everything is there and as it was written."""
        return not self.damaged and not self.missing

    def plain(self) -> dict[str, Any]:
        """Return data for JSON."""
        damaged = [{"key": key, "what": what} for key, what in self.damaged.items()]
        counts = {"runs": len(self.keys), "whole": self.whole, "without_checksums": self.unsealed, "repaired": self.repaired}
        return {"folder": str(self.store.path), **counts, "damaged": damaged, "missing": self.missing}


def command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Results folders, studies, or scenario files.")],
    out: Annotated[
        Path | None, typer.Option("--out", callback=creatable, help="Results folder of the scenario files. Default: results/NAME.")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Rerun damaged runs, and for scenario files also missing ones.")] = False,
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    cluster: ClusterOption = None,
    most_cells: MostCellsOption = None,
    allow_library: AllowLibraryOption = False,
    allow_program: AllowProgramOption = False,
    allow_module: AllowModuleOption = False,
    json: JsonOption = False,
) -> None:
    """Check stored runs against their checksums: whole folders of results, or the runs of scenario files.

    Exit status 1 if a run is damaged or missing, and was not repaired.
    """
    where, allowed = make_executor(executor, workers, cluster), Allowed(library=allow_library, program=allow_program, module=allow_module)
    found = []
    for path in paths:
        for each in _opened(path, out, most_cells, repair):
            found.append(each)
            _look(each, each.keys)
            for what in dict.fromkeys(each.damaged.values()):  # that of a pack is of many runs
                note(what)
            if repair:
                _repair(each, where, allowed)
                remove_damaged(each.store)
    if json:
        print_json({"folders": [each.plain() for each in found]})
    else:
        heads = ("folder", "runs", "whole", "damaged", "missing", *(("repaired",) if repair else ()))
        numbers = [(each.whole, len(each.damaged), len(each.missing), *((each.repaired,) if repair else ())) for each in found]
        print_columns([heads, *((each.store.path, len(each.keys), *counts) for each, counts in zip(found, numbers, strict=True))])
    if unsealed := sum(each.unsealed for each in found):
        note(f"{unsealed} runs are of an earlier version, without checksums: damage in them goes unnoticed")
    if not all(each.good for each in found):
        raise typer.Exit(1)


def _opened(path: Path, out: Path | None, most_cells: int | None, repair: bool) -> Iterator[_Checked]:
    """The results folders that an argument stands for. Raises `BadInput` if there is none."""
    folder = find_folder(path)
    if not folder.is_dir():
        runs, store = read_sweep(path, out, most_cells)
        if repair and (store.path / STUDY).exists():
            _requested(store, repair)
        if repair:
            store.request(requests(runs))
        yield _Checked(store, [runs.key(i) for i in range(len(runs))], runs)
        return
    if out is not None:
        raise BadInput(f"--out was given with the folder {path}; expected it with scenario files only")
    stores = [Store(each) for each in stores_in(folder)]
    if not stores:
        raise BadInput(f"{path}: no results folder is there; expected one written by dumbbell, or a scenario file")
    for store in stores:
        requested = _requested(store, repair)
        yield _Checked(store, list(dict.fromkeys([*requested, *store.stored_keys()])), None)


def _requested(store: Store, repair: bool) -> list[str]:
    """Return the keys of the requested runs. With `repair`, a damaged list of them is remade."""
    try:
        return store.requested_keys()
    except BadInput as error:
        if not repair:
            raise
        note(str(error))
        note(f"{store.path / STUDY}: lists the {store.list_again()} whole runs again, sorted by name and coordinates")
        return store.requested_keys()


def _look(checked: _Checked, keys: list[str]) -> None:
    """Read runs, and note the results."""
    store = checked.store
    with progress_bar("checking", "runs") as progress:
        progress(0, len(keys))
        for done, key in enumerate(keys, 1):
            if store.missing([key]):
                checked.missing.append(key)
            else:
                try:
                    sealed = store.verify(key)
                    checked.whole += sealed
                    checked.unsealed += not sealed
                except DamagedRun as damage:
                    checked.damaged[key] = str(damage)
            progress(done, len(keys))


def _repair(checked: _Checked, where: Executor, allowed: Allowed) -> None:
    """Rerun damaged and missing runs, as far as it is known which runs they are, and check them again."""
    again: dict[str, Prepared] = {}
    positions = {key: i for i, key in enumerate(checked.keys)}
    for key in [*checked.damaged, *checked.missing]:
        known = checked.runs[positions[key]] if checked.runs is not None else prepare_again(checked.store, key)
        if known is not None:
            again[key] = known
        elif key in checked.damaged:
            note(f"{checked.store.path / key}: cannot be rerun, {_why_not(checked.store, key)} instead")
    if not again:
        return
    with runs_bar("repair") as progress:
        execute(list(again.values()), checked.store, where, progress, repair=True, allowed=allowed)
    checked.damaged = {key: what for key, what in checked.damaged.items() if key not in again}
    checked.missing = [key for key in checked.missing if key not in again]
    before = checked.whole
    _look(checked, list(again))
    checked.repaired = checked.whole - before


def _why_not(store: Store, key: str) -> str:
    """Return why a damaged run cannot be rerun from its stored files, and what the user can do."""
    for _, _, scenario in store.asked(key):
        if (file := file_of(scenario)) is not None:
            return f"it was read from {file}; expected `dumbbell import` of that file"
    why = "its scenario is damaged, too, a file that it names has changed, or another version made it"
    return f"{why}; expected `dumbbell run` of its scenario file"
