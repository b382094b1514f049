"""Agents that hear when time 0 is: so late that they hear it before, however busy this machine is."""

import subprocess
import time
from contextlib import contextmanager

_LEADS_S = (0.05, 1, 20)


@contextmanager
def started(agent, mode, folder, lead_s):
    """An agent that heard when time 0 is, as soon as it was armed."""
    with subprocess.Popen([agent, mode, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while (line := process.stdout.readline()) not in ("armed\n", ""):
            pass
        if line:
            tell(process, f"epoch {time.time_ns() + round(lead_s * 1e9)}")
        yield process


def tell(process, line):
    """Tell an agent a line."""
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def in_time(carry_out, folder):
    """Call `carry_out` with the lead of time 0, and return its result once the lead was long enough."""
    for lead_s in _LEADS_S:
        (folder / "error").unlink(missing_ok=True)
        found = carry_out(lead_s)
        if not (folder / "error").exists() or not (folder / "error").read_text().startswith("time 0 was over"):
            return found
    raise AssertionError(f"{_LEADS_S[-1]} s are too short to tell an agent a line")
