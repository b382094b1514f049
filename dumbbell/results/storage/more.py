"""Records of a stored run from when it was recomputed (`dumbbell run --again`): files next to the run, outside its key and digest.

DIR/KEY/again.json             what was asked for, the digest of the run, size and SHA-256 of the other two; sealed as all JSON of a store
DIR/KEY/again-series.parquet   samples of state variables
DIR/KEY/again-events.parquet   the record of events
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dumbbell.errors import DamagedRun
from dumbbell.files import SafeFolder, parse_json
from dumbbell.results.series import SeriesFile
from dumbbell.results.storage.checksums import StoredFile, damaged, file_entry, is_sealed, seal
from dumbbell.results.storage.json_files import to_json

AGAIN, SERIES, EVENTS = "again.json", "again-series.parquet", "again-events.parquet"
FILES = (AGAIN, SERIES, EVENTS)


@dataclass(frozen=True)
class More:
    """The files of one run."""

    state: Sequence[str]
    """State variables that were asked for."""
    kinds: Sequence[str]
    """Kinds of events that were asked for."""
    series: SeriesFile | None
    events: StoredFile | None

    def with_names(self, names: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """The names of series by kind of entity, with those that are here."""
        found = {kind: list(listed) for kind, listed in names.items()}
        for kind, listed in (self.series.names if self.series is not None else {}).items():
            found[kind] = list(dict.fromkeys((*found.get(kind, ()), *listed)))
        return found


def as_files(
    digest: str, asked: tuple[Sequence[str], Sequence[str]], series: bytes | None, names: Mapping[str, Sequence[str]], events: bytes | None
) -> dict[str, bytes]:
    """The files by name. `digest` is that of the run that was recomputed, `asked` state variables and kinds of events."""
    files = {name: content for name, content in ((SERIES, series), (EVENTS, events)) if content is not None}
    record = {
        "digest": digest,
        "state": list(asked[0]),
        "events": list(asked[1]),
        "series": {kind: list(listed) for kind, listed in names.items()},
        "files": {name: file_entry(content) for name, content in files.items()},
    }
    return {**files, AGAIN: seal(to_json(record))}


def read(folder: SafeFolder, key: str, digest: str) -> More | None:
    """The files of a run with this digest; None if they are of another run of that key, which was computed since. Raises `DamagedRun`."""
    path = folder.path / key / AGAIN
    try:
        with folder.reader(f"{key}/{AGAIN}") as file:
            content = file.read()
        if not is_sealed(content):
            raise ValueError("lacks its SHA-256")
        record = parse_json(content)
        if record["digest"] != digest:
            return None
        files = {name: StoredFile.of_record(folder, f"{key}/{name}", entry) for name, entry in record["files"].items() if name in FILES}
        series = SeriesFile(files[SERIES], record["series"]) if SERIES in files else None
        return More(tuple(record["state"]), tuple(record["events"]), series, files.get(EVENTS))
    except DamagedRun:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise damaged(path, f"cannot be read ({error}), or is not as it was written; remove it, or") from None
