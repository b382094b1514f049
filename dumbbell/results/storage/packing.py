"""Puts the runs of a store that have folders into packs.

A folder is removed only once its run was read back from the pack, which is on the disk by then. So a process that is killed leaves a run in
its folder, in a pack, or in both, and the next one that packs goes on from there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dumbbell.errors import BadInput, DamagedRun
from dumbbell.files import parse_json
from dumbbell.results.record import SERIES
from dumbbell.results.series import SeriesFile, digest_of_frame
from dumbbell.results.storage.joining import join, take_out
from dumbbell.results.storage.pack import PACKED, Gathered, Pack, Packable, contents
from dumbbell.results.storage.place import PACK, remove_folder
from dumbbell.results.storage.store import Store, leave_out
from dumbbell.results.storage.written import HOST, RUN

_TAKEN = PACKED | {RUN, HOST}
"""The files of a run that are in its pack."""


@dataclass
class Packed:
    """Results of packing a store."""

    runs: int = 0
    """Runs that lie in packs now and had folders."""
    packs: int = 0
    """Packs that were written."""
    joined: int = 0
    """Packs that were not full, and that others have taken in."""
    removed: int = 0
    """Damaged packs all of whose runs are elsewhere."""
    kept: dict[str, str] = field(default_factory=dict)
    """Reason why a run still has its folder, by key, without damaged runs."""
    damaged: list[str] = field(default_factory=list)
    """The keys of damaged runs."""


def pack(store: Store, progress: Callable[[int, int], None] = lambda _done, _total: None) -> Packed:
    """Packs the runs of a store; damaged ones are left out, each with a `DamagedRunWarning`.

    Raises `BadInput` if it is no store, cannot be written or another process packs it, `EnvironmentFault` if the disk is full.
    """
    order = {key: i for i, key in enumerate(store.requested_keys())}
    found = Packed()
    try:
        with store.place.claimed(PACK):
            with store.place.disk_errors(), store.place.locked(fcntl.LOCK_EX):
                store.place.clear()
            folders = sorted(
                (key for key in store.folders() if _has_more_than_captures(store, key)), key=lambda key: order.get(key, len(order))
            )
            take_out(store, _made_again(store, folders))
            seen = 0
            asked_for = sum(key in order for key in folders)
            for is_asked_for, keys in ((True, folders[:asked_for]), (False, folders[asked_for:])):
                for batch in _batches(store, keys, found):
                    # Runs that nobody asks for any more stay older than those that took their place.
                    store.packs.add(*contents(batch), None if is_asked_for else min(store.written_ns(each.run.key) for each in batch))
                    found.packs += 1
                    for each in batch:
                        _retire(store, each.run.key, found)
                    seen += len(batch)
                    progress(seen, len(folders))
            found.removed = remove_damaged(store)
            found.joined = join(store)
            with store.place.disk_errors(), store.place.locked(fcntl.LOCK_EX):
                store.tidy_index()
    except BlockingIOError:
        raise BadInput(f"{store.path}: another process packs it; expected to be alone") from None
    return found


def remove_damaged(store: Store) -> int:
    """Removes packs that are damaged and of which every run is whole elsewhere; their number."""
    count = 0
    for each in store.packs.all():
        if each.keys and each.damage and all(store.is_whole(key, apart_from=each) for key in each.keys):
            store.packs.remove(each)
            count += 1
    return count


def _has_more_than_captures(store: Store, key: str) -> bool:
    """True if a folder has a run, or remains of one that lies in a pack."""
    names = store.folder.files(key).keys()
    return RUN in names or (bool(names & _TAKEN) and store.packs.find(key) is not None)


def _made_again(store: Store, folders: Sequence[str]) -> set[str]:
    """Return the keys of whole runs in folders that differ from whole packs: a pack was damaged when the runs were rerun."""
    there = ((key, each) for key in folders for each in store.packs.having(key) if os.path.lexists(store.path / key / RUN))
    differing = {key for key, each in there if not each.damage and not _reads_back(each, store, key)}
    return set(filter(store.is_whole, differing))


def _batches(store: Store, keys: Sequence[str], found: Packed) -> Iterator[list[Packable]]:
    """The runs that go into a pack each. Runs that lie in a pack already lose their folders."""
    gathered = Gathered()
    for key in keys:
        if (there := store.packs.find(key)) is not None and not there.damage:
            _retire(store, key, found)
            continue
        try:
            run = _packable(store, key)
        except DamagedRun as damage:
            found.damaged.append(key)
            leave_out(damage)
            continue
        if isinstance(run, str):
            found.kept[key] = run
            continue
        if not gathered.takes(run):
            yield gathered.all()
        gathered.add(run)
    if rest := gathered.all():
        yield rest


def _packable(store: Store, key: str) -> Packable | str:
    """A run that has a folder, or why that has to stay. Raises `DamagedRun`."""
    run = store.get(key)
    if not isinstance(run.samples, SeriesFile) or run.samples.file.sha256 is None:
        return "an earlier version wrote it, without checksums"
    samples = run.frame
    if digest_of_frame(samples) != run.digest:
        return "its digest is not that of its samples in their order"
    return Packable(run, store.record(key), store.host(key), samples, _tables(store, key))


def _retire(store: Store, key: str, found: Packed) -> None:
    """Removes the folder of a run once it was read back from its pack, but for files that do not go into packs."""
    lies = store.packs.find(key)
    if lies is None or not _reads_back(lies, store, key):
        found.kept[key] = "its copy in a pack differs"
        return
    with store.place.disk_errors(), store.place.locked(fcntl.LOCK_EX):
        if set(store.folder.names(key)) <= _TAKEN:
            remove_folder(store.place, key)
        else:
            store.folder.remove(f"{key}/{RUN}")  # first: a folder without it has no run
            store.folder.sync(key)
            for name in _TAKEN:
                store.folder.remove(f"{key}/{name}")
    found.runs += 1


def _reads_back(lies: Pack, store: Store, key: str) -> bool:
    """True if a run in a pack equals the run in its folder, as far as the folder still has it, and its samples have their digest."""
    try:
        record, host = lies.record(key), lies.host(key)
        if lies.digest(key) != parse_json(record)["digest"]:
            return False
        if any(lies.table(key, name) != content for name, content in _tables(store, key).items()):
            return False
    except DamagedRun:
        return False
    there = store.folder.files(key)
    texts = ((RUN, record), (HOST, host))
    return all(store.folder.read(f"{key}/{name}") == content for name, content in texts if name in there)


def _tables(store: Store, key: str) -> dict[str, bytes]:
    """The files of long tables in the folder of a run."""
    there = PACKED.intersection(store.folder.files(key)) - {SERIES}
    return {name: store.folder.read(f"{key}/{name}") for name in there}
