"""A run as the files of its folder: a store writes them, and a machine without the store sends them to the one that has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.results.events import EVENTS
from dumbbell.results.record import FORMAT, SERIES, as_record
from dumbbell.results.run import Run
from dumbbell.results.series import SeriesFile, to_frame, to_parquet
from dumbbell.results.storage.checksums import file_entry, seal
from dumbbell.results.storage.json_files import to_json
from dumbbell.results.storage.pack import PACKED, Packable
from dumbbell.results.tables import MOST_LISTED, NOT_ALWAYS

RUN, HOST = "run.json", "host.json"
ASKED = ("name", "cell", "scenario")
"""Entries of run.json and host.json that come from the request of a run."""
FILES = "files_of_scenario"
"""The entry of host.json with the paths of the files that the scenario names. A run depends on their content alone."""


def as_files(run: Run, command: str, host: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a run by name. Its samples must be in memory: those of a stored run are in its store already."""
    if isinstance(run.samples, SeriesFile):
        raise ValueError(f"run {run.key[:10]} lies in another store")
    present = [table for table in (run.flows, run.groups, run.ports, run.tins) if table.name not in NOT_ALWAYS or len(table)]
    files = {SERIES: to_parquet(run.samples)}
    files.update({f"{table.name}.parquet": table.parquet() for table in present if len(table) > MOST_LISTED})
    if isinstance(run.happened, bytes):
        files[EVENTS] = run.happened
    others = {**run.captures, **run.outputs}
    files.update({name: content if isinstance(content, bytes) else content.read_bytes() for name, content in others.items()})
    record = {
        "format": FORMAT,
        "key": run.key,
        "name": run.name,
        "cell": dict(run.cell),
        "status": run.status,
        "reasons": list(run.reasons),
        "digest": run.digest,
        "files": {name: file_entry(content) for name, content in files.items()},
        "engine": dict(run.engine),
        "command": command,
        "scenario": dict(run.scenario),
        "plan": None if run.plan is None else dict(run.plan),
        "series": run.sampled,
        **{table.name: as_record(table, f"{table.name}.parquet") for table in present},
    }
    files[HOST] = seal(to_json({**dict(host), **{name: record[name] for name in ASKED}}))
    files[RUN] = seal(to_json(record))
    return files


def packable(run: Run, files: Mapping[str, bytes]) -> Packable | None:
    """Return a run as it goes into a pack, from its files; None if it has some that packs do not take (captures, output of programs)."""
    if not files.keys() <= PACKED | {RUN, HOST}:
        return None
    assert not isinstance(run.samples, SeriesFile)  # they were written
    tables = {name: content for name, content in files.items() if name in PACKED and name != SERIES}
    return Packable(run, files[RUN], files[HOST], to_frame(run.samples), tables)
