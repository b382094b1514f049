"""Workers of dask.distributed: on this machine (`local:N`), where a scheduler runs (`tcp://HOST:PORT`), or as jobs of a batch system.

`cluster` is the executor, `where` says which workers, `dispatch` hands tasks out and takes the answers, `batch_system` reads the file that
describes jobs, as scenario files are read. It knows no engine, run or store.
"""

from dumbbell.executor.cluster.cluster import Cluster
from dumbbell.executor.cluster.dispatch import Answer, Task, TaskSource, Worker

__all__ = ["Answer", "Cluster", "Task", "TaskSource", "Worker"]
