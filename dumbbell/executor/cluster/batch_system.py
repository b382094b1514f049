"""The file that describes jobs of a batch system (Slurm and its like) in which workers of dask run, as dask-jobqueue submits them.

    system: slurm
    jobs: 10
    options: {queue: short, cores: 8, processes: 8, memory: 16GB, walltime: "02:00:00"}

The options are those of dask-jobqueue for that system. Errors in the file are those of scenario files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError

from dumbbell.errors import EnvironmentFault
from dumbbell.scenario import source
from dumbbell.scenario.base import Model
from dumbbell.scenario.invalid import explain
from dumbbell.scenario.problems import ScenarioError

if TYPE_CHECKING:
    from dask_jobqueue import JobQueueCluster

CLASSES: Mapping[str, str] = {
    "htcondor": "HTCondorCluster",
    "lsf": "LSFCluster",
    "moab": "MoabCluster",
    "oar": "OARCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "slurm": "SLURMCluster",
}
"""Of dask-jobqueue, by what the file calls them."""
_KIND = source.Kind("a file of jobs", "system, jobs and options")
_MOST_JOBS = 10_000


class BatchSystem(Model):
    """The jobs that workers run in."""

    system: Literal["htcondor", "lsf", "moab", "oar", "pbs", "sge", "slurm"]
    jobs: Annotated[int, Field(ge=1, le=_MOST_JOBS)]
    """How many are submitted."""
    options: Mapping[str, Any] = {}
    """Of dask-jobqueue: queue, cores, processes, memory, walltime, job_script_prologue ..."""
    _source: source.Source = PrivateAttr(default=source.Source(None, {}))

    def cluster(self) -> JobQueueCluster:
        """Starts a scheduler here; `start` submits the jobs. Raises `BadInput` for options that dask-jobqueue has not."""
        try:
            import dask_jobqueue
        except ImportError:
            raise EnvironmentFault("dask-jobqueue is not installed; expected `pip install 'dumbbell[cluster]'`") from None
        made = getattr(dask_jobqueue, CLASSES[self.system])
        try:
            # One job of so many workers; each of them computes one run at a time unless `cores` is more than `processes`.
            return made(**self.options, n_workers=0, dashboard_address=None)
        except (TypeError, ValueError) as error:
            what = f"dask-jobqueue does not take them ({' '.join(str(error).split())[:200]})"
            raise ScenarioError([self._source.problem(("options",), what, f"options of its {CLASSES[self.system]}")]) from None

    def start(self, cluster: JobQueueCluster) -> None:
        """Submits the jobs. Raises `EnvironmentFault` if the batch system's commands are not there."""
        try:
            cluster.scale(jobs=self.jobs)
        except (OSError, RuntimeError) as error:
            raise EnvironmentFault(f"{self.system}: jobs cannot be submitted ({' '.join(str(error).split())[:200]})") from None

    @property
    def file(self) -> str | None:
        """As it was named."""
        return self._source.file


def read(path: Path) -> BatchSystem:
    """Reads a file of jobs. Raises `ScenarioError` with the file, line and key of every problem."""
    data, origin = source.read(path, _KIND)
    try:
        found = BatchSystem.model_validate(data, context=origin.context)
    except ValidationError as error:
        raise ScenarioError([origin.problem(*wrong) for wrong in explain(error, BatchSystem)]) from None
    found._source = origin
    return found
