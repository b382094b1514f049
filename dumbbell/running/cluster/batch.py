"""Several runs that a worker computes one after the other, and the form that it sends them back in. A worker writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

from dumbbell.collector import collector_paused
from dumbbell.engines import engine
from dumbbell.engines.prepared import NOTHING, Allowed, Prepared
from dumbbell.errors import DumbbellError, EnvironmentFault
from dumbbell.executor import Finished, WorkerDied
from dumbbell.executor.base import produce
from dumbbell.executor.processes import Processes
from dumbbell.running.machine import host
from dumbbell.running.places import places

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.results.storage.pack import Gathered
    from dumbbell.results.summary import Summary
    from dumbbell.running.sweep import Portion

Form = Literal["packs", "folders", "memory", "nothing"]
"""Form in which runs come back: in packs (as far as they go into packs), as the files of their folders, as objects, or only as
descriptions."""


@dataclass(frozen=True)
class Batch:
    """Runs of one engine."""

    part: Portion
    keys: tuple[str, ...]
    """Keys of the runs of `part`, in its order."""
    form: Form
    sweep: str = ""
    """Whose it is, see `halt`."""
    worker: str = ""
    """The address of the worker that it is sent to, for host.json."""
    command: str = ""
    """The command that asked for them."""
    allowed: Allowed = NOTHING
    apart: bool = False
    """Each run in a process of its own: one of them may have killed a worker."""


@dataclass
class Computed:
    """A worker's answer."""

    packs: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    """Id and files."""
    folders: list[tuple[str, dict[str, bytes], Summary]] = field(default_factory=list)
    """Key, files, and metrics."""
    runs: list[Run] = field(default_factory=list)
    """Runs that are not to be stored, or that crashed and cannot be."""
    seals: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the run.json of each run that did not crash: two workers must agree on it."""
    packets: int = 0
    """Data packets that reached the other end."""
    wall_s: float = 0.0
    """Time of the runs alone."""
    count: int = 0
    """Number of the runs: all of the batch, unless there was an error or it was halted."""
    error: DumbbellError | None = None
    """Reason why the other runs of the batch were not computed."""


def standing(names: Sequence[str]) -> dict[str, Any]:
    """Return the facts about a worker's machine, and for each of these engines the hashes of its sources, or why the worker cannot run
    it."""
    engines: dict[str, Any] = {}
    for name in names:
        try:
            engine(name).require()
            engines[name] = list(engine(name).sources())
        except EnvironmentFault as fault:
            engines[name] = str(fault)
    return {"host": dict(host()), "engines": engines, **writers()}


def writers() -> dict[str, str]:
    """Return the versions of what writes stored runs, apart from the engines: the code of the metrics, and the libraries that write their
    files."""
    import polars as pl

    from dumbbell import __version__
    from dumbbell.results.storage.index import sources

    return {"dumbbell": __version__, "code of metrics": sources(), "polars": pl.__version__}


_halted: set[str] = set()


def halt(sweep: str) -> None:
    """Lets the batches of a sweep that this process is at end after the run that they are at."""
    _halted.add(sweep)


def compute(batch: Batch) -> Computed:
    """Computes the runs of a batch."""
    from dumbbell.results.storage.pack import Gathered, contents

    found, gathered = Computed(), Gathered()
    with collector_paused():
        for finished in _finished(batch):
            run = finished.run
            if isinstance(finished.error, WorkerDied):
                run = finished.job.crashed(str(finished.error))
            elif finished.error is not None:
                found.error = _reported(finished.error)
                break
            assert run is not None  # there is no error
            found.wall_s += finished.wall_s
            found.packets += run.arrived_packets
            found.count += 1
            _take(batch, finished, run, found, gathered)
        if rest := gathered.all():
            found.packs.append(contents(rest))
    return found


def _finished(batch: Batch) -> Iterator[Finished[Prepared]]:
    """The outcomes of the runs. A process that dies takes no other run with it if they are computed apart."""
    if not batch.apart:
        yield from map(produce, _jobs(batch))
        return
    yield from Processes(1).run(_jobs(batch))


def _jobs(batch: Batch) -> Iterator[Prepared]:
    """The runs, until it is halted. Raises `EnvironmentFault` if they are others here than where they were asked for."""
    for prepared, key in zip(batch.part.prepared(), batch.keys, strict=True):
        if batch.sweep in _halted:
            return
        if prepared.key != key:
            what = f"a run has the key {prepared.key[:10]} on this worker and {key[:10]} where it was asked for"
            raise EnvironmentFault(f"{what}; expected the same version of dumbbell on both")
        yield prepared if batch.allowed == NOTHING else replace(prepared, allowed=batch.allowed)


def _take(batch: Batch, finished: Finished[Prepared], run: Run, found: Computed, gathered: Gathered) -> None:
    """Brings a run into the form that it is sent in."""
    from dumbbell.results.storage.pack import contents
    from dumbbell.results.storage.written import RUN, as_files, packable
    from dumbbell.results.summary import summarise

    if not run.is_complete or batch.form == "memory":
        found.runs.append(run)
        return
    took = {"wall_s": finished.wall_s, "cpu_s": finished.cpu_s + (run.cpu_s or 0.0)}
    files = as_files(run, batch.command, {**host(), "worker": batch.worker, **took, **places(finished.job)})
    found.seals[run.key] = sha256(files[RUN]).hexdigest()
    if batch.form == "nothing":
        return
    if batch.form == "folders" or (each := packable(run, files)) is None:
        found.folders.append((run.key, files, summarise(run)))
        return
    if not gathered.takes(each):
        found.packs.append(contents(gathered.all()))
    gathered.add(each)


def _reported(error: Exception) -> DumbbellError:
    """Return the error as other executors report it."""
    return error if isinstance(error, DumbbellError) else EnvironmentFault(f"{type(error).__name__}: {error}")
