"""The executor whose workers are dask's."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from dumbbell.executor.base import Executor
from dumbbell.executor.cluster.dispatch import Answer, Dispatch, TaskSource, Worker
from dumbbell.executor.cluster.where import connected, where

if TYPE_CHECKING:
    from distributed import Client

Value = TypeVar("Value")


class Cluster(Executor):
    """Workers of dask.distributed, which are reached, or started, when they are first needed, and kept until `close`.

    May be used with `with`. Computing needs runs that can be sent to other processes, and workers with the same engines as here.
    """

    def __init__(self, place: str) -> None:
        """`place`: as for `--cluster`. Raises `BadInput` if it is no place."""
        self.place = place
        self.workers = 1
        """Threads of all workers that are used, as far as they are known."""
        self._where = where(place)
        self._open = ExitStack()
        self._client: Client | None = None
        self._told: set[str] = set()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers that were started; those of somebody else's scheduler are left alone."""
        self._client = None
        self._open.close()

    def connect(self) -> Client:
        """The client. Raises `EnvironmentFault` if no scheduler answers, or dask is not installed."""
        if self._client is None:
            self._client = self._open.enter_context(connected(self._where))
            atexit.register(self.close)
        return self._client

    def compute(self, source: TaskSource[Value], stopped: Callable[[], bool] = lambda: False) -> Generator[Answer[Value]]:
        """Yield the answer to each task that `source` hands out. Once `stopped` no further task is taken.

        Raises `EnvironmentFault` if no worker can do the remaining tasks, or the scheduler has gone.
        """
        dispatch: Dispatch[Value] = Dispatch(self.connect(), self.place, source, stopped, self._told, not self._where.starts_all)
        for answer in dispatch.answers():
            self.workers = max(dispatch.threads, 1)
            yield answer

    def ask(self, source: TaskSource[Any]) -> list[Worker]:
        """Asks the workers that exist what `source` asks, and hands out nothing. Raises as `connect`."""
        dispatch: Dispatch[Any] = Dispatch(self.connect(), self.place, source, lambda: True, self._told, expects_more=False)
        dispatch.ask_all()
        return list(dispatch.workers.values())

    @property
    def threads(self) -> int | None:
        """Return the threads of the expected workers; None if only their scheduler knows."""
        return self._where.threads

    def script(self) -> str | None:
        """The job that a batch system would be given; None if the workers are none of its jobs. Raises as `connect`."""
        return self._where.script()
