"""The options that say where runs are computed."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.errors import BadInput, nearest
from dumbbell.executor import Executor
from dumbbell.executor.exclusive import Exclusive
from dumbbell.executor.processes import Processes
from dumbbell.executor.threads import Threads
from dumbbell.files import cache_folder

EXECUTORS = ("threads", "processes", "exclusive")
"""Names that `--executor` takes, the default first."""

WorkersOption = Annotated[int | None, typer.Option("--workers", min=1, max=1000, help="Runs at a time. Default: all processors.")]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Where dumbbell computes runs: threads, processes (a crash loses only its own run), "
        "or exclusive (one at a time, also across sweeps that ask for the same).",
    ),
]


ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Compute the runs on workers of dask: at a scheduler (tcp://HOST:PORT), N on this machine (local:N), "
        "or as jobs of a batch system (slurm.yaml).",
    ),
]


def make_executor(name: str, workers: int | None, cluster: str | None = None) -> Executor:
    """The executor with this name and number of workers, or a cluster. Raises `BadInput` if there is none."""
    if cluster is not None:
        from dumbbell.executor.cluster import Cluster

        if workers is not None or name != EXECUTORS[0]:
            given = f"--executor {name}" if workers is None else f"--workers {workers}"
            raise BadInput(f"{given} is of this machine, and --cluster {cluster} of others; expected the one or the other")
        return Cluster(cluster)
    if name == "threads":
        return Threads(workers)
    if name == "processes":
        return Processes(workers)
    if name != "exclusive":
        raise BadInput(f"--executor {name!r} is unknown{nearest(name, EXECUTORS)}; expected one of {', '.join(EXECUTORS)}")
    if workers not in (None, 1):
        raise BadInput(f"--workers {workers}: the executor exclusive computes one run at a time; expected 1, or another executor")
    return Exclusive(cache_folder("the lock of the executor exclusive") / "exclusive.lock")
