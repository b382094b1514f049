"""A scheduler and workers of dask as processes, as they are started on a cluster."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from waiting import HANG_S, wait_until

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
_FOLDER = Path(__file__).parent
_IMPORTS = {"PYTHONPATH": os.pathsep.join(map(str, (_FOLDER, _FOLDER.parent)))}
"""Functions that tests send belong to modules in this folder, or in the one above."""


class Processes:
    """A scheduler, and the workers that are started for it, each with a nanny that starts it again."""

    def __init__(self, folder):
        self._file = folder / "scheduler.json"
        self._started = []
        self._start("dask_scheduler", "--port", "0")
        wait_until(self._file.exists)
        self.address = json.loads(self._file.read_text())["address"]

    def worker(self, threads=1, **environment):
        """Starts a worker; its nanny."""
        options = ("--nworkers", "1", "--nthreads", str(threads), "--memory-limit", "0")
        return self._start("dask_worker", *options, **environment)

    def _start(self, program, *options, **environment):
        command = [sys.executable, "-c", f"from distributed.cli.{program} import main; main()"]
        arguments = ("--scheduler-file", str(self._file), "--no-dashboard")
        started = subprocess.Popen([*command, *arguments, *options], env={**os.environ, **_IMPORTS, **environment}, **QUIET)
        self._started.append(started)
        return started

    def end(self):
        """Ends all of them."""
        for each in reversed(self._started):
            each.kill()
        for each in self._started:
            each.wait(HANG_S)


@contextmanager
def processes(folder):
    """A scheduler that ends, with its workers."""
    made = Processes(folder)
    try:
        yield made
    finally:
        made.end()
