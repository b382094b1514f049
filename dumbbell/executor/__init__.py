"""Executors compute runs: in `threads`, in `processes`, one at a time under a lock (`exclusive`), or by the workers of a `cluster`.

Results do not depend on the executor.
"""

from dumbbell.executor.base import Executor, Finished, Job, Local, WorkerDied, check_workers, default_workers
from dumbbell.executor.threads import Threads

__all__ = ["Executor", "Finished", "Job", "Local", "Threads", "WorkerDied", "check_workers", "default_workers"]
