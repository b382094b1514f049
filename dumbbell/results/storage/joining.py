"""Puts small packs together, and takes runs out of packs.

A pack goes only once all of its runs were read back from others, which are on the disk by then. So a process that is killed leaves runs in
two packs at worst, and the next one that joins them goes on from there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import DamagedRun
from dumbbell.results.storage import pack as limits
from dumbbell.results.storage.pack import Pack, Parts, of_parts

if TYPE_CHECKING:
    from dumbbell.results.storage.store import Store


@dataclass
class _Cut:
    """Runs that become one pack."""

    of: dict[Pack, list[str]] = field(default_factory=dict)
    """Keys of the runs, by the pack that they lie in."""
    runs: int = 0
    samples: int = 0
    is_asked_for: bool = True
    """True if the folder's list of requests has them. Other runs may be of the same cells, and then only their age tells them apart."""


class _Spoilt(Exception):
    """Packs that cannot be taken apart, though their checksums may be right. They stay as damaged ones do."""

    def __init__(self, packs: Iterable[Pack]) -> None:
        super().__init__()
        self.folders = {each.folder for each in packs}


def join(store: Store, stopped: Callable[[], bool] = lambda: False) -> int:
    """Join packs that are not full, and leave each run in one pack only. Return the number of packs that went. Damaged packs stay.

    A pack that stays, and that shares no run with one that may go, is not read, except for the ends of its files, which have their numbers
    of rows. The caller has claimed to pack. Raises `EnvironmentFault` if the disk is full, `BadInput` if it cannot be written, `DamagedRun`
    if a pack does not read back.
    """
    before = {each.folder for each in store.packs.all()}
    spoilt: set[Path] = set()
    while True:
        try:
            _join([each for each in store.packs.all() if each.folder not in spoilt], store, stopped)
        except _Spoilt as found:
            spoilt |= found.folders
        else:
            return len(before - {each.folder for each in store.packs.all()})


def _join(there: Sequence[Pack], store: Store, stopped: Callable[[], bool]) -> None:
    """Join these packs, see `join`. Raises `_Spoilt` with those that have to be left out."""
    small = [each for each in there if not each.is_full]
    keys = Counter(key for each in small for key in each.keys)
    beside = [each for each in there if each.is_full and not each.key_set.isdisjoint(keys)]
    keys.update(key for each in beside for key in each.keys)
    several = {key for key, count in keys.items() if count > 1}
    if not several and not _may_be_fewer(small):
        return
    sizes: dict[Pack, dict[str, int]] = {}
    for each in small:
        if stopped():
            return
        if found := _sizes(each):
            sizes[each] = found
    small = list(sizes)
    covered: set[str] = set()
    for each in beside:
        if not stopped() and _is_sound(each):
            covered |= each.key_set
    order = {key: i for i, key in enumerate(store.requested_keys())}
    small.sort(key=lambda each: order.get(each.keys[0], len(order)))
    for metrics in dict.fromkeys(each.metrics for each in small):
        alike = [each for each in small if each.metrics == metrics]
        while not stopped():
            cuts = list(_cuts_of(alike, sizes, covered, order))
            if not several and len(cuts) >= len(alike):
                break
            stay = _staying(cuts)
            damaged = {each for each in alike if each not in stay and not stopped() and each.damage}
            damaged |= {each for each in alike if each in stay and several & each.key_set and not stopped() and not _is_sound(each)}
            if damaged:
                alike = [each for each in alike if each not in damaged]  # damaged runs are repaired first
                continue
            if stopped():
                break
            _replace(store, alike, cuts, stopped)
            covered.update(key for cut in cuts for keys in cut.of.values() for key in keys)
            break


def take_out(store: Store, keys: Collection[str]) -> None:
    """Take runs, which have whole folders, out of the packs that they lie in, unless these are damaged. See `join`."""
    for each in store.packs.all():
        if (left := [key for key in each.keys if key not in keys]) != list(each.keys) and not each.damage and (sizes := _sizes(each)):
            with suppress(_Spoilt):
                _replace(store, [each], list(_cuts([(each, left)], {each: sizes}, set())), lambda: False)


def _is_sound(each: Pack) -> bool:
    """True if all of a pack can be read."""
    with suppress(DamagedRun):
        each.parts()
        return True
    return False


def _sizes(each: Pack) -> dict[str, int]:
    """Return the number of samples of each run of a pack; empty if the pack is damaged where the numbers stand."""
    try:
        return each.sizes()
    except DamagedRun:
        return {}


