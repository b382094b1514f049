"""Where runs are computed: in `threads`, in `processes`, or one at a time under a lock (`exclusive`). Results do not depend on it."""

from dumbbell.executor.base import Executor, Finished, Job, WorkerDied, check_workers, default_workers
from dumbbell.executor.threads import Threads

__all__ = ["Executor", "Finished", "Job", "Threads", "WorkerDied", "check_workers", "default_workers"]
