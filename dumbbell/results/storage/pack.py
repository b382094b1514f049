"""A pack: many runs in a folder of a few files, which appears at once and never changes.

packs/ID/pack.json        the keys of its runs, in order; size and SHA-256 of the other files; which code computed the metrics
packs/ID/runs.parquet     a row a run: what a folder has in its run.json (`record`, the same text), the metrics, the number of its samples
packs/ID/hosts.parquet    a row a run: what a folder has in its host.json (`host`, the same text)
packs/ID/series.parquet   the samples of all runs, those of a run together, in the order of its own file
packs/ID/tables.parquet   tables that are too long for run.json: the bytes of each file; only if there are any

ID is a hash of pack.json. A file is compared with its SHA-256 when it is first read, and again once its size or time changed, so that
reading one run of a pack after another does not read it all each time.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import BadInput, DamagedRun
from dumbbell.files import Irregular, SafeFolder
from dumbbell.results.names import is_key
from dumbbell.results.record import SERIES
from dumbbell.results.run import Run
from dumbbell.results.series import COLUMNS, SeriesFile, arrow_schema, digest_of_frame, parquet_errors, read_parquet
from dumbbell.results.storage.checksums import StoredFile, file_entry, lost, seal, unreadable
from dumbbell.results.storage.index import fingerprint, sources
from dumbbell.results.storage.json_files import sealed_record, to_json
from dumbbell.results.storage.parquet import check_extent
from dumbbell.results.summary import RUN_METRICS, Summary
from dumbbell.results.tables import KEYS

if TYPE_CHECKING:
    import polars as pl

MANIFEST, RUNS, HOSTS, SAMPLES, TABLES = "pack.json", "runs.parquet", "hosts.parquet", "series.parquet", "tables.parquet"
MOST_RUNS, MOST_SAMPLES = 2000, 4_000_000
"""Maximum of a pack: runs, and samples if it has several runs. While it is written its samples are in memory, at about 70 bytes each."""
PACKED = frozenset((SERIES, *(f"{table}.parquet" for table in KEYS)))
"""The files of a run that a pack takes in, in addition to run.json and host.json."""
_FORMAT = 1
_GROUP = 200_000
"""Samples of a row group, and those of consecutive runs that are read, and held, together."""
_LEVEL = 3
_HELD = 4
"""Columns, and groups of samples, that stay in memory."""


class Packable(NamedTuple):
    """A run as it goes into a pack."""

    run: Run
    record: bytes
    """Its run.json."""
    host: bytes
    """Its host.json."""
    samples: pl.DataFrame
    """The long table."""
    tables: Mapping[str, bytes]
    """Tables that are too long for run.json, by the names of their files."""


class Gathered:
    """Runs that become a pack."""

    def __init__(self) -> None:
        self._runs: list[Packable] = []
        self._samples = 0

    def takes(self, run: Packable) -> bool:
        """True if the pack has room for one more run."""
        return not self._runs or (len(self._runs) < MOST_RUNS and self._samples + len(run.samples) <= MOST_SAMPLES)

    def add(self, run: Packable) -> None:
        """Adds one that it takes."""
        self._runs.append(run)
        self._samples += len(run.samples)

    def all(self) -> list[Packable]:
        """The runs; the next ones are those of another pack."""
        runs, self._runs, self._samples = self._runs, [], 0
        return runs


def contents(runs: Sequence[Packable]) -> tuple[str, dict[str, bytes]]:
    """The id of the pack of these runs, and its files by name."""
    import polars as pl

    keys = [each.run.key for each in runs]
    metrics = {name: [each.run.summary.run[name] for each in runs] for name in RUN_METRICS}
    facts = {
        "key": keys,
        "name": [each.run.name for each in runs],
        "cell": [json.dumps(dict(each.run.cell)) for each in runs],
        "status": [each.run.status for each in runs],
        **metrics,
        "samples": [len(each.samples) for each in runs],
        "summary": [json.dumps(each.run.summary.plain(), separators=(",", ":")) for each in runs],
        "record": [each.record.decode() for each in runs],
    }
    tables = [(each.run.key, name, content) for each in runs for name, content in each.tables.items()]
    parts = Parts(
        pl.DataFrame(facts).with_columns(pl.col(*RUN_METRICS).fill_nan(None)),
        pl.DataFrame({"key": keys, "host": [each.host.decode() for each in runs]}),
        pl.concat([each.samples.select(pl.lit(each.run.key).alias("key"), *COLUMNS) for each in runs], rechunk=False),
        pl.DataFrame(tables, schema=_TABLES, orient="row"),
    )
    return of_parts(parts, sources(), {name for each in runs for listed in each.run.sampled.values() for name in listed})


class Parts(NamedTuple):
    """Content of the files of a pack, a row a run, a sample or a table. The runs are in the same order in all of them."""

    runs: pl.DataFrame
    hosts: pl.DataFrame
    samples: pl.DataFrame
    tables: pl.DataFrame

    def only(self, keys: Collection[str]) -> Parts:
        """Return the parts of some runs."""
        import polars as pl

        wanted = pl.col("key").is_in(list(keys))
        return Parts(*(frame.filter(wanted) for frame in self))


def of_parts(parts: Parts, metrics: str, series: Collection[str]) -> tuple[str, dict[str, bytes]]:
    """The id of a pack, and its files by name. `metrics`: which code computed those of its runs; `series`: their names."""
    files = {RUNS: _parquet(parts.runs), HOSTS: _parquet(parts.hosts), SAMPLES: _series(parts.samples, series)}
    if len(parts.tables):
        files[TABLES] = _parquet(parts.tables)
    entries = {name: file_entry(content) for name, content in files.items()}
    manifest = seal(to_json({"format": _FORMAT, "metrics": metrics, "files": entries, "runs": parts.runs["key"].to_list()}))
    return hashlib.sha256(manifest).hexdigest()[:32], {**files, MANIFEST: manifest}


def _series(frame: pl.DataFrame, names: Collection[str]) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer, compression="zstd", compression_level=_LEVEL, row_group_size=_GROUP, arrow_schema=arrow_schema(sorted(names), ("key",))
    )
    return buffer.getvalue()


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=_LEVEL, statistics=False)
    return buffer.getvalue()


class Pack:
    """A pack in a store, which is a `Shelf` of its runs. A damaged one still says of which runs it is."""

    def __init__(self, store: SafeFolder, name: str) -> None:
        """Reads pack.json; `name` is that of the pack in its store.

        Raises `BadInput` if a later version wrote it, or if it must not be read.
        """
        self._store, self.name, self.folder = store, name, store.path / name
        self._damage = ""
        """Damage of pack.json; empty if there is none."""
        self._files: dict[str, StoredFile] = {}
        self.metrics = ""
        """A hash of the code that computed those of its runs."""
        self.keys: Sequence[str] = ()
        path = self.folder / MANIFEST
        try:
            self._understand(sealed_record(store.read(f"{name}/{MANIFEST}"), path, (_FORMAT,), "a pack"))
        except Irregular as error:
            self._damage = error.what(path)
        except OSError as error:
            if not lost(error):
                raise unreadable(path, error) from None
            self._damage = lost(error)
        except ValueError as error:
            self._damage = str(error)
        if self._damage:
            self.keys = list(dict.fromkeys(key for file, column in _TEXTS for key in self._unchecked(file, column) if is_key(key)))

    def _understand(self, record: Mapping[str, Any]) -> None:
        """Take over the content of pack.json. Raises `ValueError` if it is malformed."""
        try:
            files = {str(name): StoredFile.of_record(self._store, f"{self.name}/{name}", entry) for name, entry in record["files"].items()}
            keys, self.metrics = list(map(str, record["runs"])), str(record["metrics"])
        except (AttributeError, KeyError, TypeError):
            raise ValueError("does not list runs and files") from None
        if not all(isinstance(file.sha256, str) and type(file.size) is int for file in files.values()):
            raise ValueError("lacks checksums of files")
        if not all(map(is_key, keys)):
            raise ValueError("lists runs without a key")
        if not {RUNS, HOSTS, SAMPLES} <= files.keys() <= {RUNS, HOSTS, SAMPLES, TABLES}:
            raise ValueError("does not list the files of a pack")
        self._files, self.keys = files, keys

    @cached_property
    def key_set(self) -> frozenset[str]:
        """The keys, to look one up."""
        return frozenset(self.keys)

    @property
    def has_summaries(self) -> bool:
        """True if the metrics of the pack were computed by the present code."""
        return self.metrics == sources()

    @cached_property
    def about_samples(self) -> int:
        """The number of samples by the end of their file, which is not compared with its checksum; 0 if that cannot be read."""
        import polars as pl

        with suppress(BadInput, *parquet_errors()), self._store.reader(f"{self.name}/{SAMPLES}") as content:
            return int(pl.scan_parquet(content).select(pl.len()).collect().item())
        return 0

    @property
    def is_full(self) -> bool:
        """True if the pack has no room for another run like its own. Its files are not checked."""
        count = len(self.keys)
        return count >= MOST_RUNS or self.about_samples * (count + 1) > MOST_SAMPLES * count

    def files(self, key: str, stored: Mapping[str, StoredFile]) -> dict[str, StoredFile]:
        """Return the files of a run that are in the pack, in the form of `stored`. The others lie in the run's folder."""
        return {
            name: PackedFile(each.folder, each.name, each.size, each.sha256, self, key) for name, each in stored.items() if name in PACKED
        }

    @property
    def damage(self) -> str:
        """Return the damage of the pack, in a line; empty if it is as it was written. It reads all files that were not yet read."""
        try:
            for name in self._files or [RUNS]:
                self._checked(name, "")
        except DamagedRun as error:
            return str(error)
        return ""

    def verify(self, key: str, files: Mapping[str, StoredFile], digest: str) -> None:
        """See `Shelf`."""
        for file in files.values():
            file.verify()
        if self.digest(key) != digest:
            raise self._damaged(SAMPLES, "has other samples of the run than its record says", key)
        for name in PACKED.intersection(files) - {SERIES}:
            files[name].read()

    def verify_file(self, key: str, file: str) -> None:
        """Raise `DamagedRun` unless a former file of a run is as it was written."""
        self._checked(SAMPLES if file == SERIES else TABLES, key)

    def place(self, _key: str) -> Path:
        """See `Shelf`."""
        return self.folder / RUNS

    def series(self, key: str, found: SeriesFile) -> SeriesFile:
        """See `Shelf`."""
        return PackedSeries(found.file, found.names, by_now=found.by_now, pack=self, key=key)

    def fingerprint(self, key: str) -> str:
        """See `Shelf`."""
        return fingerprint(self.record(key), {})

    def written_ns(self, _key: str) -> int:
        """See `Shelf`."""
        return self._store.stat(self.name).st_mtime_ns

    def record(self, key: str) -> bytes:
        """The run.json of a run. Raises `DamagedRun`."""
        return self._text(RUNS, "record", key).encode()

    def host(self, key: str) -> bytes:
        """The host.json of a run. Raises `DamagedRun`."""
        return self._text(HOSTS, "host", key).encode()

    def summary(self, key: str) -> Summary | None:
        """The metrics of a run; None if other code than this computed them. Raises `DamagedRun`."""
        if not self.has_summaries and not self._damage:
            return None
        try:
            return Summary.from_plain(json.loads(self._text(RUNS, "summary", key)))
        except (ValueError, RecursionError):
            return None

    def said(self, key: str) -> Iterator[bytes]:
        """The run.json and the host.json of a run, as far as they can be read. Nothing is checked where pack.json is damaged."""
        for file, column in _TEXTS:
            try:
                found = self._unchecked(file, column)[key] if self._damage else self._text(file, column, key)
            except (KeyError, BadInput):
                continue
            yield found.encode()

    def sizes(self) -> dict[str, int]:
        """Return the number of samples of each run. Raises `DamagedRun`."""
        file, _ = self._checked(RUNS, "")
        try:
            rows = _read(file, ["key", "samples"]).rows()
            if [key for key, _ in rows] != list(self.keys) or any(type(count) is not int or count < 0 for _, count in rows):
                raise ValueError("not one for each of its runs")
            return dict(rows)
        except ValueError as error:
            raise self._damaged(RUNS, f"has no numbers of samples ({_first_line(error)})", "") from None

    def parts(self) -> Parts:
        """Return the content of its files, all of which are as dumbbell wrote them. Raises `DamagedRun`."""
        import polars as pl

        name = RUNS
        try:
            # The place of a run's samples follows from the numbers of those before it, in this pack and in one that takes it in.
            rows = {HOSTS: dict.fromkeys(self.keys, 1), SAMPLES: {key: count for key, count in self.sizes().items() if count}}
            frames = []
            for name in (RUNS, HOSTS, SAMPLES, TABLES):
                frame = _read(self._checked(name, "")[0], None) if name in self._files else pl.DataFrame(schema=_SCHEMAS[name])
                if name in _SCHEMAS:
                    _check(frame, _SCHEMAS[name])
                if name in rows and frame["key"].rle().struct.unnest().rows() != [(count, key) for key, count in rows[name].items()]:
                    raise ValueError("has other rows than those of its runs")
                frames.append(frame)
        except (ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as error:
            raise self._damaged(name, f"is not of a pack ({_first_line(error)})", "") from None
        return Parts(*frames)

    def samples(self, key: str) -> pl.DataFrame:
        """The long table of a run. Raises `DamagedRun`."""
        samples, runs = self._checked(SAMPLES, key), self._checked(RUNS, key)
        try:
            group, within, count = _places(*runs)[key]
            frame = _samples(*samples, *group)[within : within + count]
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(SAMPLES, f"has no such samples ({_first_line(error)})", key) from None
        if len(frame) != count:
            raise self._damaged(SAMPLES, f"has {len(frame)} samples of the run, not {count}", key)
        return frame

    def digest(self, key: str) -> str:
        """Return the recomputed digest of the series of a run. Raises `DamagedRun`."""
        return digest_of_frame(self.samples(key))

    def table(self, key: str, name: str) -> bytes:
        """A file of a table. Raises `DamagedRun`."""
        file = self._checked(TABLES, key)
        try:
            return _tables(*file)[key, name]
        except (KeyError, ValueError) as error:
            raise self._damaged(TABLES, f"has no {name} of the run ({_first_line(error)})", key) from None

    def _text(self, file: str, column: str, key: str) -> str:
        texts = self._checked(file, key)
        try:
            return _texts(*texts, column)[key]
        except (KeyError, ValueError) as error:
            raise self._damaged(file, f"has no {column} of the run ({_first_line(error)})", key) from None

    def _unchecked(self, file: str, column: str) -> Mapping[str, str]:
        """The texts of a column, of a file that may be damaged."""
        name = f"{self.name}/{file}"
        signature = _signature(self._store, name)
        try:
            return _texts(StoredFile(self._store, name, signature[1], None), signature, column, guarded=True)
        except (OSError, ValueError, BadInput):
            return {}

    def _checked(self, name: str, key: str) -> tuple[StoredFile, _Signature]:
        """A file that is as it was written, and by which it is known. Raises `DamagedRun`."""
        if self._damage:
            raise self._damaged(MANIFEST, self._damage, key)
        if name not in self._files:
            raise self._damaged(MANIFEST, f"lists no {name}", key)
        file = self._files[name]
        signature = _signature(self._store, file.name)
        if what := _fault(file, signature):
            raise self._damaged(name, what, key)
        return file, signature

    def _damaged(self, name: str, what: str, key: str) -> DamagedRun:
        again = f"`dumbbell check --repair {self.folder.parent.parent}` makes its runs again"
        return DamagedRun(f"{self.folder / name}: {what}; expected a whole pack of {len(self.keys)} runs ({again})", key)


@dataclass(frozen=True)
class PackedFile(StoredFile):
    """A former file of a run."""

    pack: Pack
    key: str

    def _content(self) -> bytes:
        """See `StoredFile`. The pack has no such file of series."""
        content = self.pack.table(self.key, self.path.name)
        self._compare(len(content), hashlib.sha256(content).hexdigest())
        return content

    def fault(self) -> str:
        """See `StoredFile`. Raises `DamagedRun` for the pack."""
        self.pack.verify_file(self.key, self.path.name)
        return ""


@dataclass(frozen=True, kw_only=True)
class PackedSeries(SeriesFile):
    """The series of a run in a pack."""

    pack: Pack
    key: str

    def _stored(self, wanted: pl.Expr | None = None) -> pl.DataFrame:
        rows = self.pack.samples(self.key)
        return rows if wanted is None else rows.filter(wanted)


_TEXTS = ((RUNS, "record"), (HOSTS, "host"))
"""Places of the texts of runs: files and columns."""
_TABLES: Mapping[str, Any] = {"key": str, "file": str, "content": bytes}
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    HOSTS: {"key": str, "host": str},
    SAMPLES: {"key": str, "t_ns": int, "entity": str, "series": str, "value": float},
    TABLES: _TABLES,
}
_Signature = tuple[int, int, int]