def _may_be_fewer(packs: Iterable[Pack]) -> bool:
    """True if the runs of the packs may fit into fewer packs, judged without reading them."""
    alike: dict[str, list[Pack]] = {}
    for each in packs:
        alike.setdefault(each.metrics, []).append(each)
    return any(len(listed) > 1 and _least(listed) < len(listed) for listed in alike.values())


def _least(packs: Sequence[Pack]) -> int:
    """The number of packs that the runs of these need."""
    runs, samples = sum(len(each.keys) for each in packs), sum(each.about_samples for each in packs)
    return max(math.ceil(runs / limits.MOST_RUNS), math.ceil(samples / limits.MOST_SAMPLES))


def _cuts_of(
    alike: Sequence[Pack], sizes: Mapping[Pack, dict[str, int]], covered: Collection[str], order: Collection[str]
) -> Iterator[_Cut]:
    """Yield the cuts for the runs of packs that others have not `covered`: runs in `order`, the list of requests, apart from others."""
    taken = set(covered)
    for is_asked_for in (True, False):
        left = [(each, [key for key in each.keys if (key in order) == is_asked_for]) for each in alike]
        yield from _cuts(left, sizes, taken, is_asked_for)


def _cuts(
    left: Sequence[tuple[Pack, list[str]]], sizes: Mapping[Pack, dict[str, int]], covered: set[str], is_asked_for: bool = True
) -> Iterator[_Cut]:
    """The runs of packs in their order, as many together as a pack takes; each once. `covered` are in others, and grows."""
    cut = _Cut(is_asked_for=is_asked_for)
    for each, keys in left:
        for key in keys:
            if key in covered:
                continue
            covered.add(key)
            samples = sizes[each][key]
            if cut.runs and (cut.runs >= limits.MOST_RUNS or cut.samples + samples > limits.MOST_SAMPLES):
                yield cut
                cut = _Cut(is_asked_for=is_asked_for)
            cut.of.setdefault(each, []).append(key)
            cut.runs, cut.samples = cut.runs + 1, cut.samples + samples
    if cut.runs:
        yield cut


def _staying(cuts: Iterable[_Cut]) -> set[Pack]:
    """The packs that stay as they are."""
    return {each for cut in cuts for each, keys in cut.of.items() if len(cut.of) == 1 and keys == list(each.keys)}


def _replace(store: Store, old: Sequence[Pack], cuts: Sequence[_Cut], stopped: Callable[[], bool]) -> None:
    """Writes packs of the runs of others, and removes each of these as soon as nothing of it is left. Raises `_Spoilt`."""
    stay = _staying(cuts)
    waiting = [each for each in old if each not in stay]
    for number, cut in enumerate(cuts):
        if stay.isdisjoint(cut.of):
            if stopped():
                return
            made = _write(store, cut)
            waiting = [each for each in waiting if each.folder != made.folder]  # a process that was killed had written the same
        later = {each for other in cuts[number + 1 :] for each in other.of}
        for each in [each for each in waiting if each not in later]:
            store.packs.remove(each)
            waiting.remove(each)
    for each in waiting:  # nothing of it was left
        store.packs.remove(each)


def _write(store: Store, cut: _Cut) -> Pack:
    """Writes the pack of a cut, unless it is there. Raises `DamagedRun` if it does not read back, `_Spoilt` if it cannot be made."""
    import polars as pl

    parts = []
    for each, keys in cut.of.items():
        try:
            parts.append(each.parts().only(keys))
        except DamagedRun:
            raise _Spoilt([each]) from None
    try:
        whole = Parts(*(pl.concat(frames, how="vertical_relaxed") for frames in zip(*parts, strict=True)))
        names = whole.samples["series"].unique().to_list()
        name, files = of_parts(whole, next(iter(cut.of)).metrics, names)
    except (ValueError, TypeError, KeyError, pl.exceptions.PolarsError):
        raise _Spoilt(cut.of) from None  # one of them is unlike the others, and nothing says which
    times = [store.folder.stat(each.name).st_mtime_ns for each in cut.of]
    store.packs.add(name, files, max(times) if cut.is_asked_for else min(times) - 1)  # older than those next to it
    made = next(each for each in store.packs.all() if each.folder.name == name)
    if not all(one.equals(other) for one, other in zip(made.parts(), whole, strict=True)):
        raise DamagedRun(f"{made.folder}: does not read back as it was written; expected a disk that keeps what it is given", "")
    return made
