"""Meaning of `--cluster`: a scheduler, a number of workers on this machine, or a file that describes jobs of a batch system."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.executor.base import MOST_WORKERS
from dumbbell.executor.cluster import batch_system

if TYPE_CHECKING:
    from distributed import Client

EXPECTED = "tcp://HOST:PORT, local:N, or a file such as slurm.yaml"
_LOCAL = re.compile(r"local:([0-9]+)")
_SCHEDULER = re.compile(r"(tcp|tls|ucx|ws|wss)://[^/\s]+")
_FILE = (".yaml", ".yml")
_CONNECT_S = 10
"""Time after which a scheduler that does not answer counts as absent."""
_LARGE = "1 GiB"
"""dask warns of tasks with much data, expecting that it could be shared; a batch of runs is needed once."""


class Where(Protocol):
    """The choice of workers."""

    starts_all: bool
    """True if all workers are there once it is connected."""

    @property
    def threads(self) -> int | None:
        """Return the threads of the expected workers; None if only their scheduler knows."""

    def script(self) -> str | None:
        """See `Cluster.script`."""

    def client(self) -> Iterator[Client]:
        """Connect; the programs that were started end with the generator. Raises `EnvironmentFault`, `BadInput`."""


def where(text: str) -> Where:
    """Return the workers that `--cluster` names. Raises `BadInput` if it names none."""
    if found := _LOCAL.fullmatch(text):
        count = int(found[1])
        if not 1 <= count <= MOST_WORKERS:
            raise BadInput(f"--cluster {text}: {count} workers; expected a number from 1 to {MOST_WORKERS}")
        return _Here(count)
    if _SCHEDULER.fullmatch(text):
        return _Scheduler(text)
    if text.endswith(_FILE):
        return _Jobs(batch_system.read(Path(text)))
    raise BadInput(f"--cluster {text!r} is no place; expected {EXPECTED}")


@contextmanager
def connected(place: Where) -> Iterator[Client]:
    """A client of the cluster. Raises as `Where.client`, and `EnvironmentFault` if dask is not installed."""
    with _installed(), contextmanager(place.client)() as client:
        yield client


@contextmanager
def _installed() -> Iterator[None]:
    """dask as it is needed here. Raises `EnvironmentFault` if it is not installed."""
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError:
        raise EnvironmentFault("dask, which reaches the workers, is not installed; expected `pip install 'dumbbell[cluster]'`") from None
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGE}):
        yield


class _Scheduler:
    starts_all = False
    threads = None

    def __init__(self, address: str) -> None:
        self._address = address

    def script(self) -> None:
        return None

    def client(self) -> Iterator[Client]:
        from distributed import Client

        try:
            client = Client(self._address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            why = " ".join(str(error).split())[:160]
            what = f"--cluster {self._address}: no scheduler answers ({why})"
            raise EnvironmentFault(f"{what}; expected that of `dask scheduler`, with workers of `dask worker`") from None
        with client:
            yield client


class _Here:
    starts_all = True

    def __init__(self, count: int) -> None:
        self.threads = count

    def script(self) -> None:
        return None

    def client(self) -> Iterator[Client]:
        from distributed import Client, LocalCluster

        # No limit of memory: a worker that dask pauses for its memory would never finish. Nothing listens beyond this machine, and others
        # on it have not the certificates.
        try:
            with _undisturbed():
                cluster = LocalCluster(
                    n_workers=self.threads,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                    security=True,
                )
        except (OSError, RuntimeError) as error:
            raise EnvironmentFault(f"--cluster local:{self.threads}: cannot be started ({' '.join(str(error).split())[:160]})") from None
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Threads that are begun within it, and processes that these start, never hear of Ctrl-C; this thread hears of it at the end.

    Workers share the terminal, and are to finish their tasks.
    """
    resource_tracker.ensure_running()  # it would end the block, in whichever thread it is begun
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Jobs:
    starts_all = False

    def __init__(self, system: batch_system.BatchSystem) -> None:
        self._system = system

    @property
    def threads(self) -> int:
        return self._system.threads

    def script(self) -> str:
        with _installed(), closing(self._system.cluster()) as cluster:
            return str(cluster.job_script())

    def client(self) -> Iterator[Client]:
        from distributed import Client, Status

        cluster = self._system.cluster()
        try:
            self._system.start(cluster)
            with Client(cluster, set_as_default=False) as client:
                yield client
        finally:
            try:
                cluster.close()
            except Exception:  # dask does not close jobs that were never submitted
                cluster.status = Status.closed