def _signature(store: SafeFolder, name: str) -> _Signature:
    """By which a file is known to be the one that was read; zeros if it is not there."""
    try:
        stat = store.stat(name)
    except (OSError, Irregular):
        return (0, 0, 0)
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=4096)
def _fault(file: StoredFile, _: _Signature) -> str:
    if what := file.fault():
        return what
    try:
        with file.folder.reader(file.name) as content, mmap(content.fileno(), 0, access=ACCESS_READ) as mapped:
            check_extent(mapped)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


@lru_cache(maxsize=_HELD)
def _texts(file: StoredFile, _: _Signature, column: str, guarded: bool = False) -> dict[str, str]:
    """Key -> text. `guarded`: of a file that may be damaged. Raises `ValueError`, `BadInput`."""
    import polars as pl

    names = ["key", column]
    frame = read_parquet(file).select(names) if guarded else _read(file, names)
    if frame.schema.dtypes() != [pl.String, pl.String]:
        raise ValueError("is not of a pack")
    return dict(zip(frame["key"].fill_null("").to_list(), frame[column].fill_null("").to_list(), strict=True))


@lru_cache(maxsize=_HELD)
def _places(file: StoredFile, _: _Signature) -> dict[str, tuple[tuple[int, int], int, int]]:
    """Key -> first sample and number of samples of those that are read together, where the run begins among them, and how many it has."""
    frame = _read(file, ["key", "samples"])
    groups: list[tuple[int, int]] = []
    """For each group: its first sample and its number of samples."""
    places: list[tuple[str, int, int, int]] = []
    for key, count in frame.rows():
        if type(count) is not int or count < 0:
            raise ValueError("numbers of samples are not whole numbers")
        if not groups or groups[-1][1] + count > _GROUP:
            groups.append((sum(groups[-1]) if groups else 0, 0))
        places.append((key, len(groups) - 1, groups[-1][1], count))
        groups[-1] = (groups[-1][0], groups[-1][1] + count)
    return {key: (groups[group], within, count) for key, group, within, count in places}


