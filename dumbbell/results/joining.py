"""Puts small packs together, and takes runs out of packs.

A pack goes only once all of its runs were read back from others, which are on the disk by then. So a process that is killed leaves runs in
two packs at worst, and the next one that joins them goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dumbbell.errors import DamagedRun
from dumbbell.results import pack as limits
from dumbbell.results.pack import Pack, Parts, of_parts
from dumbbell.results.packs import add_pack, remove
from dumbbell.results.schema import schema

if TYPE_CHECKING:
    from dumbbell.results.store import Store


@dataclass
class _Cut:
    """Runs that become one pack."""

    of: dict[Pack, list[str]] = field(default_factory=dict)
    """By the pack that they lie in, their keys."""
    runs: int = 0
    samples: int = 0
    is_asked_for: bool = True
    """Whether the folder's list of requests has them. Others may be of the same cells, so that their age tells them apart."""


def join(store: Store, stopped: Callable[[], bool] = lambda: False) -> int:
    """Puts packs that are not full together, and leaves a run in one of them; the number of packs that went.

    The caller has claimed to pack. Raises `EnvironmentFault` if the disk is full, `BadInput` if it cannot be written.
    """
    there = store.packs.all()
    keys = sum(len(each.keys) for each in there)
    is_twice = keys > len(store.packs.keys())
    if not is_twice and sum(len(each.keys) < limits.MOST_RUNS for each in there) < 2:
        return 0
    sizes = {each: found for each in there if (found := _sizes(each))}
    order = {key: i for i, key in enumerate(store.requested_keys())}
    small = sorted((each for each in sizes if not _is_full(sizes[each])), key=lambda each: order.get(each.keys[0], len(order)))
    covered = {key for each in sizes if _is_full(sizes[each]) for key in each.keys}
    count = 0
    for metrics in dict.fromkeys(each.metrics for each in small):
        alike = [each for each in small if each.metrics == metrics]
        cuts: list[_Cut] = []
        for is_asked_for in (True, False):
            left = [(each, [key for key in each.keys if key not in covered and (key in order) == is_asked_for]) for each in alike]
            cuts += _cuts(left, sizes, covered, is_asked_for)
        if is_twice or len(cuts) < len(alike):
            count += _replace(store, alike, cuts, stopped)
    return count


def take_out(store: Store, keys: Collection[str]) -> None:
    """Takes runs, which have whole folders, out of the packs that they lie in. As `join`."""
    for each in store.packs.all():
        if (left := [key for key in each.keys if key not in keys]) != list(each.keys) and (sizes := _sizes(each)):
            _replace(store, [each], list(_cuts([(each, left)], {each: sizes}, set())), lambda: False)


def _sizes(each: Pack) -> dict[str, int]:
    """Of each run of a pack the number of its samples; none if the pack is damaged, which is mended first."""
    try:
        return {} if each.damage else each.sizes()
    except DamagedRun:
        return {}


def _is_full(sizes: dict[str, int]) -> bool:
    """Whether a pack has no room for another run like its own."""
    samples = sum(sizes.values())
    return len(sizes) >= limits.MOST_RUNS or samples + samples / len(sizes) > limits.MOST_SAMPLES


def _cuts(
    left: Sequence[tuple[Pack, list[str]]], sizes: dict[Pack, dict[str, int]], covered: set[str], is_asked_for: bool = True
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


def _replace(store: Store, old: Sequence[Pack], cuts: Sequence[_Cut], stopped: Callable[[], bool]) -> int:
    """Writes packs of the runs of others, and removes each of these as soon as nothing of it is left; their number."""
    stay = {each for cut in cuts for each, keys in cut.of.items() if len(cut.of) == 1 and keys == list(each.keys)}
    waiting = [each for each in old if each not in stay]
    count = 0
    for number, cut in enumerate(cuts):
        if stay.isdisjoint(cut.of):
            if stopped():
                return count
            made = _write(store, cut)
            waiting = [each for each in waiting if each.folder != made.folder]  # a process that was killed had written the same
        later = {each for other in cuts[number + 1 :] for each in other.of}
        for each in [each for each in waiting if each not in later]:
            remove(store, each)
            waiting.remove(each)
            count += 1
    for each in waiting:  # nothing of it was left
        remove(store, each)
    return count + len(waiting)


def _write(store: Store, cut: _Cut) -> Pack:
    """Writes the pack of a cut, unless it is there. Raises `DamagedRun` if it does not read back."""
    import polars as pl

    parts = [each.parts().only(keys) for each, keys in cut.of.items()]
    whole = Parts(*(pl.concat(frames, how="vertical_relaxed") for frames in zip(*parts, strict=True)))
    known = schema().units
    names = [name for name in whole.samples["series"].unique().to_list() if name in known]
    name, files = of_parts(whole, next(iter(cut.of)).metrics, names)
    times = [os.stat(each.folder).st_mtime_ns for each in cut.of]
    add_pack(store, name, files, max(times) if cut.is_asked_for else min(times) - 1)  # older than those that it lay beside
    made = next(each for each in store.packs.all() if each.folder.name == name)
    if not all(one.equals(other) for one, other in zip(made.parts(), whole, strict=True)):
        raise DamagedRun(f"{made.folder}: does not read back as it was written; expected a disk that keeps what it is given", "")
    return made
