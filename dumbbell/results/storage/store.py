"""The store on disk: one folder per run, which appears atomically, or packs of many runs.

DIR/study.json              the requested runs: name, cell and key of each, in order
DIR/KEY/run.json            scenario, engine, command, tables of flows and ports, status, checksums of the other files; the same on every
                            machine but for the command
DIR/KEY/host.json           facts about the machine that ran it; again name, cell and scenario, to rerun it if run.json is damaged
DIR/KEY/*.pcap              packets, if the scenario asks for them
DIR/KEY/series.parquet      the samples: t_ns, entity, series, value
DIR/KEY/events.parquet      the record of events, if the scenario asks for it; likewise again*, see more.py
DIR/KEY/flows.parquet       the table of flows if it is long; likewise ports.parquet
DIR/packs/ID/               many runs (see pack.py). Their captures and the output of their programs stay in DIR/KEY
DIR/index.jsonl             the summaries of the runs, see index.py
DIR/.lock                   locked by writers: shared for a run and its line in the index, exclusive for study.json

Every file of a run, and study.json, is checked when it is read (see checksums.py). A run that is not as it was written is
damaged: it is named in a warning, left out of what is read, and replaced only by `write`.

Several processes may use one folder. Locks are the kernel's (flock), which releases them when a process dies.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from dumbbell.collector import collector_paused
from dumbbell.errors import BadInput, DamagedRun, DamagedRunWarning
from dumbbell.files import SafeFolder, parse_json, temporary
from dumbbell.results.events import EVENTS
from dumbbell.results.names import NotOurs, is_cell, is_key, is_name
from dumbbell.results.record import FORMAT, FORMATS, SERIES, checked, series_file, stored_files, tables
from dumbbell.results.run import Coordinate, Results, Run
from dumbbell.results.series import SeriesFile
from dumbbell.results.storage.checksums import StoredFile, damaged, file_entry, is_sealed, seal
from dumbbell.results.storage.index import INDEX, Index, fingerprint
from dumbbell.results.storage.json_files import read_of_store, sealed_record
from dumbbell.results.storage.more import AGAIN
from dumbbell.results.storage.more import FILES as MORE
from dumbbell.results.storage.more import read as read_more
from dumbbell.results.storage.pack import PACKED, Pack, PackedFile
from dumbbell.results.storage.packs import PACKS, Packs, has_packs
from dumbbell.results.storage.place import STUDY, StoreFolder, write_folder
from dumbbell.results.storage.shelf import Folders, Shelf
from dumbbell.results.storage.written import ASKED, FILES, HOST, RUN, as_files
from dumbbell.results.summary import Outline, Summary, summarise

_STUDY_FORMAT = 2
_STUDY_FORMATS = (1, _STUDY_FORMAT)
"""Format 1 has no checksum."""
_OUTPUT = "application-"
"""Prefix of files that programs have written."""
_KEY = re.compile(r"[0-9a-f]{32}")

_SORTED = json.JSONEncoder(sort_keys=True)
_Read = TypeVar("_Read")


class Store:
    """A results folder. The constructor does not access the disk."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.folder = SafeFolder(self.path)
        self.place = StoreFolder(self.folder)
        self._index = Index(self.folder)
        self.packs = Packs(self.place)
        self._folders = Folders(self.folder)

    def request(self, runs: Iterable[tuple[str, Mapping[str, Coordinate], str]], replace: bool = True) -> None:
        """Adds runs, each (name, cell, key), to the requested ones in study.json.

        An earlier request for the same name and cell is replaced, or with `replace` false kept; others are kept. Creates the folder, and
        removes incomplete files of crashed processes. Raises `BadInput` if the folder cannot be created or belongs to something else.
        """
        self.place.make()
        with self.place.disk_errors(), self.place.locked(fcntl.LOCK_EX):
            self.place.clear()
            self._record_request(runs, replace)
            self.tidy_index()

    def _record_request(self, runs: Iterable[tuple[str, Mapping[str, Coordinate], str]], replace: bool = True) -> None:
        wanted: dict[str, str] = {}
        """By name and cell, the request: as JSON, which is small."""
        for name, cell, key in chain(self._requested(missing_ok=True), runs):
            if not (is_name(name) and is_cell(cell)):
                raise BadInput(f"{self.path}: the run {name!r} at {dict(cell)}: expected names and coordinates that are one printable line")
            quoted, written = json.dumps(name), json.dumps(cell)
            asked = f"{quoted}, {written if list(cell) == sorted(cell) else _canonical(cell)}"
            if replace or asked not in wanted:
                wanted[asked] = f'{{"name": {quoted}, "cell": {written}, "key": "{key}"}}'
        listed = ",\n  ".join(wanted.values())
        content = seal(f'{{\n "format": {_STUDY_FORMAT},\n "runs": [\n  {listed}\n ]\n}}\n'.encode())
        if not os.path.lexists(self.path / STUDY) or read_of_store(self.folder, STUDY) != content:
            self.place.replace(STUDY, content)

    def runs(self, check_series: bool = True) -> Results:
        """The requested runs that are stored, in the order of the requests. Raises `BadInput` if it is not a results folder.

        Damaged runs are left out, each with a `DamagedRunWarning`. `check_series`: also look for damage in series, which are otherwise
        checked when they are read; then reading raises `DamagedRun`.
        """
        self._index.refresh()

        def read(name: str, cell: Mapping[str, Coordinate], key: str) -> Run:
            def read_from(shelf: Shelf) -> Run:
                run, files = self._read_from(shelf, key, name, cell)
                if check_series:
                    files[SERIES].verify()
                return run

            return self._found(key, read_from)

        found, left_out = self._left_out(read)
        return Results(tuple(found), tuple(left_out))

    def outlines(self) -> tuple[Outline, ...]:
        """Return only cell and summary of each of `runs`. It is fast: for a run whose summary the index has, it reads only run.json."""
        self._index.refresh()
        return tuple(self._left_out(lambda name, cell, key: Outline(cell, self._outlined(key), name, key))[0])

    def _left_out(self, read: Callable[[str, dict[str, Coordinate], str], _Read]) -> tuple[list[_Read], list[DamagedRun]]:
        """Return the results of `read` for name, cell and key of the stored requested runs; and the damaged ones, each with a warning."""
        found, left_out = [], {}
        with collector_paused():
            for name, cell, key in self._requested():
                if not self._has(key):
                    continue
                try:
                    found.append(read(name, cell, key))
                except DamagedRun as error:
                    left_out[key] = error
        for damage in left_out.values():
            leave_out(damage)
        return found, list(left_out.values())

    def get(self, key: str) -> Run:
        """The run with this key; its series are checked when they are read. Raises `KeyError` if it is not stored, `DamagedRun`."""
        if not self._has(key):
            raise KeyError(key)
        return self._read(key)[0]

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The keys whose runs are not stored, in order. A damaged run is not missing."""
        return [key for key in keys if not self._has(key)]

    def verify(self, key: str) -> bool:
        """Read all files of a stored run. Return true if it has checksums, which runs of earlier formats lack. Raises `DamagedRun`."""
        return self._found(key, partial(self._verify_in, key))

    def _verify_in(self, key: str, shelf: Shelf) -> bool:
        run, files = self._read_from(shelf, key)
        shelf.verify(key, files, run.digest)
        for file in (run.more.series.file if run.more.series else None, run.more.events) if run.more is not None else ():
            if file is not None:
                file.verify()
        if not isinstance(run.samples, SeriesFile) or run.samples.file.sha256 is None:
            return False
        self._host_in(key, shelf)
        return True

    def record(self, key: str) -> bytes:
        """The run.json of a stored run. Raises `DamagedRun`."""
        return self._found(key, lambda shelf: shelf.record(key))

    def host(self, key: str) -> bytes:
        """The host.json of a stored run, which is whole. Raises `DamagedRun`."""
        return self._found(key, partial(self._host_in, key))

    def _host_in(self, key: str, shelf: Shelf) -> bytes:
        content = shelf.host(key)
        try:
            if not is_sealed(content):
                raise ValueError("lacks its SHA-256")
        except ValueError as error:
            raise damaged(self.path / key / HOST, str(error)) from None
        return content

    def stored_keys(self) -> list[str]:
        """The keys of all stored runs, requested or not, damaged or not, sorted. Raises `BadInput` if there is no such folder."""
        return sorted({*self.folders(), *self.packs.keys()})

    def folders(self) -> list[str]:
        """The keys of all folders: runs, and the captures of runs that are in packs. Raises as `stored_keys`."""
        with self.place.disk_errors(), os.scandir(self.path) as found:
            return [entry.name for entry in found if _KEY.fullmatch(entry.name)]

    def asked(self, key: str) -> Iterator[tuple[str, Mapping[str, Coordinate], Mapping[str, Any]]]:
        """Name, cell and scenario of a stored run, from each of its files that still says so. Nothing is checked."""
        for content in self._said(key):
            with suppress(ValueError, TypeError, KeyError):
                name, cell, scenario = (parse_json(content)[each] for each in ASKED)
                if isinstance(name, str) and isinstance(cell, dict) and isinstance(scenario, dict):
                    yield name, cell, scenario

    def files_of_scenario(self, key: str) -> Mapping[str, Mapping[str, str]]:
        """Return the files that the scenario of a stored run names, from its host.json: by SHA-256 the key that names one, and its path."""
        found: dict[str, Mapping[str, str]] = {}
        for content in self._said(key):
            with suppress(ValueError, TypeError, KeyError, AttributeError):
                found |= {sha: {str(k): str(path) for k, path in places.items()} for sha, places in parse_json(content)[FILES].items()}
        return found

    def _said(self, key: str) -> list[bytes]:
        """The run.json and the host.json of a stored run, as far as they can be read."""
        shelf = self._shelf_of(key)
        while True:
            found = list(shelf.said(key))
            if found or (now := self._shelf_by_now(key)) is shelf:
                return found
            shelf = now

    def list_again(self) -> int:
        """Replace study.json by a list of the whole runs in the folder, sorted by name and cell. Return their number.

        Only the newest of several runs for the same name and cell is listed: the others were asked for before the scenario changed.
        """
        by_age = sorted(filter(self.is_whole, self.stored_keys()), key=self.written_ns)
        newest = {(run.name, _canonical(run.cell)): (run.name, run.cell, run.key) for run in map(self.get, by_age)}
        runs = sorted(newest.values(), key=_in_order)
        with self.place.disk_errors(), self.place.locked(fcntl.LOCK_EX):
            self.folder.remove(STUDY)
            self._record_request(runs)
        return len(runs)

    def written_ns(self, key: str) -> int:
        """When a stored run was written, or packed."""
        return self._found(key, lambda shelf: shelf.written_ns(key))

    def is_whole(self, key: str, apart_from: Shelf | None = None) -> bool:
        """True if the run is stored outside this pack, and not damaged."""
        with suppress(DamagedRun):
            if self._has(key) and (apart_from is None or self._shelf_of(key) is not apart_from):
                self.verify(key)
                return True
        return False

    @contextmanager
    def claim(self, key: str) -> Iterator[Run | None]:
        """Reserves a run for this process. Gives the run if it is whole by now, otherwise None: the caller computes it.

        Raises `BlockingIOError` at once if another process has reserved it.
        """
        with self.place.claimed(key):
            yield self.get(key) if self.is_whole(key) else None

    def requested_keys(self) -> list[str]:
        """The keys of the requested runs, in the order of the requests. Raises `BadInput` if it is not a results folder."""
        return [key for _, _, key in self._requested()]

    def write(self, run: Run, command: str = "", host: Mapping[str, Any] | None = None) -> Run:
        """Stores a run atomically, unless it is stored and whole already; returns the stored run. A damaged one is replaced.

        Raises `EnvironmentFault` if the disk is full, `BadInput` if the destination cannot be written.
        """
        if self.is_whole(run.key):
            return self.get(run.key)
        files, summary = as_files(run, command, host or {}), summarise(run)
        self.add(run.key, files, summary)
        return self._written(run, files, summary)

    def add(self, key: str, files: dict[str, bytes], summary: Summary) -> None:
        """Write a run like `write`, if it is already in the form of its files, see `as_files`. `summary` is that of its samples."""
        with self.place.disk_errors(), self.place.locked(fcntl.LOCK_SH), temporary(self.place.partial(key)) as half:
            write_folder(self.place, half.name, files)
            self._install(half, key)
            self.folder.sync()
        with suppress(FileNotFoundError):  # it was packed meanwhile
            self._keep(key, fingerprint(files[RUN], self._folders.listed(key)), summary)

    def add_more(self, key: str, files: Mapping[str, bytes]) -> None:
        """Write what was recorded of a stored run when it was recomputed, see `storage.more`. It replaces what there was."""
        with self.place.disk_errors(), self.place.locked(fcntl.LOCK_EX):
            self.folder.make(key)
            for name in MORE:  # again.json first: without it the others count for nothing
                if name not in files and os.path.lexists(self.path / key / name):
                    self.folder.remove(f"{key}/{name}")
            for name in sorted(files, key=lambda name: name == AGAIN):
                self.place.replace(f"{key}/{name}", files[name])

    def _written(self, run: Run, files: Mapping[str, bytes], summary: Summary) -> Run:
        """Return a run that was just written, with its series and other files where they are in the store. Nothing is read."""
        folder = self.path / run.key
        file = StoredFile.of_record(self.folder, f"{run.key}/{SERIES}", file_entry(files[SERIES]))
        return replace(
            run,
            samples=SeriesFile(file, run.sampled, by_now=partial(self._series_by_now, run.key, self._folders)),
            captures={name: folder / name for name in sorted(run.captures)},
            outputs={name: folder / name for name in sorted(run.outputs)},
            happened=None if run.happened is None else StoredFile.of_record(self.folder, f"{run.key}/{EVENTS}", file_entry(files[EVENTS])),
            summarised=partial(_known, summary),
        )

    def _install(self, half: Path, key: str) -> None:
        """Moves a run that is written to its place, unless another process was first with the same run. Replaces a damaged one."""
        with ExitStack() as replaced:
            while True:
                try:
                    os.rename(half, self.path / key)
                    return
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                        raise
                if self.is_whole(key):
                    return
                aside = replaced.enter_context(temporary(self.place.partial(key)))
                with suppress(FileNotFoundError):  # another process has moved it
                    os.rename(self.path / key, aside)

    def _has(self, key: str) -> bool:
        # Asked again at the end, as it may have been packed between the first two.
        return self.packs.find(key) is not None or os.path.lexists(f"{self.path}/{key}") or self.packs.find(key) is not None

    def _found(self, key: str, read: Callable[[Shelf], _Read]) -> _Read:
        """Return the result of `read` for a run on its shelf. If the run is not whole there but elsewhere by now, read that."""
        shelf = self._shelf_of(key)
        while True:
            try:
                return read(shelf)
            except (DamagedRun, FileNotFoundError) as error:  # the latter if a file has gone just now
                if (now := self._shelf_by_now(key)) is shelf:
                    raise error if isinstance(error, DamagedRun) else damaged(self.path / key / RUN, "no such file") from None
                shelf = now

    def _shelf_by_now(self, key: str) -> Shelf:
        """The shelf that a run is on by now: it may have been packed, or its pack put together with others."""
        self.packs.refresh()
        return self._shelf_of(key)

    def _series_by_now(self, key: str, shelf: Shelf) -> SeriesFile | None:
        """The series of a run that is elsewhere by now; None if it is where it was. Raises `DamagedRun`."""
        now = self._shelf_by_now(key)
        samples = None if now is shelf else self._read(key)[0].samples
        return samples if isinstance(samples, SeriesFile) else None

    def _file_by_now(self, key: str, shelf: Shelf, name: str) -> StoredFile | None:
        """The file of a run that is elsewhere by now; None if it is where it was. Raises `DamagedRun`."""
        return None if self._shelf_by_now(key) is shelf else self._read(key)[1].get(name)

    def _shelf_of(self, key: str) -> Shelf:
        """The pack that a run is in, unless it has a folder: a run with a folder, too, is not packed yet, or was damaged and rerun."""
        return self._folders if self._folders.has(key) else self.packs.find(key) or self._folders

    def _summary(self, run_fingerprint: str, run: Run) -> Summary:
        """The summary of a run with this fingerprint: from the index, or computed and added to the index."""
        found = self._index.find(run.key, run_fingerprint)
        if found is not None and list(found.flows) == run.flows.connections:
            return found
        found = summarise(run)
        self._keep(run.key, run_fingerprint, found)
        return found

    def _packed_summary(self, run: Run) -> Summary:
        """The summary of a run in a pack: from there, or as of any other run."""
        return self._found(run.key, partial(self._summary_in, run))

    def _summary_in(self, run: Run, shelf: Shelf) -> Summary:
        if shelf is self._folders:  # it was rerun meanwhile
            return summarise(run)
        found = shelf.summary(run.key)
        return self._summary(shelf.fingerprint(run.key), run) if found is None else found

    def _outlined(self, key: str) -> Summary:
        return self._found(key, partial(self._outlined_from, key))

    def _outlined_from(self, key: str, shelf: Shelf) -> Summary:
        # The index computed the summary of this fingerprint from files with the right checksums, so the seal need not be checked again.
        found = shelf.summary(key) or self._index.find(key, shelf.fingerprint(key))
        return self._read(key)[0].summary if found is None else found

    def _keep(self, key: str, run_fingerprint: str, summary: Summary) -> None:
        """Add a summary to the index. Without effect if the folder is read-only; it is then recomputed the next time."""
        with suppress(OSError), self.place.locked(fcntl.LOCK_SH):
            self._index.add(key, run_fingerprint, summary)

    def tidy_index(self) -> None:
        """Compacts the index. The caller holds the exclusive lock."""
        content = self._index.compacted(
            key for key in self.stored_keys() if not (isinstance(shelf := self._shelf_of(key), Pack) and shelf.has_summaries)
        )
        if content is not None:
            self.place.replace(INDEX, content)

    def _read(
        self, key: str, name: str | None = None, cell: Mapping[str, Coordinate] | None = None
    ) -> tuple[Run, Mapping[str, StoredFile]]:
        """Return a stored run, and its files. `name` and `cell` are those of the request, which may differ from those of the first run.

        Raises `DamagedRun`, or `BadInput` if a later version wrote it. It looks only at the sizes of series and captures.
        """
        return self._found(key, lambda shelf: self._read_from(shelf, key, name, cell))

    def _read_from(
        self, shelf: Shelf, key: str, name: str | None = None, cell: Mapping[str, Coordinate] | None = None
    ) -> tuple[Run, Mapping[str, StoredFile]]:
        folder = self.path / key
        path, content = shelf.place(key), shelf.record(key)
        sealed = False
        try:
            record = sealed_record(content, path, FORMATS, "a run")
            sealed = record["format"] == FORMAT
            stored = stored_files(checked(record), self.folder, key)
            stored |= shelf.files(key, stored)
            moving = {name: partial(self._file_by_now, key, shelf, name) for name in stored.keys() & (PACKED - {SERIES})}
            flows, groups, ports, tins = tables(record, {name: replace(stored[name], by_now=look) for name, look in moving.items()})
        except ValueError as error:
            if sealed and not isinstance(error, NotOurs):
                expected = "expected a run written by dumbbell, and by no later version than this"
                raise BadInput(f"{path}: {error}; {expected}") from None
            raise damaged(folder / RUN, str(error)) from None
        if record["key"] != key:
            raise damaged(folder / RUN, f"is of the run {record['key']}")
        beside = [each for each in stored.values() if not isinstance(each, PackedFile)]
        there = self._folders.listed(key) if beside else {}
        for each in beside:
            if each.path.name not in there:
                each.verify()  # the error names the existing run
                raise damaged(each.path, "no such file")
            each.verify_size(there[each.path.name].st_size)
            if each.path.suffix == ".parquet" and each.path.name not in (SERIES, EVENTS):
                each.verify()  # of long tables there are few, and whoever reads a run reads them
        recorded_again = AGAIN in there if beside else AGAIN in self._folders.listed(key)
        more = read_more(self.folder, key, record["digest"]) if recorded_again else None
        series = replace(series_file(record, flows, stored[SERIES]), by_now=partial(self._series_by_now, key, shelf))
        run = Run(
            key=key,
            name=record["name"] if name is None else name,
            cell=record["cell"] if cell is None else cell,
            scenario=record["scenario"],
            status=record["status"],
            reasons=tuple(record["reasons"]),
            flows=flows,
            groups=groups,
            ports=ports,
            tins=tins,
            digest=record["digest"],
            engine=record["engine"],
            samples=shelf.series(key, series),
            captures={name: folder / name for name in sorted(there) if name.endswith(".pcap")},
            outputs={name: folder / name for name in sorted(there) if name.startswith(_OUTPUT)},
            happened=stored.get(EVENTS),
            more=more,
            plan=record.get("plan"),
            summarised=partial(self._summary, fingerprint(content, there)) if shelf is self._folders else self._packed_summary,
        )
        return run, stored

    def _requested(self, missing_ok: bool = False) -> list[tuple[str, dict[str, Coordinate], str]]:
        path, what = self.path / STUDY, "a results folder"
        if missing_ok and not os.path.lexists(path):
            return []
        content = read_of_store(self.folder, STUDY)
        try:
            record = sealed_record(content, path, _STUDY_FORMATS, what)
        except ValueError as error:
            raise BadInput(f"{path}: {error}; expected {what} (`dumbbell check --repair {self.path}` rebuilds its list of runs)") from None
        try:
            found = [(run["name"], run["cell"], run["key"]) for run in record["runs"]]
        except (KeyError, TypeError):
            raise BadInput(f"{path}: lists no runs; expected a results folder written by dumbbell") from None
        for i, (name, cell, key) in enumerate(found):
            if not (is_name(name) and is_cell(cell) and is_key(key)):
                wrong = "name" if not is_name(name) else "key" if not is_key(key) else "coordinates"
                raise BadInput(f"{path}: runs.{i} has no valid {wrong}; expected a results folder written by dumbbell")
        return found


def load(path: str | Path, check_series: bool = True) -> Results:
    """The runs of a results folder. Raises `BadInput` if it is not one.

    Damaged runs are left out, each with a `DamagedRunWarning`. `check_series`: also look for damage in series, which are otherwise
    checked when they are read; then reading raises `DamagedRun`.
    """
    return replace(_store(path).runs(check_series), folder=Path(path))


def outlines(path: str | Path) -> tuple[Outline, ...]:
    """Cell and summary of each run of a results folder, but for damaged ones. Raises `BadInput` if it is not one."""
    return _store(path).outlines()


def check_capture(path: Path) -> None:
    """Raises `DamagedRun` if a capture is one of a stored run, by the folder that it lies in, and not as it was written."""
    folder = path.absolute().parent
    store = Store(folder.parent)
    of_run = _KEY.fullmatch(folder.name) and store._has(folder.name)
    if of_run and (file := store._read(folder.name)[1].get(path.name)) is not None:
        file.verify()


def has_runs(folder: Path, below: Iterable[str]) -> bool:
    """True if runs are stored in a folder, by the names of the folders in it. Nothing is read."""
    return any((each == PACKS and has_packs(SafeFolder(folder))) or (folder / each / RUN).is_file() for each in below)


def leave_out(damage: DamagedRun) -> None:
    """Says that a run is left out. A command that says so fails in the end."""
    warnings.warn(str(damage), DamagedRunWarning, stacklevel=3)


def _known(summary: Summary, _run: Run) -> Summary:
    """The summary of a run for which it is known."""
    return summary


def _in_order(request: tuple[str, Mapping[str, Coordinate], str]) -> tuple[Any, ...]:
    """Sorts requests by name, then coordinates, numbers before text."""
    name, cell, key = request
    return name, [(isinstance(value, str), value) for value in cell.values()], key


def _store(path: str | Path) -> Store:
    if not Path(path).is_dir():
        what = "is a file" if Path(path).exists() else "no such folder"
        raise BadInput(f"{path}: {what}; expected a results folder written by dumbbell")
    return Store(path)


def _canonical(cell: Mapping[str, Coordinate]) -> str:
    return _SORTED.encode(cell)
