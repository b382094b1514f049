"""The store on disk: one folder per run, which appears atomically.

DIR/study.json              the requested runs: name, cell and key of each, in order
DIR/KEY/run.json            scenario, engine, command, tables of flows and ports, status; the same on every machine but for the command
DIR/KEY/host.json           facts about the machine that ran it
DIR/KEY/*.pcap              packets, if the scenario asks for them
DIR/KEY/series.parquet      the samples: t_ns, entity, series, value
DIR/KEY/flows.parquet       the table of flows if it is long; likewise ports.parquet
DIR/index.jsonl             the summaries of the runs, see dumbbell.results.index
DIR/.lock                   locked by writers: shared for a run and its line in the index, exclusive for study.json

Several processes may use one folder. Locks are the kernel's (flock), which releases them when a process dies.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.files import FULL, MOST_JSON_BYTES, parse_json, read_regular, temporary
from dumbbell.results.index import INDEX, Index, fingerprint
from dumbbell.results.record import FORMAT, FORMATS, as_record, checked, series_file, tables
from dumbbell.results.run import Coordinate, Results, Run
from dumbbell.results.series import SeriesFile, to_parquet
from dumbbell.results.summary import Outline, Summary, summarise
from dumbbell.results.tables import GROUPS, MOST_LISTED

_STUDY, _RUN, _HOST, _SERIES = "study.json", "run.json", "host.json", "series.parquet"
_STUDY_FORMAT = 1
_PARTIAL, _CLAIM, _LOCK = ".partial-", ".claim-", ".lock"


class Store:
    """A results folder. The constructor does not access the disk."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._index = Index(self.path)

    def request(self, runs: Sequence[tuple[str, Mapping[str, Coordinate], str]]) -> None:
        """Adds runs, each (name, cell, key), to the requested ones in study.json.

        An earlier request for the same name and cell is replaced, others are kept. Creates the folder, and removes incomplete files of
        crashed processes. Raises `BadInput` if the folder cannot be created or belongs to something else.
        """
        self._make()
        with self._disk_errors(), self._locked(fcntl.LOCK_EX):
            self._clear()
            self._record_request(runs)
            self._tidy_index()

    def _record_request(self, runs: Sequence[tuple[str, Mapping[str, Coordinate], str]]) -> None:
        wanted = {(name, _canonical(cell)): (name, dict(cell), key) for name, cell, key in self._requested(missing_ok=True)}
        wanted.update({(name, _canonical(cell)): (name, dict(cell), key) for name, cell, key in runs})
        listed = [{"name": name, "cell": cell, "key": key} for name, cell, key in wanted.values()]
        text = json.dumps({"format": _STUDY_FORMAT, "runs": listed}, indent=1) + "\n"
        if (self.path / _STUDY).exists() and (self.path / _STUDY).read_text(encoding="utf-8") == text:
            return
        self._replace(_STUDY, text.encode())

    def runs(self) -> Results:
        """The requested runs that are stored, in the order of the requests. Raises `BadInput` if it is not a results folder."""
        self._index.refresh()
        return Results(tuple(self._read(key, name, cell) for name, cell, key in self._requested() if self._has(key)))

    def outlines(self) -> tuple[Outline, ...]:
        """As `runs`, but only cell and summary of each. Fast: run.json is not parsed if the index has the summary."""
        self._index.refresh()
        return tuple(Outline(cell, self._outlined(key)) for _, cell, key in self._requested() if self._has(key))

    def get(self, key: str) -> Run:
        """The run with this key. Raises `KeyError` if it is not stored, `BadInput` if its files are truncated or not dumbbell's."""
        if not self._has(key):
            raise KeyError(key)
        self._index.refresh()
        return self._read(key)

    def missing(self, keys: Iterable[str]) -> list[str]:
        """The keys whose runs are not stored, in order."""
        return [key for key in keys if not self._has(key)]

    @contextmanager
    def claim(self, key: str) -> Iterator[Run | None]:
        """Reserves a run for this process. Gives the run if it is stored by now, otherwise None: the caller computes it.

        Raises `BlockingIOError` at once if another process has reserved it.
        """
        path = self.path / f"{_CLAIM}{key}"
        with self._disk_errors():
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with self._disk_errors():
                _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with temporary(path):
                yield self.get(key) if self._has(key) else None
        finally:
            os.close(descriptor)

    def requested(self) -> int:
        """The number of requested runs."""
        return len(self._requested())

    def write(self, run: Run, command: str = "", host: Mapping[str, Any] | None = None) -> Run:
        """Stores a run atomically, unless one with its key is stored already; returns the stored run.

        Raises `EnvironmentFault` if the disk is full, `BadInput` if the destination cannot be written.
        """
        final = self.path / run.key
        if self._has(run.key):
            return self.get(run.key)
        if isinstance(run.samples, SeriesFile):
            raise ValueError(f"run {run.key[:10]} lies in another store")
        series = to_parquet(run.samples)
        present = [table for table in (run.flows, run.groups, run.ports) if table.name != GROUPS or len(table)]
        long = {table.name: table.parquet() for table in present if len(table) > MOST_LISTED}
        record = {
            "format": FORMAT,
            "key": run.key,
            "name": run.name,
            "cell": dict(run.cell),
            "status": run.status,
            "reasons": list(run.reasons),
            "digest": run.digest,
            "series_bytes": len(series),
            "engine": dict(run.engine),
            "command": command,
            "scenario": dict(run.scenario),
            "plan": None if run.plan is None else dict(run.plan),
            "series": run.sampled,
            **{table.name: as_record(table, f"{table.name}.parquet", len(long.get(table.name, b""))) for table in present},
        }
        with self._disk_errors(), self._locked(fcntl.LOCK_SH), temporary(self._partial(run.key)) as half:
            os.mkdir(half)
            _write(half / _SERIES, series)
            for name, table in long.items():
                _write(half / f"{name}.parquet", table)
            for name, content in run.captures.items():
                _write(half / name, content if isinstance(content, bytes) else content.read_bytes())
            _write(half / _HOST, _json(dict(host or {})))
            _write(half / _RUN, _json(record))
            _sync_folder(half)
            try:
                os.rename(half, final)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return self.get(run.key)  # another process was first with the same run
            _sync_folder(self.path)
        kept = self.get(run.key)
        # Computed from the samples in memory, so that they are not read again.
        self._keep(run.key, fingerprint(_json(record), self._files(run.key).values()), summarise(run))
        return kept

    def _has(self, key: str) -> bool:
        return os.path.exists(f"{self.path}/{key}/{_RUN}")

    def _files(self, key: str) -> dict[str, os.DirEntry[str]]:
        """The files of a run, by name."""
        try:
            with os.scandir(self.path / key) as found:
                return {entry.name: entry for entry in found}
        except OSError:
            return {}

    def _summary(self, run_fingerprint: str, run: Run) -> Summary:
        """The summary of a run with this fingerprint: from the index, or computed and added to the index."""
        found = self._index.find(run.key, run_fingerprint)
        if found is not None and list(found.flows) == run.flows.connections:
            return found
        found = summarise(run)
        self._keep(run.key, run_fingerprint, found)
        return found

    def _outlined(self, key: str) -> Summary:
        content = _content(self.path / key / _RUN, "a run")
        found = self._index.find(key, fingerprint(content, self._files(key).values()))
        return self._read(key).summary if found is None else found

    def _keep(self, key: str, run_fingerprint: str, summary: Summary) -> None:
        """Adds a summary to the index. Without effect if the folder is read-only; it is then computed again the next time."""
        with suppress(OSError), self._locked(fcntl.LOCK_SH):
            self._index.add(key, run_fingerprint, summary)

    def _tidy_index(self) -> None:
        """Compacts the index. The caller holds the exclusive lock."""
        content = self._index.compacted(key for key in sorted(os.listdir(self.path)) if self._has(key))
        if content is not None:
            self._replace(INDEX, content)

    def _replace(self, name: str, content: bytes) -> None:
        """Replaces a file atomically. The caller holds the exclusive lock."""
        with temporary(self._partial(name)) as half:
            _write(half, content)
            os.replace(half, self.path / name)
        _sync_folder(self.path)

    def _read(self, key: str, name: str | None = None, cell: Mapping[str, Coordinate] | None = None) -> Run:
        """A stored run. `name` and `cell` are those of the request, which may differ from those with which it was first run."""
        folder = self.path / key
        content = _content(folder / _RUN, "a run")
        record = checked(_parsed(content, folder / _RUN, "a run"), folder / _RUN)
        flows, groups, ports = tables(record, folder / _RUN)
        files = self._files(key)
        if _SERIES not in files:
            raise BadInput(f"{folder / _SERIES}: no such file; expected the series of the run")
        if (size := files[_SERIES].stat().st_size) != record["series_bytes"]:
            what = f"{size} bytes long, truncated or changed"
            raise BadInput(f"{folder / _SERIES}: {what}; expected {record['series_bytes']} bytes (remove {folder} to run it again)")
        if record["key"] != key:
            raise BadInput(f"{folder / _RUN}: is of the run {record['key']}; expected {key}")
        return Run(
            key=key,
            name=record["name"] if name is None else name,
            cell=record["cell"] if cell is None else cell,
            scenario=record["scenario"],
            status=record["status"],
            reasons=tuple(record["reasons"]),
            flows=flows,
            groups=groups,
            ports=ports,
            digest=record["digest"],
            engine=record["engine"],
            samples=series_file(record, flows, folder / _SERIES),
            captures={name: folder / name for name in sorted(files) if name.endswith(".pcap")},
            plan=record.get("plan"),
            summarised=partial(self._summary, fingerprint(content, files.values())),
        )

    def _requested(self, missing_ok: bool = False) -> list[tuple[str, dict[str, Coordinate], str]]:
        path = self.path / _STUDY
        if missing_ok and not path.exists():
            return []
        record = _parsed(_content(path, "a results folder"), path, "a results folder")
        try:
            return [(str(run["name"]), dict(run["cell"]), str(run["key"])) for run in record["runs"]]
        except (KeyError, TypeError, ValueError):
            raise BadInput(f"{path}: lists no runs; expected a results folder written by dumbbell") from None

    def _make(self) -> None:
        """Creates the folder. Raises `BadInput` unless it is empty or a results folder."""
        with self._disk_errors():
            self.path.mkdir(parents=True, exist_ok=True)
            names = os.listdir(self.path)
        if _STUDY not in names and any(name != _LOCK and not name.startswith(_PARTIAL) for name in names):
            raise BadInput(f"{self.path}: holds other files; expected an empty folder or one written by dumbbell")

    def _clear(self) -> None:
        """Removes incomplete files of crashed processes. The caller holds the exclusive lock, so nobody is writing."""
        for name in os.listdir(self.path):
            if name.startswith(_PARTIAL):
                left = self.path / name
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
            elif name.startswith(_CLAIM) and _unclaimed(self.path / name):
                (self.path / name).unlink(missing_ok=True)

    def _partial(self, what: str) -> Path:
        """A unique temporary name for a file or folder while it is written."""
        return self.path / f"{_PARTIAL}{secrets.token_hex(8)}-{what}"

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Holds the folder's lock: LOCK_SH to write a run, LOCK_EX to change study.json or to remove files."""
        descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        """Converts `OSError` to `BadInput` or `EnvironmentFault` with a message of one line."""
        try:
            yield
        except BlockingIOError:
            raise  # another process holds the lock, which the caller handles
        except (FileExistsError, NotADirectoryError):
            raise BadInput(f"{self.path}: cannot be made, a file is in the way; expected a folder") from None
        except OSError as error:
            if error.errno in FULL:
                raise EnvironmentFault(f"{self.path}: {error.strerror}; the runs finished so far are kept") from None
            raise BadInput(f"{self.path}: cannot be written ({error.strerror}); expected a writable folder") from None