@lru_cache(maxsize=_HELD)
def _samples(file: StoredFile, _: _Signature, first: int, count: int) -> pl.DataFrame:
    """Consecutive rows of the long table."""
    import polars as pl

    try:
        with file.folder.reader(file.name) as content:
            frame = pl.scan_parquet(content).slice(first, count).select(COLUMNS).collect()
    except parquet_errors() as error:
        raise ValueError(_first_line(error)) from None
    _check(frame, {column: _SCHEMAS[SAMPLES][column] for column in COLUMNS})
    return frame


@lru_cache(maxsize=1)
def _tables(file: StoredFile, _: _Signature) -> dict[tuple[str, str], bytes]:
    """Key and name of the file -> its contents."""
    frame = _read(file, list(_TABLES))
    _check(frame, _TABLES)
    return {(key, name): content for key, name, content in frame.rows()}


def _check(frame: pl.DataFrame, schema: Mapping[str, Any]) -> None:
    """Raises `ValueError` unless a frame has these columns, and a value in each row of each."""
    import polars as pl

    if frame.schema != pl.Schema(schema):
        raise ValueError("has other columns")
    if any(frame.null_count().row(0)):
        raise ValueError("lacks values")


def _read(file: StoredFile, columns: list[str] | None) -> pl.DataFrame:
    import polars as pl

    try:
        with file.folder.reader(file.name) as content:
            return pl.read_parquet(content, columns=columns)
    except parquet_errors() as error:
        raise ValueError(_first_line(error)) from None


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:120]
