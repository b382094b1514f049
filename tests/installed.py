"""A clean environment with dumbbell installed from a wheel, which pip alone makes and nobody can write to."""

import os
import subprocess
import sys
from pathlib import Path

from required import missing

BIN = Path(sys.executable).parent
ON_KERNEL = """\
name: on-kernel
engine: kernel
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: fq_codel}}
flows: [{cc: cubic}]
duration: 2s
"""


class Installed:
    """An environment with dumbbell installed from a wheel, outside the checkout."""

    def __init__(self, wheel, folder):
        self.wheel, self.folder = wheel, folder
        self._venv = folder / "venv"
        self._prefix = []

    def install(self):
        """Makes it, with pip alone; then it cannot be written to."""
        subprocess.run([sys.executable, "-m", "venv", self._venv], check=True)
        pip = [self._venv / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", self.wheel]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            missing("packages", (done.stderr.strip().splitlines() or ["pip failed"])[-1])
        if os.geteuid():
            subprocess.run(["chmod", "-R", "a-w", self._venv], check=True)
            return
        # Permissions do not bind root, a file system does.
        script = f'mount --bind {self._venv} {self._venv} && mount -o remount,bind,ro {self._venv} && exec "$@"'
        self._prefix = ["unshare", "--mount", "sh", "-c", script, "sh"]
        if subprocess.run([*self._prefix, "true"], capture_output=True, check=False).returncode:
            missing("namespaces", "root cannot make a folder read-only here")

    def remove(self):
        """Lets the folder be removed."""
        subprocess.run(["chmod", "-R", "u+w", self._venv], check=True)

    def run(self, *command, cwd, status=0, **environment):
        """Runs a program of the environment; nothing of this checkout is on its path."""
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "XDG_CACHE_HOME") if name in os.environ}
        environment = {**kept, "PATH": f"{self._venv / 'bin'}:{os.environ['PATH'].replace(f'{BIN}:', '')}", **environment}
        done = subprocess.run([*self._prefix, *map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
        return done
