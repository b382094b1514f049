"""`dumbbell run DIR --again KEY`: computes a stored run again with more to see."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.cli.output import human_time, note, print_json
from dumbbell.errors import BadInput
from dumbbell.results import Run, Store
from dumbbell.results.columns import find_key, is_meant
from dumbbell.results.folder import find_store
from dumbbell.scenario.series import CONTROL, KINDS, QUEUE
from dumbbell.study.folders import find_folder

if TYPE_CHECKING:
    from dumbbell.engines.prepared import Allowed


def again(where: Path, key: str, series: Sequence[str], events: Sequence[str], allowed: Allowed, json: bool) -> None:
    """Record more of a run: state variables (`control`, `queue`, names), kinds of events. Default: all of both."""
    store = Store(find_store(folder_of(where)))
    found = found_key(store, key)
    state = [name for each in series for name in each.split(",")]
    kinds = [kind for each in events for kind in (KINDS if each == "all" else each.split(","))]
    for kind in kinds:
        if kind not in KINDS:
            raise BadInput(f"--events {kind!r} is no kind of events; expected all, {', '.join(KINDS)}")
    if not state and not kinds:
        state, kinds = [CONTROL, QUEUE], list(KINDS)
    from dumbbell.running.again import run_again

    began = time.perf_counter()
    run = run_again(store, found, state, kinds, allowed)
    rows = len(run.events)
    names = sorted({name for listed in (run.more.series.names if run.more and run.more.series else {}).values() for name in listed})
    if json:
        print_json({"key": run.key, "digest": run.digest, "state": names, "events": rows})
    wall = human_time(time.perf_counter() - began)
    note(f"run {run.key[:10]} again in {wall}, with the same digest: {rows} events, {len(names)} state variables")
    note(f"`dumbbell explain {store.path} --run {run.key[:10]} --at 1s` tells what happened")


def folder_of(where: Path) -> Path:
    """The results folder that somebody means: itself, or that of a scenario file."""
    if where.is_dir() or not where.is_file():
        return find_folder(where)
    from dumbbell.scenario import Scenario

    return find_folder(Path("results") / Scenario.from_file(where).name)


def found_key(store: Store, beginning: str) -> str:
    """The key that begins so, or that of the run at coordinates such as `seed=1`, with commas between several.

    Raises `BadInput` if it is none, or not one."""
    if "=" in beginning:
        return _at(store, beginning)
    found = [key for key in store.stored_keys() if key.startswith(beginning)]
    if len(found) != 1:
        what = "is the beginning of no run's key" if not found else f"is the beginning of {len(found)} runs' keys"
        raise BadInput(f"{beginning!r} {what} in {store.path}; expected that of one (`dumbbell run` and `table --json` show them)")
    return found[0]


def _at(store: Store, written: str) -> str:
    asked = [each.partition("=") for each in written.split(",")]
    runs = store.runs(check_series=False)
    keys = list(dict.fromkeys(key for run in runs for key in run.cell))
    wanted = {find_key(key.strip(), keys, f"{key.strip()!r} of {written!r}"): value.strip() for key, _, value in asked}
    found = dict.fromkeys(run.key for run in runs if all(is_meant(run.cell.get(key, ""), value) for key, value in wanted.items()))
    if len(found) != 1:
        raise BadInput(f"{written!r} is the place of {len(found)} runs in {store.path}; expected that of one, by all its coordinates")
    return next(iter(found))


def only_run(store: Store, beginning: str | None) -> Run:
    """The run whose key begins so, or the only one of a folder."""
    if beginning is not None:
        return store.get(found_key(store, beginning))
    keys = dict.fromkeys(store.requested_keys())
    if len(keys) != 1:
        raise BadInput(f"{store.path}: holds {len(keys)} runs; expected --run KEY with the beginning of one's key")
    return store.get(next(iter(keys)))
