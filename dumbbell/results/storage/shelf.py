"""Where stored runs lie: a shelf is the folders of a store, or a pack of it, behind one protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dumbbell.errors import BadInput
from dumbbell.files import Irregular, SafeFolder
from dumbbell.results.storage.index import fingerprint
from dumbbell.results.storage.json_files import read_of_run
from dumbbell.results.storage.written import HOST, RUN

if TYPE_CHECKING:
    from dumbbell.results.series import SeriesFile
    from dumbbell.results.storage.checksums import StoredFile
    from dumbbell.results.summary import Summary


class Shelf(Protocol):
    """Runs by key. All methods raise `DamagedRun` for a run that is not as it was written."""

    def place(self, key: str) -> Path:
        """Return the file with the record of a run, for errors."""

    def record(self, key: str) -> bytes:
        """The run.json of a run."""

    def host(self, key: str) -> bytes:
        """The host.json of a run."""

    def said(self, key: str) -> Iterator[bytes]:
        """The run.json and the host.json of a run, as far as they can be read."""

    def files(self, key: str, stored: Mapping[str, StoredFile]) -> dict[str, StoredFile]:
        """Return the files of a run that the shelf has in a form of its own, from the form that its record gives them."""

    def series(self, key: str, found: SeriesFile) -> SeriesFile:
        """Return the series of a run as the shelf has them."""

    def verify(self, key: str, files: Mapping[str, StoredFile], digest: str) -> None:
        """Read all files of a run. `digest` is that of its series."""

    def summary(self, key: str) -> Summary | None:
        """The metrics of a run; None if the shelf does not have them."""

    def fingerprint(self, key: str) -> str:
        """Return what the index knows a run by."""

    def written_ns(self, key: str) -> int:
        """Return when a run came to the shelf."""


class Folders:
    """The runs of a store that have a folder each."""

    def __init__(self, store: SafeFolder) -> None:
        self._store = store

    def place(self, key: str) -> Path:
        """See `Shelf`."""
        return self._store.path / key / RUN

    def record(self, key: str) -> bytes:
        """See `Shelf`."""
        return read_of_run(self._store, f"{key}/{RUN}")

    def host(self, key: str) -> bytes:
        """See `Shelf`."""
        return read_of_run(self._store, f"{key}/{HOST}")

    def said(self, key: str) -> Iterator[bytes]:
        """See `Shelf`."""
        for read in (self.record, self.host):
            with suppress(BadInput):
                yield read(key)

    def files(self, _key: str, _stored: Mapping[str, StoredFile]) -> dict[str, StoredFile]:
        """See `Shelf`: none."""
        return {}

    def series(self, _key: str, found: SeriesFile) -> SeriesFile:
        """See `Shelf`."""
        return found

    def verify(self, _key: str, files: Mapping[str, StoredFile], _digest: str) -> None:
        """See `Shelf`. The checksums of the files are those of the record."""
        for file in files.values():
            file.verify()

    def summary(self, _key: str) -> Summary | None:
        """See `Shelf`: the index has them."""
        return None

    def fingerprint(self, key: str) -> str:
        """See `Shelf`."""
        return fingerprint(self.record(key), self.listed(key))

    def written_ns(self, key: str) -> int:
        """See `Shelf`."""
        return self._store.stat(f"{key}/{RUN}").st_mtime_ns

    def has(self, key: str) -> bool:
        """True if a run has a folder with a record."""
        return os.path.lexists(self.place(key))

    def listed(self, key: str) -> dict[str, os.stat_result]:
        """The regular files of a run, by name; none if they cannot be listed."""
        try:
            return self._store.files(key)
        except (OSError, Irregular):
            return {}