def load(path: str | Path) -> Results:
    """The runs of a results folder. Raises `BadInput` if it is not one."""
    return _store(path).runs()


def outlines(path: str | Path) -> tuple[Outline, ...]:
    """Cell and summary of each run of a results folder. Raises `BadInput` if it is not one."""
    return _store(path).outlines()


def _store(path: str | Path) -> Store:
    if not Path(path).is_dir():
        what = "is a file" if Path(path).exists() else "no such folder"
        raise BadInput(f"{path}: {what}; expected a results folder written by dumbbell")
    return Store(path)


def _content(path: Path, what: str) -> bytes:
    try:
        return read_regular(path, MOST_JSON_BYTES)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; expected {what} written by dumbbell") from None
    except NotADirectoryError:
        raise BadInput(f"{path.parent}: is a file; expected {what} written by dumbbell") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); expected {what} written by dumbbell") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}; expected {what} written by dumbbell") from None


def _parsed(content: bytes, path: Path, what: str) -> dict[str, Any]:
    try:
        record = parse_json(content)
    except ValueError:
        raise BadInput(f"{path}: truncated or not JSON; expected {what} written by dumbbell") from None
    if path.name == _STUDY and isinstance(record, dict) and "study" in record:
        raise BadInput(f"{path}: is of dumbbell reproduce; expected another folder, or {path.parent / 'runs'}, which holds its runs")
    formats = (_STUDY_FORMAT,) if path.name == _STUDY else FORMATS
    if not isinstance(record, dict) or record.get("format") not in formats:
        known = " or ".join(map(str, formats))
        raise BadInput(f"{path}: is not of format {known}; expected {what} written by dumbbell, and by no later version than this")
    return record


def _canonical(cell: Mapping[str, Coordinate]) -> str:
    return json.dumps(cell, sort_keys=True)


def _json(record: Mapping[str, Any]) -> bytes:
    """JSON with one line per key on the first two levels: compact, yet legible."""
    lines = []
    for key, value in record.items():
        if isinstance(value, Mapping) and value:
            inner = ",\n  ".join(f"{json.dumps(each)}: {json.dumps(of)}" for each, of in value.items())
            lines.append(f"{json.dumps(key)}: {{\n  {inner}\n }}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return ("{\n " + ",\n ".join(lines) + "\n}\n").encode()


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unclaimed(path: Path) -> bool:
    """Whether the process that made a claim has ended."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _flock(descriptor: int, how: int) -> None:
    """Takes a lock. On a file system without locks it does nothing: only one process may use the folder there."""
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise
