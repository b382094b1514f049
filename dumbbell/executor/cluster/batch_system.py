"""The file that describes jobs of a batch system (Slurm and its like) in which workers of dask run, as dask-jobqueue submits them.

    system: slurm
    jobs: 10
    options: {queue: short, cores: 8, processes: 8, memory: 16GB, walltime: "02:00:00"}

The options are those of dask-jobqueue for that system. Errors in the file are those of scenario files.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from dumbbell.documents.model import Model, validated
from dumbbell.documents.problems import ScenarioError
from dumbbell.documents.source import Kind, Source
from dumbbell.documents.source import read as read_document
from dumbbell.errors import EnvironmentFault, nearest

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
"""Classes of dask-jobqueue, by their names in the file."""
_KIND = Kind("a file of jobs", "system, jobs and options")
_MOST_JOBS = 10_000
_NO_PAGES = {"dashboard": False, "dashboard_address": ":0"}
"""The scheduler's own pages need a port that another may have."""
_NEEDED = ("cores", "memory")


class BatchSystem(Model):
    """The jobs that workers run in."""

    system: Literal["htcondor", "lsf", "moab", "oar", "pbs", "sge", "slurm"]
    jobs: Annotated[int, Field(ge=1, le=_MOST_JOBS)]
    """Number of jobs to submit."""
    options: Mapping[str, Any] = {}
    """Options of dask-jobqueue: queue, cores, processes, memory, walltime, job_script_prologue ..."""
    _source: Source = PrivateAttr(default=Source(None, {}))

    def cluster(self) -> JobQueueCluster:
        """Starts a scheduler here; `start` submits the jobs. Raises `BadInput` for options that dask-jobqueue has not."""
        try:
            import dask_jobqueue
        except ImportError:
            raise EnvironmentFault("dask-jobqueue is not installed; expected `pip install 'dumbbell[cluster]'`") from None
        made = getattr(dask_jobqueue, CLASSES[self.system])
        known = {name for kind in (*made.__mro__, *made.job_cls.__mro__) for name in _named(kind)}
        for name in self.options:
            if name not in known:
                what = f"is no option of {CLASSES[self.system]}{nearest(name, known)}"
                raise ScenarioError([self._source.problem(("options", name), what, "one of dask-jobqueue")])
        if missing := [name for name in _NEEDED if name not in self.options]:
            what = f"lacks {' and '.join(missing)}"
            raise ScenarioError([self._source.problem(("options",), what, "what a job needs, such as cores: 8 and memory: 16GB")])
        try:
            return made(**{"scheduler_options": _NO_PAGES, **self.options}, n_workers=0)
        except RuntimeError as error:
            raise EnvironmentFault(f"{self.system}: no scheduler can be started here ({' '.join(str(error).split())[:200]})") from None
        except (TypeError, ValueError) as error:
            what = f"dask-jobqueue does not take them ({' '.join(str(error).split())[:200]})"
            raise ScenarioError([self._source.problem(("options",), what, f"options of its {CLASSES[self.system]}")]) from None

    def start(self, cluster: JobQueueCluster) -> None:
        """Submits the jobs. Raises `EnvironmentFault` if the batch system's program is not there."""
        program = cluster.job_cls.submit_command.split()[0]
        if shutil.which(program) is None:
            what = f"{self.system}: {program}, which submits jobs, is not there"
            raise EnvironmentFault(f"{what}; expected a machine that jobs are submitted from, or system: with another name")

        async def submitted() -> None:
            cluster.scale(jobs=self.jobs)
            await cluster._correct_state()  # dask's logger: dask would log errors and wait for jobs that never come

        try:
            cluster.sync(submitted)
        except Exception as error:
            raise EnvironmentFault(f"{self.system}: a job was not taken ({' '.join(str(error).split())[:300]})") from None

    @property
    def threads(self) -> int:
        """Return the threads of all jobs, once all run."""
        cores = self.options.get("cores")
        return self.jobs * (cores if isinstance(cores, int) and cores > 0 else 1)


def _named(kind: type) -> list[str]:
    """The parameters that a class takes by name."""
    if "__init__" not in vars(kind):
        return []
    listed = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return [each.name for each in listed if each.name != "self" and each.kind is each.POSITIONAL_OR_KEYWORD]


def read(path: Path) -> BatchSystem:
    """Reads a file of jobs. Raises `ScenarioError` with the file, line and key of every problem."""
    data, origin = read_document(path, _KIND)
    found = validated(BatchSystem, data, origin)
    found._source = origin
    return found
